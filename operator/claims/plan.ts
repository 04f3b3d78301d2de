import type { ClaimFacts } from './claim.ts';
import { endOf, latestEnd, lifetimeFault, overQuota, type ClaimPolicy, type End, type LifetimeFault } from './policy.ts';

/** What one claim needs now. The reasons are those of its Events. Times are Unix ms. */
export type Action =
  /** it is being deleted */
  | { readonly do: 'nothing' }
  | { readonly do: 'wait'; readonly until: number }
  | { readonly do: 'shorten'; readonly to: number; readonly why: LifetimeFault }
  | { readonly do: 'delete'; readonly why: End['why'] | 'OverQuota' };

export type Write = Extract<Action, { readonly do: 'shorten' | 'delete' }>;

export function isWrite(action: Action): action is Write {
  return action.do === 'shorten' || action.do === 'delete';
}

/** What each claim of a namespace needs now, by key. Pure. @param now by the API server's clock */
export function planNamespace(claims: readonly ClaimFacts[], policy: ClaimPolicy, now: number): ReadonlyMap<string, Action> {
  const over = overQuota(claims, policy, now);
  return new Map(claims.map((claim) => [claim.key, planClaim(claim, { policy, now, overQuota: over.has(claim.key) })]));
}

/**
 * A lifetime is only ever shortened. Nothing is deleted before its end and the grace after it, in which agent-sandbox deletes it by itself; only
 * a claim that is too many has no time of its own, as long as it never was ready.
 */
export function planClaim(claim: ClaimFacts, { policy, now, overQuota }: { policy: ClaimPolicy; now: number; overQuota: boolean }): Action {
  if (claim.deleting) return { do: 'nothing' };
  if (overQuota) return { do: 'delete', why: 'OverQuota' };
  const end = endOf(claim);
  const until = (end?.at ?? Infinity) + policy.graceMs;
  if (end !== undefined && now >= until) return { do: 'delete', why: end.why };
  const fault = lifetimeFault(claim, policy);
  if (fault !== undefined) return { do: 'shorten', to: latestEnd(claim, policy), why: fault };
  return { do: 'wait', until };
}
