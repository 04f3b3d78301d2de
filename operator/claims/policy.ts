import type { ClaimFacts } from './claim.ts';

/** How long claims may live, and how many there may be. */
export interface ClaimPolicy {
  /** from the creation of a claim, ms */
  readonly maxAgeMs: number;
  /** time that agent-sandbox has to delete what is over, ms */
  readonly graceMs: number;
  /** claims in one namespace; 0 for any number */
  readonly max: number;
}

/**
 * A lifetime may be longer by this than the policy says: whoever sets one reads another clock than the API server, which stamps the creation.
 * Clocks of a cluster's machines are kept within a second or two of each other; ms.
 */
export const CLOCK_MARGIN_MS = 5_000;

/** When a claim has to be over: what it is given if it says nothing, or something later. */
export function latestEnd({ createdAt }: ClaimFacts, { maxAgeMs }: ClaimPolicy): number {
  return createdAt + maxAgeMs;
}

/** What is wrong with the lifetime of a claim. */
export type LifetimeFault = 'NoLifetime' | 'LifetimeTooLong';

export function lifetimeFault(claim: ClaimFacts, policy: ClaimPolicy): LifetimeFault | undefined {
  if (claim.shutdownAt === undefined) return 'NoLifetime';
  return claim.shutdownAt > latestEnd(claim, policy) + CLOCK_MARGIN_MS ? 'LifetimeTooLong' : undefined;
}

/** When a claim is over, as agent-sandbox counts it: at its shutdownTime, or when its sandbox ended and its ttlSecondsAfterFinished, if any, is over. */
export interface End {
  readonly at: number;
  readonly why: 'Expired' | 'Finished';
}

/** The first end of a claim that is known by now; undefined when it has none. */
export function endOf({ shutdownAt, finished, ttlMs = 0 }: ClaimFacts): End | undefined {
  const finishes = finished && ({ at: finished.at + ttlMs, why: 'Finished' } as const);
  const expires = shutdownAt === undefined ? undefined : ({ at: shutdownAt, why: 'Expired' } as const);
  if (finishes === undefined || expires === undefined) return finishes ?? expires;
  return expires.at <= finishes.at ? expires : finishes;
}

/** Claims and sandboxes as they are counted. */
export const claimStates = ['Pending', 'Ready', 'Finished', 'Expired', 'Deleting'] as const;

export type ClaimState = (typeof claimStates)[number];

export function stateOf(claim: ClaimFacts, now: number): ClaimState {
  if (claim.deleting) return 'Deleting';
  if (claim.shutdownAt !== undefined && claim.shutdownAt <= now) return 'Expired';
  if (claim.finished !== undefined) return 'Finished';
  return claim.readyAt === undefined ? 'Pending' : 'Ready';
}

/**
 * Keys of the claims of one namespace that are too many. Those that were ever ready keep their places; of the others the oldest do. What is over
 * makes room by itself.
 */
export function overQuota(claims: readonly ClaimFacts[], { max }: ClaimPolicy, now: number): ReadonlySet<string> {
  if (max === 0) return new Set();
  const held = claims.filter((claim) => ['Pending', 'Ready'].includes(stateOf(claim, now)));
  const waiting = held.filter(({ used }) => !used);
  const places = Math.max(max - (held.length - waiting.length), 0);
  return new Set(
    waiting
      .toSorted(byAge)
      .slice(places)
      .map(({ key }) => key),
  );
}

function byAge(a: ClaimFacts, b: ClaimFacts): number {
  return a.createdAt - b.createdAt || (a.name < b.name ? -1 : 1);
}
