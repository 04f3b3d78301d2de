import type { KubeClient } from '../../lib/kube/client.ts';
import { isKubeError } from '../../lib/kube/errors.ts';
import { objectPath, paths } from '../../lib/kube/objects.ts';
import type { ClaimFacts } from './claim.ts';
import type { Write } from './plan.ts';

/**
 * Does what was planned for a claim, to exactly the claim that it was planned from.
 * @returns false when it is gone already. @throws KubeError, `conflict` when it changed meanwhile
 */
export async function perform(
  claim: ClaimFacts,
  action: Write,
  { client, signal }: { client: Pick<KubeClient, 'merge' | 'delete'>; signal: AbortSignal },
): Promise<boolean> {
  const { uid, resourceVersion } = claim;
  const path = objectPath(paths.sandboxClaims(claim.namespace), claim.name);
  try {
    if (action.do === 'delete') await client.delete(path, { preconditions: { uid, resourceVersion }, signal });
    else await client.merge(path, { metadata: { uid, resourceVersion }, spec: { lifecycle: shortened(claim, action.to) } }, { signal });
    return true;
  } catch (error) {
    if (isKubeError(error, 'not-found')) return false;
    throw error;
  }
}

/** A claim that agent-sandbox deletes in another way than most keeps that way. */
function shortened({ deletes }: ClaimFacts, to: number): object {
  const shutdownTime = rfc3339(to);
  return deletes ? { shutdownTime } : { shutdownTime, shutdownPolicy: 'Delete' };
}

/** Without a fraction: agent-sandbox writes times so, and an end that it writes again must not look like another one. */
export function rfc3339(time: number): string {
  return new Date(time).toISOString().replace(/\.\d{3}Z$/, 'Z');
}
