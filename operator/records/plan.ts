import { changedPaths } from '../../lib/registry-api/normal-form.ts';
import type { ServerJson } from '../../lib/registry-api/server-json.ts';
import type { Reach } from './answers.ts';
import type { Settings } from './declaration.ts';
import { allot, mayTouch, tieOf, type Allotment, type Claim, type ClaimRefusal, type NameFacts, type Realm } from './ownership.ts';
import { isLive, unstamped, type PublishedRecord } from './record.ts';
import { targetOf, type Address, type Target } from './target.ts';

export type Refusal = ClaimRefusal | 'ImmutableVersion';

/**
 * What one version of one name needs now.
 * A wait says for what: an `answer` of its server, a `successor` that is not readable yet, the `repair` of its declaration, or its `return`.
 */
export type Action =
  | { readonly do: 'nothing' }
  | { readonly do: 'wait'; readonly for: 'answer' | 'successor' | 'repair' | 'return' }
  | { readonly do: 'publish'; readonly document: ServerJson }
  | { readonly do: 'edit'; readonly document: ServerJson; readonly changed: readonly string[] }
  | { readonly do: 'restore' }
  | { readonly do: 'activate' }
  | { readonly do: 'deprecate'; readonly why: string }
  | { readonly do: 'withdraw' }
  | { readonly do: 'refuse'; readonly reason: Refusal; readonly message: string };

/** One version and what it needs: declared when there is a claim, left over from an earlier declaration otherwise. */
export interface Step {
  readonly name: string;
  readonly version: string;
  /** whose it is: the claim's, or the one stamped in the record */
  readonly source: string;
  readonly claim?: Claim;
  readonly record?: PublishedRecord;
  /** whether its server answers, when that was asked */
  readonly reach?: Reach;
  readonly target?: Target;
  readonly action: Action;
  /** when a wait for a return ends, Unix ms */
  readonly until?: number;
}

/** What the plan depends on besides the facts of its name. */
export interface World extends Realm {
  readonly immutableVersions: boolean;
  readonly reach: (target: Target) => Reach;
}

/**
 * What one name needs now: steps in the order in which to take them, declared versions before left-over ones, so that a successor is there
 * before its predecessor goes. Pure and total; taking the first step that does something and planning again ends with every step `nothing`,
 * `wait` or `refuse`.
 */
export function planName(facts: NameFacts, world: World): readonly Step[] {
  const allotments = allot(facts, world);
  const declared = facts.claims.map((claim) => planClaim(claim, allotments.get(claim), facts, world));
  const held = new Set(declared.filter(({ action }) => !isRefusedClaim(action)).map(({ version }) => version));
  const heirs = facts.claims.filter((claim) => allotments.get(claim)?.holds === true);
  const leftOver = facts.records
    .filter((record) => isLive(record) && !held.has(record.version) && mayTouch(record, adopterOf(record, heirs), world))
    .map((record) => planLeftOver(record, allotments, facts, world));
  return [...declared, ...leftOver];
}

/** The addresses whose answers the steps depend on. A record that is published and active is expected to answer. */
export function targetsOf(steps: readonly Step[]): readonly { readonly address: Address; readonly expected: boolean }[] {
  return steps.flatMap(({ target, record }) =>
    target?.is === 'address' ? [{ address: target, expected: record?.status === 'active' }] : [],
  );
}

/** Sources that stamped a record of this name and certainly declare it no more: since when decides whether it goes. */
export function endedSources({ name, claims, records }: NameFacts, world: World): readonly string[] {
  const touchable = records.filter((record) => isLive(record) && mayTouch(record, adopterOf(record, claims), world));
  const sources = new Set(touchable.flatMap(({ stamp }) => (stamp === undefined ? [] : [stamp.source])));
  return [...sources].filter((source) => ['ending', 'ended'].includes(tieOf(source, name, world)));
}

/** The claim that takes over from the install that marked a record. An unmarked one stays whose it is, unless its very version is declared. */
function adopterOf({ stamp }: PublishedRecord, claims: readonly Claim[]): Claim | undefined {
  return stamp === undefined ? undefined : claims.find(({ wish }) => wish.settings.adopt === stamp.install);
}

function isRefusedClaim(action: Action): boolean {
  return action.do === 'refuse' && action.reason !== 'ImmutableVersion';
}

function planClaim(claim: Claim, allotment: Allotment | undefined, facts: NameFacts, world: World): Step {
  const { name, version, document, settings } = claim.wish;
  const step = { name, version, source: claim.source, claim };
  if (allotment?.holds === false) return { ...step, action: { do: 'refuse', reason: allotment.reason, message: allotment.message } };
  const record = facts.records.find((published) => published.version === version);
  const target = targetOf(document, settings, claim.namespace);
  const reach = world.reach(target);
  const action = record === undefined ? planUnpublished(document, reach) : planPublished(record, { document, reach, facts, world });
  return { ...step, target, reach, action, ...(record !== undefined && { record }) };
}

function planUnpublished(document: ServerJson, reach: Reach): Action {
  return mayGoLive(reach) ? { do: 'publish', document } : { do: 'wait', for: 'answer' };
}

interface Wanted {
  readonly document: ServerJson;
  readonly reach: Reach;
  readonly facts: NameFacts;
  readonly world: World;
}

function planPublished(record: PublishedRecord, wanted: Wanted): Action {
  const { document, reach, facts } = wanted;
  const changed = changedPaths(record.document, document);
  const obstacle = changed.length === 0 ? undefined : obstacleTo(record, changed, wanted);
  if (!isLive(record)) {
    if (!mayGoLive(reach)) return { do: 'wait', for: 'answer' };
    return obstacle ?? { do: 'restore' };
  }
  if (changed.length > 0 && obstacle === undefined) return { do: 'edit', document, changed };
  return planStatus(record, reach, facts) ?? obstacle ?? { do: 'nothing' };
}

/** Why a record cannot be edited now. A remote moves only to an address that answers; anything else is edited at once. */
function obstacleTo(record: PublishedRecord, changed: readonly string[], wanted: Wanted): Action | undefined {
  const { document, reach, world } = wanted;
  const content = world.immutableVersions ? changedPaths(unstamped(record.document), unstamped(document)) : [];
  if (content.length > 0) {
    const message = `${record.name} ${record.version} is published and differs in ${list(content)}; IMMUTABLE_VERSIONS is on: declare a new version`;
    return { do: 'refuse', reason: 'ImmutableVersion', message };
  }
  const moves = changed.some((path) => path.startsWith('remotes'));
  return moves && !mayGoLive(reach) ? { do: 'wait', for: 'answer' } : undefined;
}

function planStatus(record: PublishedRecord, reach: Reach, { records }: NameFacts): Action | undefined {
  if (record.status === 'deprecated') return mayGoLive(reach) ? { do: 'activate' } : undefined;
  if (reach.is === 'silent') return { do: 'deprecate', why: `toolyard: ${reach.failure.message}` };
  const latestIsDeleted = !records.some((other) => isLive(other) && other.isLatest);
  return latestIsDeleted && mayGoLive(reach) ? { do: 'deprecate', why: RECOUNT } : undefined;
}

/**
 * After all versions were deleted the registry leaves the latest flag on one of them, even when a lower version is published later, until a
 * status changes: so this one changes there and back.
 * Source: modelcontextprotocol/registry v1.8.8, see shared facts on its latest selection.
 */
const RECOUNT = 'toolyard: for a moment, so that the registry determines the latest version anew';

function mayGoLive({ is }: Reach): boolean {
  return is === 'answers' || is === 'none';
}

function planLeftOver(record: PublishedRecord, allotments: ReadonlyMap<Claim, Allotment>, facts: NameFacts, world: World): Step {
  const { name, version, stamp } = record;
  const source = stamp?.source ?? '';
  const step = { name, version, source, record };
  const tie = tieOf(source, name, world);
  if (tie === 'barred') return { ...step, action: { do: 'wait', for: 'repair' } };
  if (tie === 'unclear') return { ...step, ...keepUp(record, world.declarationOf(source)?.wish.settings, 'repair', world) };
  if (tie === 'ended') return { ...step, action: end(record) };
  if (tie === 'ending') return { ...step, ...awaitReturn(name, source, world) };
  const claim = facts.claims.find((other) => other.source === source);
  return { ...step, ...planFormer(record, claim, allotments, { facts, world }) };
}

/** A version whose source declares another one now. */
function planFormer(
  record: PublishedRecord,
  claim: Claim | undefined,
  allotments: ReadonlyMap<Claim, Allotment>,
  { facts, world }: { facts: NameFacts; world: World },
): Pick<Step, 'action' | 'target' | 'reach'> {
  if (claim === undefined) return { action: { do: 'wait', for: 'repair' } };
  if (isLost(allotments.get(claim))) return { action: { do: 'withdraw' } };
  if (!isReadable(claim.wish.version, facts, world)) return keepUp(record, claim.wish.settings, 'successor', world);
  // whatever becomes of old versions, none of them may stay the latest
  return { action: record.isLatest ? { do: 'withdraw' } : end(record) };
}

function awaitReturn(name: string, source: string, world: World): Pick<Step, 'action' | 'until'> {
  const since = world.endedSince(name, source);
  return { action: { do: 'wait', for: 'return' }, ...(since !== undefined && { until: since + world.withdrawAfterMs }) };
}

/** Two installs, or two namespaces, published the name at once: the later one gives way. */
function isLost(allotment: Allotment | undefined): boolean {
  return allotment?.holds === false && allotment.reason === 'NameTaken';
}

function isReadable(version: string, { records }: NameFacts, { install }: World): boolean {
  return records.some((record) => record.version === version && isLive(record) && record.stamp?.install === install);
}

/** A record that stays for now is still deprecated when its server stops, and made active when it is back. */
function keepUp(
  record: PublishedRecord,
  settings: Settings | undefined,
  waitsFor: 'successor' | 'repair',
  world: World,
): Pick<Step, 'action' | 'target' | 'reach'> {
  const waiting: Action = { do: 'wait', for: waitsFor };
  // without its settings nobody knows whether this address can be reached from here
  if (settings === undefined) return { action: waiting };
  const target = targetOf(record.document, settings, world.namespaceOf(record.stamp?.source ?? ''));
  const reach = world.reach(target);
  if (record.status === 'active' && reach.is === 'silent')
    return { target, reach, action: { do: 'deprecate', why: `toolyard: ${reach.failure.message}` } };
  if (record.status === 'deprecated' && reach.is === 'answers') return { target, reach, action: { do: 'activate' } };
  return { target, reach, action: waiting };
}

/** What becomes of a record that nobody declares any more. */
function end({ stamp, status }: PublishedRecord): Action {
  const onDelete = stamp?.onDelete ?? 'delete';
  if (onDelete === 'delete') return { do: 'withdraw' };
  return onDelete === 'deprecate' && status === 'active' ? { do: 'deprecate', why: 'toolyard: no longer declared' } : { do: 'nothing' };
}

const MOST_PATHS = 5;

function list(paths: readonly string[]): string {
  const shown = paths.slice(0, MOST_PATHS).map((path) => (path === '' ? 'the whole document' : path));
  return paths.length > MOST_PATHS ? `${shown.join(', ')} and ${paths.length - MOST_PATHS} more` : shown.join(', ');
}
