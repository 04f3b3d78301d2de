import type { KubeObject } from '../../lib/kube/objects.ts';

/** coordination.k8s.io/v1. Times are RFC 3339 with microseconds. */
export interface Lease extends KubeObject {
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly acquireTime?: string;
    readonly renewTime?: string;
    readonly leaseTransitions?: number;
  };
}

/** After this long without a renewal anybody may take the Lease, s. */
export const LEASE_SECONDS = 15;
/** A holder that could not renew for this long stops working, well before another one may begin, ms. */
export const RENEW_DEADLINE_MS = 10_000;
/** Time between two tries, ms. */
export const RETRY_MS = 2_000;

/** How the Lease looked when it last changed, and when that was seen here: other machines' clocks are not trusted. */
export interface Seen {
  readonly look: string;
  /** ms, on this process's steady clock */
  readonly at: number;
}

export type LeaseStep = { readonly do: 'create' | 'take' | 'renew' } | { readonly do: 'wait'; readonly holder: string };

/** What this process should do about the Lease. Pure. */
export function planLease(
  lease: Lease | undefined,
  seen: Seen | undefined,
  { identity, now }: { identity: string; now: number },
): LeaseStep {
  if (lease === undefined) return { do: 'create' };
  const { holderIdentity: holder = '', leaseDurationSeconds = LEASE_SECONDS } = lease.spec ?? {};
  if (holder === identity) return { do: 'renew' };
  if (holder === '') return { do: 'take' };
  const since = seen?.look === lookOf(lease) ? seen.at : now;
  return now - since >= leaseDurationSeconds * 1000 ? { do: 'take' } : { do: 'wait', holder };
}

/** What is remembered of a Lease that was just read. */
export function sawLease(lease: Lease | undefined, before: Seen | undefined, now: number): Seen | undefined {
  if (lease === undefined) return undefined;
  const look = lookOf(lease);
  return before?.look === look ? before : { look, at: now };
}

/** Equal until a holder renews or changes. */
function lookOf({ spec, metadata }: Lease): string {
  return JSON.stringify([metadata.uid, spec?.holderIdentity, spec?.renewTime, spec?.leaseTransitions]);
}

/** The Lease as this process holds it. `wallTime` is RFC 3339 with milliseconds. */
export function heldLease(
  lease: Lease | undefined,
  where: { namespace: string; name: string },
  { identity, wallTime }: { identity: string; wallTime: string },
): Lease {
  const renewTime = microTime(wallTime);
  const spec = { holderIdentity: identity, leaseDurationSeconds: LEASE_SECONDS, acquireTime: renewTime, renewTime };
  const kind = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' } as const;
  if (lease === undefined) return { ...kind, metadata: where, spec: { ...spec, leaseTransitions: 0 } };
  const { holderIdentity: holder, leaseTransitions: transitions = 0, acquireTime = renewTime } = lease.spec ?? {};
  const term = holder === identity ? { acquireTime, leaseTransitions: transitions } : { leaseTransitions: transitions + 1 };
  return { ...kind, metadata: lease.metadata, spec: { ...spec, ...term } };
}

/** A Lease that its holder gives back: whoever waits may take it at once. */
export function releasedLease(lease: Lease, wallTime: string): Lease {
  const renewTime = microTime(wallTime);
  return { ...lease, spec: { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime } };
}

function microTime(wallTime: string): string {
  return wallTime.replace(/(\.\d{3})Z$/, '$1000Z');
}
