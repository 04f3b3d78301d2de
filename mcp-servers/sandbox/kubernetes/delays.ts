import type { SandboxErrorCode } from '../backend.ts';
import { said, type Condition, type Sandbox, type SandboxWarmPool } from './claims.ts';

/** What can be seen of a start that did not come to its end in time. */
export interface Delay {
  readonly namespace: string;
  readonly warmpool: string;
  /** of the claim */
  readonly ready: Condition | undefined;
  readonly pool: SandboxWarmPool | undefined;
  /** the claim's own, when it has one */
  readonly sandbox: Sandbox | undefined;
}

export interface Explanation {
  readonly code: SandboxErrorCode;
  /** what is in the way, and what to do about it */
  readonly why: string;
}

/** What the cluster says when it refuses a pod, and what it takes. */
const refusals: readonly (readonly [pattern: RegExp, explain: (found: RegExpExecArray, delay: Delay) => Explanation])[] = [
  [
    /RuntimeClass "([^"]{1,253})" not found/,
    ([, name]) => ({
      code: 'not-ready',
      why: `the cluster has no RuntimeClass ${name}: create it on nodes that have gVisor, or name another in the SandboxTemplate`,
    }),
  ],
  [/exceeded quota: ([^\s,]{1,253})/, ([, name = ''], { namespace }) => ({ code: 'quota', why: quotaUsedUp(name, namespace) })],
  [
    /violates PodSecurity/,
    (_, { namespace }) => ({
      code: 'not-ready',
      why: `the pod security of namespace ${namespace} refuses the SandboxTemplate's pod: adapt the template`,
    }),
  ],
];

export function quotaUsedUp(quota: string, namespace: string): string {
  return `ResourceQuota ${quota} of namespace ${namespace} is used up: delete sandboxes or wait until some end; an administrator can raise it`;
}

/** Why a sandbox did not start in time, from what the cluster shows. Pure. */
export function explainDelay(delay: Delay): Explanation {
  const { ready, sandbox } = delay;
  for (const [pattern, explain] of refusals) {
    const found = pattern.exec(ready?.message ?? '');
    if (found !== null) return explain(found, delay);
  }
  const scheduled = sandbox?.status?.conditions?.find(({ type }) => type === 'PodScheduled');
  return { code: 'start-timeout', why: `${poolState(delay)}; ${podState(delay, scheduled)}` };
}

function poolState({ pool, warmpool }: Delay): string {
  if (pool === undefined) return `of warm pool ${warmpool} nothing is known`;
  const { spec, status } = pool;
  const ready = status?.readyReplicas ?? 0;
  const wanted = spec.replicas ?? 1;
  return ready > 0
    ? `warm pool ${warmpool} has ${ready} of ${wanted} ready`
    : `warm pool ${warmpool} is empty (0 of ${wanted} ready), so a new pod had to be started`;
}

function podState({ namespace, sandbox, ready }: Delay, scheduled: Condition | undefined): string {
  if (sandbox === undefined) return `its claim says ${said(ready)}`;
  if (scheduled?.status === 'False')
    return `its pod finds no node (${said(scheduled)}): add nodes or room, or wait until other sandboxes end`;
  if (scheduled?.status !== 'True') return `its claim says ${said(ready)}`;
  const { name } = sandbox.metadata;
  const node = sandbox.status?.nodeName ?? 'a node';
  return `its pod is on ${node} and its container does not get ready (${said(ready)}): most often its image cannot be pulled, which kubectl -n ${namespace} describe pod ${name} tells`;
}
