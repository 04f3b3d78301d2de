import type { UnreadableRecord } from '../../lib/registry-api/answers.ts';
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
 * A wait says for what: an `answer` of its server, a `successor` that is not readable yet, the `repair` of its declaration, its `return`,
 * or the `reading` of records that cannot be read.
 */
export type Action =
  | { readonly do: 'nothing' }
  | { readonly do: 'wait'; readonly for: 'answer' | 'successor' | 'repair' | 'return' }
  | { readonly do: 'wait'; readonly for: 'reading'; readonly what: string }
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
  /** where a record that cannot become what is declared advertises its server for now */
  readonly standIn?: Target;
  readonly action: Action;
  /** when a wait for a return ends, Unix ms */
  readonly until?: number;
}

/** What the plan depends on besides the facts of its name. */
export interface World extends Realm {
  readonly immutableVersions: boolean;
  /** records advertise the endpoint that is probed */
  readonly publishEndpoint: boolean;
  readonly reach: (target: Target) => Reach;
}

/**
 * What one name needs now: steps in the order in which to take them, declared versions before left-over ones, so that a successor is there
 * before its predecessor goes. Pure and total; taking the first step that does something and planning again ends with every step `nothing`,
 * `wait` or `refuse`.
 */
export function planName(facts: NameFacts, world: World): readonly Step[] {
  const { unreadable = [] } = facts;
  if (unreadable.length > 0) return planObscured(facts, { do: 'wait', for: 'reading', what: listUnreadable(unreadable) }, world);
  const allotments = allot(facts, world);
  const declared = facts.claims.map((claim) => planClaim(claim, allotments.get(claim), facts, world));
  const held = new Set(declared.filter(({ action }) => !isRefusedClaim(action)).map(({ version }) => version));
  const heirs = facts.claims.filter((claim) => allotments.get(claim)?.holds === true);
  const leftOver = facts.records
    .filter((record) => isLive(record) && !held.has(record.version) && mayTouch(record, adopterOf(record, heirs), world))
    .map((record) => planLeftOver(record, allotments, facts, world));
  return [...declared, ...leftOver];
}

/**
 * A record that cannot be read may be anybody's, and the one that decides who holds the name. Until it can be read, records of ours follow
 * the answers of the servers that they advertise, and nothing else is done.
 */
function planObscured({ claims, records }: NameFacts, wait: Action, world: World): readonly Step[] {
  const own = records.filter((record) => isLive(record) && record.stamp?.install === world.install);
  const declared = claims.map((claim) => planObscuredClaim(claim, own, wait, world));
  const leftOver = own.filter((record) => !declared.some((step) => step.record === record));
  return [...declared, ...leftOver.map((record) => planAsItIs(record, wait, world))];
}

function planObscuredClaim(claim: Claim, own: readonly PublishedRecord[], wait: Action, world: World): Step {
  const { name, version, document, settings } = claim.wish;
  const target = targetOf(document, settings, claim.namespace);
  const step = { name, version, source: claim.source, claim, target, reach: world.reach(target) };
  const record = own.find((published) => published.version === version && published.stamp?.source === claim.source);
  if (record === undefined) return { ...step, action: wait };
  const kept = keepUp(record, settings, changedPaths(record.document, document).length === 0 ? { do: 'nothing' } : wait, world);
  return { ...step, record, action: kept.action, ...(kept.target !== undefined && { standIn: kept.target }) };
}

function planAsItIs(record: PublishedRecord, otherwise: Action, world: World): Step {
  const { name, version, stamp } = record;
  const source = stamp?.source ?? '';
  return { name, version, source, record, ...keepUp(record, world.declarationOf(source)?.wish.settings, otherwise, world) };
}

/** The addresses whose answers the steps depend on. What a record that is active advertises is expected to answer. */
export function targetsOf(steps: readonly Step[]): readonly { readonly address: Address; readonly expected: boolean }[] {
  return steps.flatMap(({ target, standIn, record }) => {
    const expected = record?.status === 'active';
    const addresses = [
      { address: target, expected: expected && standIn === undefined },
      { address: standIn, expected },
    ];
    return addresses.flatMap(({ address, expected }) => (address?.is === 'address' ? [{ address, expected }] : []));
  });
}

/**
 * Sources that stamped a record of this name and certainly declare it no more: since when decides whether it goes. Of those whose records
 * are all `withdrawn` it is long decided, so that a successor who has to restore one need not wait.
 */
export function endedSources({ name, claims, records }: NameFacts, world: World): readonly { source: string; withdrawn: boolean }[] {
  const touchable = records.filter((record) => mayTouch(record, adopterOf(record, claims), world));
  const bySource = Map.groupBy(touchable, ({ stamp }) => stamp?.source);
  return [...bySource].flatMap(([source, own]) => {
    if (source === undefined || !['ending', 'ended'].includes(tieOf(source, name, world))) return [];
    return [{ source, withdrawn: !own.some(isLive) }];
  });
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
  if (record === undefined) return { ...step, target, reach, action: planUnpublished(document, reach) };
  const action = planPublished(record, { document, reach, facts, world });
  return { ...step, target, reach, record, ...meanwhile(record, claim, action, world) };
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
  if (!isLive(record) && !mayGoLive(reach)) return { do: 'wait', for: 'answer' };
  const changed = changedPaths(record.document, document);
  const obstacle = changed.length === 0 ? undefined : obstacleTo(record, changed, wanted);
  if (obstacle !== undefined) return obstacle;
  if (!isLive(record)) return { do: 'restore' };
  return changed.length > 0 ? { do: 'edit', document, changed } : planStatus(record, reach, facts);
}

/** While a record of ours cannot become what is declared, it is kept as what it is: by the answers of the address that it advertises. */
function meanwhile(record: PublishedRecord, claim: Claim, action: Action, world: World): Pick<Step, 'action' | 'standIn'> {
  const stuck = action.do === 'wait' || action.do === 'refuse';
  if (!stuck || !isLive(record) || record.stamp?.install !== world.install) return { action };
  const { source } = record.stamp;
  if (source !== claim.source && tieOf(source, record.name, world) === 'ended') return { action: orElse(end(record), action) };
  const kept = keepUp(record, claim.wish.settings, action, world);
  return { action: kept.action, ...(kept.target !== undefined && { standIn: kept.target }) };
}

function orElse(action: Action, otherwise: Action): Action {
  return action.do === 'nothing' ? otherwise : action;
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

function planStatus(record: PublishedRecord, reach: Reach, { records }: NameFacts): Action {
  if (record.status === 'deprecated') return { do: mayGoLive(reach) ? 'activate' : 'nothing' };
  if (reach.is === 'silent') return { do: 'deprecate', why: `toolyard: ${reach.failure.message}` };
  const latestIsDeleted = !records.some((other) => isLive(other) && other.isLatest);
  return latestIsDeleted && mayGoLive(reach) ? { do: 'deprecate', why: RECOUNT } : { do: 'nothing' };
}

/**
 * After all versions were deleted the registry leaves the latest flag on one of them, even when a lower version is published later, until a
 * status changes: so this one changes there and back.
 * Source: modelcontextprotocol/registry v1.8.8, whose publish compares with the flagged row even when that is deleted.
 */
const RECOUNT = 'toolyard: for a moment, so that the registry determines the latest version anew';

function mayGoLive({ is }: Reach): boolean {
  return is === 'answers' || is === 'none';
}

const repair: Action = { do: 'wait', for: 'repair' };

function planLeftOver(record: PublishedRecord, allotments: ReadonlyMap<Claim, Allotment>, facts: NameFacts, world: World): Step {
  const { name, version, stamp } = record;
  const source = stamp?.source ?? '';
  const step = { name, version, source, record };
  const tie = tieOf(source, name, world);
  if (tie === 'barred') return { ...step, action: repair };
  if (tie === 'unclear') return planAsItIs(record, repair, world);
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
  if (claim === undefined) return { action: repair };
  // what was not read may declare this version
  if (!world.complete) return keepUp(record, claim.wish.settings, repair, world);
  if (isLost(allotments.get(claim))) return { action: { do: 'withdraw' } };
  if (!isReadable(claim.wish.version, facts, world)) return keepUp(record, claim.wish.settings, { do: 'wait', for: 'successor' }, world);
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

/** A record that stays for now is deprecated when the server that it advertises stops, and made active when that is back. */
function keepUp(
  record: PublishedRecord,
  settings: Settings | undefined,
  otherwise: Action,
  world: World,
): Pick<Step, 'action' | 'target' | 'reach'> {
  // without its settings nobody knows whether this address can be reached from here
  if (settings === undefined) return { action: otherwise };
  const { endpoint: _declared, ...others } = settings;
  const target = targetOf(record.document, world.publishEndpoint ? others : settings, world.namespaceOf(record.stamp?.source ?? ''));
  const reach = world.reach(target);
  if (record.status === 'active' && reach.is === 'silent') {
    return { target, reach, action: { do: 'deprecate', why: `toolyard: ${reach.failure.message}` } };
  }
  if (record.status === 'deprecated' && reach.is === 'answers') return { target, reach, action: { do: 'activate' } };
  return { target, reach, action: otherwise };
}

/** What becomes of a record that nobody declares any more. */
function end({ stamp, status }: PublishedRecord): Action {
  const onDelete = stamp?.onDelete ?? 'delete';
  if (onDelete === 'delete') return { do: 'withdraw' };
  return onDelete === 'deprecate' && status === 'active' ? { do: 'deprecate', why: 'toolyard: no longer declared' } : { do: 'nothing' };
}

function listUnreadable(unreadable: readonly UnreadableRecord[]): string {
  const [first] = unreadable;
  const more = unreadable.length > 1 ? `, and ${unreadable.length - 1} more` : '';
  return `${first?.version ?? 'of no readable version'}: ${first?.fault ?? ''}${more}`;
}

const MOST_PATHS = 5;

function list(paths: readonly string[]): string {
  const shown = paths.slice(0, MOST_PATHS).map((path) => (path === '' ? 'the whole document' : path));
  return paths.length > MOST_PATHS ? `${shown.join(', ')} and ${paths.length - MOST_PATHS} more` : shown.join(', ');
}
