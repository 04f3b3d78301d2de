import { isIP } from 'node:net';
import { sandboxClaim, type KubeObject, type SandboxClaim } from '../../../lib/kube/objects.ts';
import type { Lifetime, SandboxErrorCode, SandboxInfo, SandboxOrder } from '../backend.ts';

/** On each claim that this server makes: found by the first, owned by whom the second says. */
export const kindLabel = 'toolyard.dev/kind';
export const kindSandbox = 'sandbox';
export const ownerLabel = 'toolyard.dev/owner';
/** How long the sandbox may go unused, whole seconds: what each replica renews by. */
export const idleAnnotation = 'toolyard.dev/idle-seconds';

/** agent-sandbox's objects beside claims: what is read of them. */
export interface Sandbox extends KubeObject {
  readonly status?: { readonly nodeName?: string; readonly conditions?: readonly Condition[] };
}

export interface SandboxWarmPool extends KubeObject {
  readonly spec: { readonly replicas?: number; readonly sandboxTemplateRef: { readonly name: string } };
  readonly status?: { readonly replicas?: number; readonly readyReplicas?: number };
}

export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

/** @param shutdownAt ms since 1970 */
export function newClaim({ handle, owner, placement, lifetime }: SandboxOrder, shutdownAt: number): SandboxClaim {
  return {
    ...sandboxClaim,
    metadata: {
      name: handle,
      namespace: placement.namespace,
      labels: { [kindLabel]: kindSandbox, [ownerLabel]: owner },
      annotations: { [idleAnnotation]: String(Math.ceil(lifetime.idleMs / 1000)) },
    },
    spec: { warmPoolRef: { name: placement.warmpool }, lifecycle: { shutdownTime: kubeTime(shutdownAt), shutdownPolicy: 'Delete' } },
  };
}

/** The API keeps whole seconds: a sandbox lives on for the rest of its last one. */
export function kubeTime(ms: number): string {
  return new Date(Math.ceil(ms / 1000) * 1000).toISOString().replace('.000Z', 'Z');
}

/** What a claim is good for now. */
export type Verdict =
  | { readonly is: 'ready'; readonly address: string }
  | { readonly is: 'waiting'; readonly reason: string; readonly message: string }
  | { readonly is: 'over'; readonly code: SandboxErrorCode; readonly why: string };

/**
 * Reasons of `Ready=False` that no waiting changes; every other one, known or not, is waited out until the caller's deadline.
 * Source: agent-sandbox 0.5.6, and its Python client 1.0.8.
 */
const hopeless: ReadonlyMap<string, readonly [code: SandboxErrorCode, meaning: string]> = new Map([
  ['ClaimExpired', ['ended', 'its time was over']],
  ['SandboxExpired', ['ended', 'its time was over']],
  ['PodFailed', ['ended', 'its pod failed']],
  ['PodSucceeded', ['ended', 'its pod ended by itself']],
  ['InvalidMetadata', ['failed', 'the cluster refused the metadata of its claim']],
  ['EnvVarsInjectionRejected', ['failed', 'the cluster refused the environment of its claim']],
  ['VolumeClaimTemplatesError', ['failed', 'the cluster refused the volumes of its claim']],
  ['InvalidConfiguration', ['not-ready', 'the API server refuses the pod that its SandboxTemplate describes']],
  ['WarmPoolNotFound', ['not-ready', 'its SandboxWarmPool is missing: apply it, or set SANDBOX_WARMPOOL to the name of one that is there']],
  ['TemplateNotFound', ['not-ready', 'the SandboxTemplate that its pool names is missing: apply it']],
]);

export function readyCondition({ status }: SandboxClaim): Condition | undefined {
  return status?.conditions?.find(({ type }) => type === 'Ready');
}

/** @param now ms since 1970 */
export function verdictOf(claim: SandboxClaim, now: number): Verdict {
  const shutdownAt = Date.parse(claim.spec.lifecycle?.shutdownTime ?? '');
  if (shutdownAt <= now) return { is: 'over', code: 'ended', why: 'its time was over' };
  if (claim.metadata.deletionTimestamp !== undefined) return { is: 'over', code: 'ended', why: 'it was deleted' };
  const condition = readyCondition(claim);
  if (condition === undefined) return { is: 'waiting', reason: '', message: 'nothing is known of it yet' };
  return stateBy(condition, claim.status?.sandbox?.podIPs ?? []);
}

function stateBy(condition: Condition, podIPs: readonly string[]): Verdict {
  const address = podIPs.find((ip) => isIP(ip) !== 0);
  if (condition.status === 'True' && address !== undefined) return { is: 'ready', address };
  const [code, meaning] = (condition.status === 'True' ? undefined : hopeless.get(condition.reason)) ?? [];
  if (code !== undefined) return { is: 'over', code, why: `${meaning} (${said(condition)})` };
  return { is: 'waiting', reason: condition.reason, message: condition.message };
}

const MAX_SAID = 300;

/** A condition in the cluster's own words, cut short. */
export function said(condition: Condition | undefined): string {
  return condition === undefined ? 'no condition' : `${condition.reason}: ${condition.message}`.slice(0, MAX_SAID);
}

/** @param defaults for what a claim does not say, ms */
export function lifetimeOf({ metadata, spec }: SandboxClaim, defaults: { readonly idleMs: number; readonly ageMs: number }): Lifetime {
  const createdAt = Date.parse(metadata.creationTimestamp ?? '') || 0;
  const idle = Number(metadata.annotations?.[idleAnnotation]);
  const shutdownAt = Date.parse(spec.lifecycle?.shutdownTime ?? '') || createdAt + defaults.ageMs;
  return { createdAt, idleMs: idle > 0 ? idle * 1000 : defaults.idleMs, shutdownAt };
}

const stateOf = { ready: 'ready', waiting: 'starting', over: 'ended' } as const;

export function infoOf(claim: SandboxClaim, defaults: { readonly idleMs: number; readonly ageMs: number }, now: number): SandboxInfo {
  const verdict = verdictOf(claim, now);
  const lifetime = lifetimeOf(claim, defaults);
  const message =
    verdict.is === 'ready'
      ? 'commands can run in it'
      : verdict.is === 'over'
        ? verdict.why
        : `it is being started (${verdict.reason || 'new'}: ${verdict.message})`;
  return { handle: claim.metadata.name, owner: claim.metadata.labels?.[ownerLabel] ?? '', lifetime, state: stateOf[verdict.is], message };
}
