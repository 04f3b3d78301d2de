import { api, eventually, kubectl, type KubeObject } from './cluster.ts';
import { isReady, SANDBOXES, type Pod } from './yard.ts';

export const POOL = 'default';

interface WarmPool extends KubeObject {
  readonly spec: { readonly replicas: number };
  readonly status?: { readonly readyReplicas?: number };
}

/** Waits until the pool is full, and returns how many sandboxes it keeps. */
export function poolFull(): Promise<number> {
  return eventually('the pool of sandboxes to be full', async () => {
    const { spec, status } = await api.get<WarmPool>({ kind: 'SandboxWarmPool', namespace: SANDBOXES, name: POOL });
    if (status?.readyReplicas === spec.replicas) return spec.replicas;
    throw new Error(`${status?.readyReplicas ?? 0} of ${spec.replicas} ready`);
  });
}

/** Pods of sandboxes that are ready, claimed or not. */
export async function sandboxPods(): Promise<readonly Pod[]> {
  const pods = await api.list<Pod>({ kind: 'Pod', namespace: SANDBOXES });
  return pods.filter((pod) => isReady(pod) && (pod.metadata as { deletionTimestamp?: string }).deletionTimestamp === undefined);
}

/** A command in a sandbox's pod, past the runtime. @throws Error with what it printed, unless it ends with 0 */
export const execIn = (pod: string, ...command: readonly string[]): Promise<string> =>
  kubectl('-n', SANDBOXES, 'exec', pod, '--', ...command);
