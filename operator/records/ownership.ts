import type { UnreadableRecord } from '../../lib/registry-api/answers.ts';
import type { Declaration, Wish } from './declaration.ts';
import { isLive, type PublishedRecord } from './record.ts';

/** A declaration that can be used, so that it can claim its name. */
export interface Claim extends Declaration {
  readonly wish: Extract<Wish, { is: 'record' }>;
}

/** Why a usable declaration gets nothing. */
export type ClaimRefusal = 'NameNotAllowed' | 'NameTaken' | 'DuplicateVersion' | 'VersionTaken';

export type Allotment = { readonly holds: true } | { readonly holds: false; readonly reason: ClaimRefusal; readonly message: string };

/** Which names a namespace may declare: exact, or up to a final `*`. A namespace that is not listed falls under `*`, else may declare any. */
export type NamePolicy = Readonly<Record<string, readonly string[]>>;

/** What decides who holds a name, besides the claims and the records. */
export interface Realm {
  readonly install: string;
  /** the namespace that toolyard's own names belong to */
  readonly installNamespace: string;
  readonly namePolicy: NamePolicy;
  readonly withdrawAfterMs: number;
  /** Unix time, ms */
  readonly now: number;
  /** whether the whole source was read: otherwise nothing counts as gone */
  readonly complete: boolean;
  readonly declarationOf: (source: string) => Declaration | undefined;
  readonly namespaceOf: (source: string) => string;
  /** since when a source no longer declares a name whose record it stamped, Unix ms; undefined when that was not noticed yet */
  readonly endedSince: (name: string, source: string) => number | undefined;
  /** whether this declaration took over this record before: adoption works once */
  readonly adoptedBefore: (source: string, name: string, version: string) => boolean;
}

/** All that concerns one name. */
export interface NameFacts {
  readonly name: string;
  readonly claims: readonly Claim[];
  /** every version that the registry has, deleted ones too */
  readonly records: readonly PublishedRecord[];
  /** and those of which nobody knows what they are: while there are any, who holds the name is unclear */
  readonly unreadable?: readonly UnreadableRecord[];
}

/**
 * What a source has to do with a name whose record it stamped: it `claims` it; it is `unclear` (cannot be read, or the source was not read
 * in full); it is `barred` by policy; it stopped and the time for a return is `ending`; or that has `ended`.
 */
export type Tie = 'claims' | 'unclear' | 'barred' | 'ending' | 'ended';

export function tieOf(source: string, name: string, realm: Realm): Tie {
  const wish = realm.declarationOf(source)?.wish;
  if (wish?.is === 'unusable') return 'unclear';
  if (wish?.name === name) return isAllowed(realm.namespaceOf(source), name, realm) ? 'claims' : 'barred';
  if (!realm.complete) return 'unclear';
  const since = realm.endedSince(name, source);
  return since === undefined || realm.now < since + realm.withdrawAfterMs ? 'ending' : 'ended';
}

/** Toolyard's own names belong to the namespace it is installed in, whatever a policy says. */
const OWN_NAMES = 'dev.toolyard/';

export function isAllowed(namespace: string, name: string, { installNamespace, namePolicy }: Realm): boolean {
  if (name.startsWith(OWN_NAMES) && namespace !== installNamespace) return false;
  const patterns = Object.hasOwn(namePolicy, namespace) ? namePolicy[namespace] : namePolicy['*'];
  return patterns === undefined || patterns.some((pattern) => matches(pattern, name));
}

function matches(pattern: string, name: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}

/** A record that this install keeps, or that this claim may take over. */
export function mayTouch(record: PublishedRecord, claim: Claim | undefined, realm: Realm): boolean {
  const { stamp } = record;
  if (stamp?.install === realm.install) return true;
  if (claim === undefined) return false;
  const { adopt } = claim.wish.settings;
  if (stamp !== undefined) return adopt === stamp.install;
  return adopt === 'true' && !realm.adoptedBefore(claim.source, record.name, record.version);
}

/** Who has a name now. */
type Holder =
  | { readonly is: 'nobody' }
  | { readonly is: 'namespace'; readonly namespace: string; readonly source: string }
  | { readonly is: 'install'; readonly install: string }
  | { readonly is: 'stranger' };

/**
 * Of marked records the one published first tells, so that two installs that publish at once agree on who was first. A record without a mark
 * holds its name only while there is no marked one.
 */
function holderOf({ name, records }: NameFacts, realm: Realm): Holder {
  const live = records.filter(isLive).sort(byAge);
  const stamps = live.flatMap(({ stamp }) => (stamp === undefined ? [] : [stamp]));
  const first = stamps[0];
  if (first === undefined) return live.length === 0 ? { is: 'nobody' } : { is: 'stranger' };
  if (first.install !== realm.install) return { is: 'install', install: first.install };
  const ours = stamps.filter(({ install }) => install === realm.install).map(({ source }) => ({ source, tie: tieOf(source, name, realm) }));
  const holding = ours.find(({ tie }) => tie === 'claims' || tie === 'unclear') ?? ours.find(({ tie }) => tie === 'ending');
  if (holding === undefined) return { is: 'nobody' };
  return { is: 'namespace', namespace: realm.namespaceOf(holding.source), source: holding.source };
}

function byAge(a: PublishedRecord, b: PublishedRecord): number {
  return a.publishedAt - b.publishedAt || compareText(a.version, b.version);
}

/** Who of all that claim one name gets it, and for each of the others why not. Pure and total. */
export function allot(facts: NameFacts, realm: Realm): ReadonlyMap<Claim, Allotment> {
  const holder = holderOf(facts, realm);
  const refused = new Map(facts.claims.map((claim) => [claim, refusalOf(claim, holder, { facts, realm })]));
  const candidates = facts.claims.filter((claim) => refused.get(claim) === undefined);
  const owner = holder.is === 'namespace' ? holder : candidates.toSorted(bySeniority)[0];
  const inside = candidates.filter(({ namespace }) => namespace === owner?.namespace);
  const outside = taken(`${facts.name} is declared by ${owner?.source ?? 'another namespace'}`);
  return new Map(facts.claims.map((claim) => [claim, refused.get(claim) ?? (inside.includes(claim) ? contest(claim, inside) : outside)]));
}

function refusalOf(claim: Claim, holder: Holder, { facts, realm }: { facts: NameFacts; realm: Realm }): Allotment | undefined {
  return barred(claim, realm) ?? takenByOthers(claim, holder, realm) ?? versionTaken(claim, facts, realm);
}

function barred(claim: Claim, realm: Realm): Allotment | undefined {
  const { name } = claim.wish;
  if (isAllowed(claim.namespace, name, realm)) return undefined;
  const whose = name.startsWith(OWN_NAMES) ? `${OWN_NAMES}* belongs to ${realm.installNamespace}` : 'NAME_POLICY says which it may';
  return { holds: false, reason: 'NameNotAllowed', message: `${claim.namespace} may not declare ${name}: ${whose}` };
}

function takenByOthers(claim: Claim, holder: Holder, realm: Realm): Allotment | undefined {
  const { adopt } = claim.wish.settings;
  const { name, version } = claim.wish;
  if (holder.is === 'install' && adopt !== holder.install) {
    return taken(`${name} is kept by the install ${holder.install}; to take it over set adopt to "${holder.install}"`);
  }
  if (holder.is !== 'stranger') return undefined;
  if (adopt !== 'true') return taken(`${name} was published by somebody else; to take it over set adopt to true`);
  if (!realm.adoptedBefore(claim.source, name, version)) return undefined;
  return taken(`${name} was taken over once and then changed by somebody else; to take it over again remove adopt and set it anew`);
}

function taken(message: string): Allotment {
  return { holds: false, reason: 'NameTaken', message };
}

/** The registry never frees a version, not even a deleted one: who did not publish it has to take another. */
function versionTaken(claim: Claim, { name, records }: NameFacts, realm: Realm): Allotment | undefined {
  const { version } = claim.wish;
  const record = records.find((published) => published.version === version);
  if (record === undefined || mayTouch(record, claim, realm)) return undefined;
  const who = record.stamp === undefined ? 'somebody else' : `the install ${record.stamp.install}`;
  const adoption = record.stamp === undefined ? 'true' : `"${record.stamp.install}"`;
  const message = `${name} ${version} was published by ${who}: declare another version, or set adopt to ${adoption}`;
  return { holds: false, reason: 'VersionTaken', message };
}

/** Several versions of a name live side by side; of two declarations of one version the newer wins. */
function contest(claim: Claim, inside: readonly Claim[]): Allotment {
  const { name, version } = claim.wish;
  const winner = inside
    .filter((other) => other.wish.version === version)
    .toSorted(bySeniority)
    .at(-1);
  if (winner === undefined || winner === claim) return { holds: true };
  const message = `${name} ${version} is declared by ${winner.source} too, which is newer: remove one of them or change its version`;
  return { holds: false, reason: 'DuplicateVersion', message };
}

/** Unpublished names go by creation time, then by source. */
function bySeniority(a: Claim, b: Claim): number {
  return a.createdAt - b.createdAt || compareText(a.source, b.source);
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
