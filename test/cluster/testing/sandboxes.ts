import { api, apply, eventually, kubectl, type KubeObject } from './cluster.ts';
import { isReady, SANDBOXES, type Pod } from './yard.ts';

export const POOL = 'default';

interface WarmPool extends KubeObject {
  readonly spec: { readonly replicas: number };
  readonly status?: { readonly readyReplicas?: number };
}

/** Waits until the pool is full, and returns how many sandboxes it keeps. */
export function poolFull(name = POOL): Promise<number> {
  return eventually('the pool of sandboxes to be full', async () => {
    const { spec, status } = await api.get<WarmPool>({ kind: 'SandboxWarmPool', namespace: SANDBOXES, name });
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

interface Template extends KubeObject {
  readonly spec: { readonly podTemplate: { readonly spec: PodSpec } };
}

interface PodSpec {
  readonly containers: readonly { readonly resources: object }[];
  readonly volumes: readonly { readonly name: string; readonly emptyDir: object }[];
  readonly [field: string]: unknown;
}

export interface Tight {
  readonly memoryBytes: number;
  readonly diskBytes: number;
  readonly cpus: number;
}

/** A pool like the one that ships, of sandboxes with other limits; resolves when it is full. */
export async function tightPool(name: string, limits: Tight): Promise<void> {
  await poolOf(name, ({ containers, volumes, ...pod }) => ({
    ...pod,
    containers: containers.map((each) => ({
      ...each,
      resources: { requests: { memory: '64Mi', cpu: '25m' }, limits: { memory: String(limits.memoryBytes), cpu: String(limits.cpus) } },
    })),
    volumes: volumes.map(({ emptyDir, ...volume }) => ({ ...volume, emptyDir: { ...emptyDir, sizeLimit: String(limits.diskBytes) } })),
  }));
  await poolFull(name);
}

/** A pool like the one that ships, of pods that differ. */
export async function poolOf(name: string, change: (pod: PodSpec) => PodSpec, replicas = 2): Promise<void> {
  const { metadata, spec, ...template } = await api.get<Template>({ kind: 'SandboxTemplate', namespace: SANDBOXES, name: POOL });
  const pod = change(spec.podTemplate.spec);
  await apply(
    {
      ...template,
      metadata: { name, namespace: SANDBOXES, labels: metadata.labels ?? {} },
      spec: { ...spec, podTemplate: { ...spec.podTemplate, spec: pod } },
    },
    {
      apiVersion: 'extensions.agents.x-k8s.io/v1beta1',
      kind: 'SandboxWarmPool',
      metadata: { name, namespace: SANDBOXES },
      spec: { replicas, sandboxTemplateRef: { name } },
    },
  );
}

export async function removePool(name: string): Promise<void> {
  for (const kind of ['SandboxWarmPool', 'SandboxTemplate']) await api.remove({ kind, namespace: SANDBOXES, name });
}
