import type { Lifetime } from './backend.ts';

/** How long sandboxes live and how many there may be. */
export interface SandboxLimits {
  readonly perCaller: number;
  readonly inAll: number;
  /** longest time that a sandbox may go unused, ms */
  readonly maxIdleMs: number;
  /** longest time that a sandbox may live, however much it is used, ms */
  readonly maxAgeMs: number;
}

/**
 * The life of a new sandbox. What is asked for is the time it may go unused, as a client of agent-sandbox asks for the time it may live: it is
 * never longer than allowed, and never for ever.
 * @param askedSeconds null: as long as is allowed
 */
export function newLifetime(askedSeconds: number | null, { maxIdleMs, maxAgeMs }: SandboxLimits, now: number): Lifetime {
  const idleMs = Math.min(askedSeconds === null ? maxIdleMs : askedSeconds * 1000, maxIdleMs, maxAgeMs);
  return { createdAt: now, idleMs, shutdownAt: now + idleMs };
}

/** What an end that has to be put off is put off by beyond need, as a share of the idle time: each time costs a write to a cluster. */
const AHEAD = 0.1;

/**
 * The new end of a sandbox that is used now and for at most `busyMs` more; undefined when the old one is late enough. Only ever later, and never
 * beyond the highest age.
 */
export function renewedEnd(
  { createdAt, idleMs, shutdownAt }: Lifetime,
  busyMs: number,
  { maxAgeMs }: SandboxLimits,
  now: number,
): number | undefined {
  const latest = createdAt + maxAgeMs;
  const needed = Math.min(now + busyMs + idleMs, latest);
  return needed > shutdownAt ? Math.min(needed + Math.round(idleMs * AHEAD), latest) : undefined;
}

export type Admission = { readonly admitted: true } | { readonly admitted: false; readonly message: string };

/** Whether a caller may have one more sandbox, given how many there are. */
export function admission(held: { readonly byCaller: number; readonly inAll: number }, limits: SandboxLimits): Admission {
  if (held.byCaller >= limits.perCaller) {
    const message = `you have ${held.byCaller} sandboxes, which is all one caller may have; delete one with delete_sandbox, or wait until one ends`;
    return { admitted: false, message };
  }
  if (held.inAll >= limits.inAll) {
    return { admitted: false, message: `all ${limits.inAll} sandboxes of this server are taken; try again in a while` };
  }
  return { admitted: true };
}
