import type { News } from '../kube/events.ts';
import { rfc3339 } from './apply.ts';
import type { ClaimFacts } from './claim.ts';
import type { Write } from './plan.ts';
import { endOf, type ClaimPolicy } from './policy.ts';

/** The Event that tells the owner of a claim what was done to it. */
export function newsOf(claim: ClaimFacts, action: Write, policy: ClaimPolicy): News {
  if (action.do === 'shorten') return { type: 'Normal', reason: action.why, message: lifetimeMessage(claim, action.to, policy) };
  if (action.why === 'OverQuota') return { type: 'Warning', reason: action.why, message: quotaMessage(claim, policy) };
  return { type: 'Normal', reason: action.why, message: endMessage(claim, action.why, policy) };
}

function lifetimeMessage({ shutdownAt }: ClaimFacts, to: number, { maxAgeMs }: ClaimPolicy): string {
  const given = shutdownAt === undefined ? 'it has no shutdownTime' : `its shutdownTime was ${rfc3339(shutdownAt)}`;
  return `${given}: it ends at ${rfc3339(to)}, since claims live for ${maxAgeMs / 1000} s at most here (CLAIM_MAX_AGE_SECONDS)`;
}

function endMessage(claim: ClaimFacts, why: 'Expired' | 'Finished', { graceMs }: ClaimPolicy): string {
  const since = rfc3339(endOf(claim)?.at ?? claim.createdAt);
  const what = why === 'Expired' ? 'its lifetime was over' : `its sandbox had ended (${claim.finished?.reason ?? ''})`;
  return `deleted: ${what} at ${since}, and it was still there after ${graceMs / 1000} s (CLAIM_GRACE_SECONDS)`;
}

function quotaMessage({ namespace }: ClaimFacts, { max }: ClaimPolicy): string {
  return `deleted before it was ready: ${namespace} may have ${max} claims (CLAIMS_MAX); try again when others have ended`;
}
