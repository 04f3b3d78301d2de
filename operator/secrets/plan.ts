import type { Generated } from '../config.ts';
import type { CertificateFacts } from './certificates.ts';

/** Marks a Secret or ConfigMap that the operator made, so that it may renew it. What lacks it is left alone. */
export const GENERATED_ANNOTATION = 'toolyard.dev/generated';

/** A Secret as far as plans need it. */
export interface FoundSecret {
  /** made by the operator */
  readonly isOurs: boolean;
  readonly keys: readonly string[];
}

/** What a Secret needs. `foreign`: somebody else made it, and it is used as it is. */
export type HexStep = { readonly do: 'nothing' | 'create' | 'add' };

/** Random bytes are made once: whoever changes them has a reason, and whoever removes them gets new ones. */
export function planHex({ key }: Extract<Generated, { is: 'hex' }>, found: FoundSecret | undefined): HexStep {
  if (found === undefined) return { do: 'create' };
  return { do: found.keys.includes(key) ? 'nothing' : 'add' };
}

/** An authority's own certificate, the next one's, and the one before. Times are Unix ms. */
export interface FoundAuthority {
  readonly isOurs: boolean;
  /** undefined when it cannot be read */
  readonly current: CertificateFacts | undefined;
  readonly next: CertificateFacts | undefined;
  readonly previous: CertificateFacts | undefined;
}

/**
 * `prepare`: make the next authority, and let clients learn it. `switch`: sign with it from now on; the old one stays known.
 * `forget`: the old one has ended.
 */
export type AuthorityStep = { readonly do: 'nothing' | 'create' | 'replace' | 'prepare' | 'switch' | 'forget' | 'foreign' };

/** Clients have this long to learn the next authority before anything is signed by it. */
export const OVERLAP_MS = 7 * 86_400_000;

export function planAuthority(found: FoundAuthority | undefined, now: number): AuthorityStep {
  if (found === undefined) return { do: 'create' };
  if (!found.isOurs) return { do: 'foreign' };
  return planOwnAuthority(found, now);
}

function planOwnAuthority({ current, next, previous }: FoundAuthority, now: number): AuthorityStep {
  const isUsable = current !== undefined && now < current.until;
  if (next !== undefined && (!isUsable || now >= next.from + OVERLAP_MS)) return { do: 'switch' };
  if (!isUsable) return { do: 'replace' };
  if (next === undefined && isDue(current, now)) return { do: 'prepare' };
  return { do: previous !== undefined && now >= previous.until ? 'forget' : 'nothing' };
}

export interface FoundCertificate {
  readonly isOurs: boolean;
  readonly facts: CertificateFacts | undefined;
  /** by the install's authority, the present or the previous one */
  readonly isSigned: boolean;
}

export type CertificateStep = { readonly do: 'nothing' | 'create' | 'foreign' } | { readonly do: 'renew'; readonly why: string };

export function planCertificate(
  { hosts }: Extract<Generated, { is: 'certificate' }>,
  found: FoundCertificate | undefined,
  now: number,
): CertificateStep {
  if (found === undefined) return { do: 'create' };
  if (!found.isOurs) return { do: 'foreign' };
  const { facts, isSigned } = found;
  if (facts === undefined) return { do: 'renew', why: 'it cannot be read' };
  if (!isSigned) return { do: 'renew', why: 'another authority signed it' };
  const wanted = [...new Set(hosts)].toSorted();
  if (JSON.stringify(wanted) !== JSON.stringify(facts.hosts)) return { do: 'renew', why: 'it is for other hosts' };
  return isDue(facts, now) ? { do: 'renew', why: 'two thirds of its time are over' } : { do: 'nothing' };
}

/** Whether two thirds of its time are over. */
function isDue({ from, until }: CertificateFacts, now: number): boolean {
  return now >= from + ((until - from) * 2) / 3;
}
