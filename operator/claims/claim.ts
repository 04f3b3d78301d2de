import { keyOf, type SandboxClaim } from '../../lib/kube/objects.ts';

/** What a claim says, as far as its end depends on it. Times are Unix ms. */
export interface ClaimFacts {
  /** `namespace/name` */
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** by the API server's clock */
  readonly createdAt: number;
  /** somebody deleted it already */
  readonly deleting: boolean;
  /** the end that it was given */
  readonly shutdownAt: number | undefined;
  /** after its sandbox ended it may stay for this long; ms */
  readonly ttlMs: number | undefined;
  /** whether agent-sandbox deletes it at its end, rather than keep it for ever */
  readonly deletes: boolean;
  /** since when it is ready; undefined while it is not */
  readonly readyAt: number | undefined;
  /** whether anybody may have used its sandbox: it was ready once, or is suspended */
  readonly used: boolean;
  /** its sandbox ended by itself */
  readonly finished: { readonly at: number; readonly reason: string } | undefined;
  /** how it got its sandbox; undefined: it has none yet */
  readonly launch: 'warm' | 'cold' | undefined;
}

type Condition = NonNullable<NonNullable<SandboxClaim['status']>['conditions']>[number];

/** Written by agent-sandbox when a claim is ready for the first time, unless it is told not to. */
const FIRST_READY = 'agents.x-k8s.io/claim-first-ready-at';
/** Reasons of Ready=False after which a sandbox never comes back. A claim that is over by its own lifetime is known by that. */
const ENDED: ReadonlySet<string> = new Set(['PodSucceeded', 'PodFailed', 'SandboxExpired']);
/** Its pod is away because somebody wanted that. */
const SUSPENDED = 'SandboxSuspended';

export function claimFacts(claim: SandboxClaim): ClaimFacts {
  const { namespace = '', name, uid = '', resourceVersion = '', creationTimestamp, deletionTimestamp } = claim.metadata;
  return {
    key: keyOf(claim),
    namespace,
    name,
    uid,
    resourceVersion,
    createdAt: timeOf(creationTimestamp) ?? 0,
    deleting: deletionTimestamp !== undefined,
    ...lifetimeOf(claim),
    ...useOf(claim),
    finished: finishedBy(conditionOf(claim, 'Finished'), conditionOf(claim, 'Ready')),
    launch: launchOf(name, claim.status?.sandbox?.name ?? ''),
  };
}

function lifetimeOf({ spec: { lifecycle = {} } }: SandboxClaim): Pick<ClaimFacts, 'shutdownAt' | 'ttlMs' | 'deletes'> {
  const { shutdownTime, shutdownPolicy, ttlSecondsAfterFinished: ttl } = lifecycle;
  return {
    shutdownAt: timeOf(shutdownTime),
    ttlMs: ttl === undefined ? undefined : ttl * 1000,
    deletes: shutdownPolicy === 'Delete' || shutdownPolicy === 'DeleteForeground',
  };
}

function useOf(claim: SandboxClaim): Pick<ClaimFacts, 'readyAt' | 'used'> {
  const ready = conditionOf(claim, 'Ready');
  const readyAt = ready?.status === 'True' ? (timeOf(ready.lastTransitionTime) ?? 0) : undefined;
  const wasReady = claim.metadata.annotations?.[FIRST_READY] !== undefined || ready?.reason === SUSPENDED;
  return { readyAt, used: readyAt !== undefined || wasReady };
}

function conditionOf({ status }: SandboxClaim, type: string): Condition | undefined {
  return status?.conditions?.find((condition) => condition.type === type);
}

function finishedBy(finished: Condition | undefined, ready: Condition | undefined): ClaimFacts['finished'] {
  const why = finished?.status === 'True' ? finished : ready;
  if (why === undefined || (why === ready && (ready.status === 'True' || !ENDED.has(ready.reason)))) return undefined;
  const at = timeOf(why.lastTransitionTime);
  return at === undefined ? undefined : { at, reason: why.reason };
}

/** A sandbox from the pool keeps the name that it had there; one that is made for a claim gets the claim's. */
function launchOf(claim: string, sandbox: string): ClaimFacts['launch'] {
  if (sandbox === '') return undefined;
  return sandbox === claim ? 'cold' : 'warm';
}

/** undefined for what is no time: an end that cannot be read is none. */
function timeOf(text: string | undefined): number | undefined {
  const time = Date.parse(text ?? '');
  return Number.isNaN(time) ? undefined : time;
}
