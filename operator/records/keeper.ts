import PQueue from 'p-queue';
import { RegistryError } from '../../lib/registry-api/errors.ts';
import type { Log } from '../../lib/log.ts';
import { isWrite, perform, type Write } from './apply.ts';
import { readDeclaration, type Declaration, type ReadingRules } from './declaration.ts';
import { describe, type Setback } from './describe.ts';
import type { Claim, NameFacts, NamePolicy } from './ownership.ts';
import { endedSources, planName, targetsOf, type Step, type World } from './plan.ts';
import type { Prober } from './prober.ts';
import { RegistryView, type RegistryPort } from './registry-view.ts';
import { Setbacks } from './setbacks.ts';
import type { Snapshot, Source } from './source.ts';
import type { Description, RegistryState } from './status.ts';
import { steadyNow } from './steady.ts';
import { messageOf } from '../../lib/error-message.ts';

export interface KeeperRules extends ReadingRules {
  readonly namePolicy: NamePolicy;
  readonly immutableVersions: boolean;
  readonly withdrawAfterMs: number;
}

/** Something that happened to the registry, for logs and metrics. */
export interface WriteReport {
  readonly name: string;
  readonly version: string;
  readonly action: Write['do'];
  readonly outcome: 'done' | 'refused' | 'unknown';
  readonly message?: string;
}

export interface KeeperOptions {
  readonly rules: KeeperRules;
  readonly source: Pick<Source, 'namespaceOf' | 'installNamespace'>;
  readonly registry: RegistryPort;
  readonly answers: Pick<Prober, 'reach' | 'want' | 'hurry' | 'nextProbeAt'>;
  readonly log: Log;
  /** what the keeper knows may have changed */
  readonly onChange: () => void;
  /** the registry stopped answering: `resync` should be called again, not before this many ms */
  readonly onTrouble: (waitMs: number) => void;
  readonly onWrite?: (report: WriteReport) => void;
  readonly now?: () => number;
}

/** Names written at a time. */
const WRITES_AT_A_TIME = 8;
/** One name needs a handful of writes at most; more are continued later, so that a registry which does not keep them is not flooded. */
const TURNS = 20;
/** Records that cannot be read are counted; of so many is told which. */
const MOST_UNREADABLE = 10;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 15_000;
/** A registry may ask for a longer pause, but not for ever. */
const LONGEST_ASKED_PAUSE_MS = 10 * 60_000;

/** After these nobody knows whether something was written. */
const UNKNOWN: ReadonlySet<string> = new Set(['unavailable', 'timeout', 'rate-limited', 'protocol']);

/** What an operator can do about a refused token, which lives for minutes only. */
const ON_TOKENS =
  ': REGISTRY_JWT_SEED_FILE, or the Secret in its place, must hold the seed that the registry runs with, and the clocks of both may differ by 4 minutes at most';

/** What else than a write can fail for one name. */
const READING = 'reading';

/**
 * Keeps the registry equal to the declarations, one name at a time. Everything is planned from what is declared, published and answering
 * now; between plans it only remembers since when something is gone, what was adopted and what was refused.
 */
export class Keeper {
  readonly #options: KeeperOptions;
  readonly #now: () => number;
  readonly #view: RegistryView;
  readonly #abort = new AbortController();
  readonly #queue = new PQueue({ concurrency: WRITES_AT_A_TIME });
  /** names that are being written, and whether something changed meanwhile */
  readonly #busy = new Map<string, boolean>();
  readonly #steps = new Map<string, readonly Step[]>();
  readonly #ended = new Map<string, Map<string, number>>();
  readonly #adopted = new Set<string>();
  readonly #setbacks = new Setbacks();
  #declarations: ReadonlyMap<string, Declaration> = new Map();
  #claims: ReadonlyMap<string, readonly Claim[]> = new Map();
  #snapshot: Snapshot | undefined;
  #registry: RegistryState;
  #pauses = 0;

  constructor(options: KeeperOptions) {
    this.#options = options;
    this.#now = options.now ?? steadyNow;
    this.#view = new RegistryView(options.registry, options.rules.install);
    this.#registry = { url: options.registry.url, state: 'down', since: this.#time(), message: 'it was not read yet' };
  }

  get registry(): RegistryState {
    const { unreadable } = this.#view;
    if (unreadable.length === 0) return this.#registry;
    return { ...this.#registry, unreadable: { count: unreadable.length, records: unreadable.slice(0, MOST_UNREADABLE) } };
  }

  /** why the declarations could not be read in full */
  get incomplete(): string | undefined {
    return this.#snapshot?.incomplete;
  }

  /** whether both sides were read once */
  get ready(): boolean {
    return this.#snapshot !== undefined && this.#view.complete;
  }

  /** Takes what a source declares now. */
  declare(snapshot: Snapshot): void {
    const before = this.#declarations;
    const known = new Map(this.#snapshot?.declarations.map((raw) => [raw, before.get(raw.source)]));
    const read = snapshot.declarations.map((raw) => known.get(raw) ?? readDeclaration(raw, this.#options.rules));
    const asComplete = this.#snapshot?.incomplete === snapshot.incomplete;
    this.#snapshot = snapshot;
    this.#declarations = new Map(read.map((declaration) => [declaration.source, declaration]));
    this.#claims = Map.groupBy(read.filter(isClaim), ({ wish }) => wish.name);
    const changed = [...before.keys(), ...this.#declarations.keys()].filter((id) => before.get(id) !== this.#declarations.get(id));
    const affected = this.#namesOf(new Set(changed), before);
    this.#touch(asComplete ? affected : this.#names());
    for (const name of affected) this.#options.answers.hurry(name);
    this.#options.onChange();
  }

  /** Names that these sources declare, declared before, or have records of. */
  #namesOf(sources: ReadonlySet<string>, before: ReadonlyMap<string, Declaration>): Set<string> {
    const declared = [before, this.#declarations].flatMap((all) => Array.from(sources, (source) => all.get(source)?.wish.name));
    const kept = [...this.#steps].filter(([, steps]) => steps.some(({ source }) => sources.has(source))).map(([name]) => name);
    return new Set([...declared.filter((name) => name !== undefined), ...kept]);
  }

  /** Plans these names again: servers that they depend on answered, or stopped. */
  reconsider(names: Iterable<string>): void {
    this.#touch(names);
    this.#options.onChange();
  }

  /** Reads the whole registry. Resolves when that succeeded or failed; then it shows in `registry`. */
  async resync(): Promise<void> {
    try {
      await this.#view.readAll(() => this.#claims.keys(), this.#abort.signal);
      this.#pauses = 0;
      if (this.#registry.state === 'down') {
        this.#registry = { url: this.#registry.url, state: 'up', since: this.#time() };
        this.#options.log.info({ url: this.#registry.url }, 'the registry answers');
      }
      this.#touch(this.#names());
    } catch (error) {
      if (!this.#abort.signal.aborted) this.#trouble(error);
    }
    this.#options.onChange();
  }

  /** Time until something is due that no event will tell, ms. */
  dueIn(): number | undefined {
    const now = this.#now();
    const ends = [...this.#steps.values()].flat().flatMap(({ until }) => (until === undefined ? [] : [until]));
    const due = [...ends, ...this.#setbacks.times()].filter((at) => at > now);
    return due.length === 0 ? undefined : due.reduce((a, b) => Math.min(a, b)) - now;
  }

  /** Plans everything again, for what is due by now. */
  wake(): void {
    this.reconsider(this.#names());
  }

  /** Resolves when nothing is being written. */
  async settled(): Promise<void> {
    await this.#queue.onIdle();
  }

  /** Aborts what is being written. */
  async close(): Promise<void> {
    this.#abort.abort(new Error('the operator stops'));
    await this.#queue.onIdle();
  }

  /** What is known about every source, sorted by source. */
  describeAll(): readonly Description[] {
    const bySource = Map.groupBy([...this.#steps.values()].flat(), ({ source }) => source);
    const sources = new Set([...this.#declarations.keys(), ...bySource.keys()]);
    return [...sources].toSorted().flatMap((source) => this.#describe(source, bySource.get(source) ?? []) ?? []);
  }

  #describe(source: string, steps: readonly Step[]): Description | undefined {
    const target = (steps.find(({ claim }) => claim !== undefined) ?? steps[0])?.target;
    return describe({
      source,
      declaration: this.#declarations.get(source),
      steps,
      tentative: steps.some(({ name }) => this.#view.recordsOf(name) === undefined),
      setback: this.#setbackOf(steps),
      nextProbeAt: target?.is === 'address' ? this.#options.answers.nextProbeAt(target) : undefined,
      publishEndpoint: this.#options.rules.publishEndpoint,
    });
  }

  #setbackOf(steps: readonly Step[]): Setback | undefined {
    const pending = steps.filter(({ action }) => isWrite(action));
    if (pending.length === 0) return undefined;
    if (this.#registry.state === 'down') {
      return { reason: 'RegistryDown', message: `it is written as soon as the registry answers again: ${this.#registry.message ?? ''}` };
    }
    const setbacks = pending.flatMap((step) => [READING, fingerprint(step)].map((key) => this.#setbacks.of(step.name, key)));
    return setbacks.find((setback) => setback !== undefined);
  }

  #names(): Set<string> {
    return new Set([...this.#claims.keys(), ...this.#view.ownNames(), ...this.#steps.keys()]);
  }

  /** Planning is cheap and done at once; only names that have something to write wait for their turn. */
  #touch(names: Iterable<string>): void {
    for (const name of names) {
      if (this.#busy.has(name)) {
        this.#busy.set(name, true);
        continue;
      }
      const steps = this.#plan(name);
      const unread = this.#claims.has(name) && this.#view.recordsOf(name) === undefined;
      if (this.#setbacks.holds(name, READING, this.#now())) continue;
      if (this.#mayWrite() && (unread || this.#nextWrite(steps) !== undefined)) {
        this.#busy.set(name, false);
        void this.#queue.add(() => this.#keep(name));
      }
    }
  }

  #mayWrite(): boolean {
    return this.ready && this.#registry.state === 'up' && !this.#abort.signal.aborted;
  }

  async #keep(name: string): Promise<void> {
    try {
      await this.#settle(name);
    } catch (error) {
      if (this.#abort.signal.aborted) return;
      if (error instanceof RegistryError) this.#unsettled(name, error);
      else this.#options.log.error({ err: error, name }, 'keeping a name broke; it is tried again with the next change');
    } finally {
      const again = this.#busy.get(name) === true;
      this.#busy.delete(name);
      if (!this.#abort.signal.aborted) {
        if (again) this.#touch([name]);
        else this.#plan(name);
        this.#options.onChange();
      }
    }
  }

  /**
   * Whether a name cannot be read because of the registry or because of the name: when there was an answer, reading everything tells, and
   * other names go on until then.
   */
  #unsettled(name: string, error: RegistryError): void {
    // several fail together: the first one tells
    if (this.#registry.state === 'down') return;
    if (error.status === undefined || error.code === 'rate-limited') return this.#trouble(error);
    this.#setbacks.note(
      name,
      READING,
      { reason: 'RegistryFailed', message: `the registry does not show it: ${error.message}` },
      this.#now(),
    );
    this.#options.onTrouble(FIRST_PAUSE_MS);
  }

  /** One write after the other, each planned from what the registry shows by then, until nothing is left to do. @throws RegistryError on trouble */
  async #settle(name: string): Promise<void> {
    const { signal } = this.#abort;
    const done = new Set<string>();
    if (!this.#mayWrite()) return;
    // what is about to be changed may have been taken by somebody else since it was read
    await this.#view.read(name, signal);
    this.#setbacks.forget(name, READING);
    for (let turn = 0; turn < TURNS && this.#mayWrite(); turn += 1) {
      const next = this.#nextWrite(this.#plan(name));
      if (next === undefined) return;
      const key = fingerprint(next);
      const setback = done.has(key) ? notKept(next.action) : await this.#write(next, next.action);
      done.add(key);
      // a registry that can be read all the same failed because of this record only
      await this.#view.read(name, signal);
      if (setback !== undefined) this.#setbacks.note(name, key, setback, this.#now());
    }
  }

  /** @returns why it did not work, as far as is known: it may have been written all the same. @throws RegistryError when it has to wait */
  async #write(step: Step, action: Write): Promise<Setback | undefined> {
    const { registry, onWrite } = this.#options;
    const report = { name: step.name, version: step.version, action: action.do };
    try {
      await perform(step, action, registry, this.#abort.signal);
      onWrite?.({ ...report, outcome: 'done' });
      return undefined;
    } catch (error) {
      if (this.#abort.signal.aborted) throw error;
      const unknown = error instanceof RegistryError && UNKNOWN.has(error.code);
      onWrite?.({ ...report, outcome: unknown ? 'unknown' : 'refused', message: messageOf(error) });
      if (error instanceof RegistryError && error.code === 'rate-limited') throw error;
      return setbackOf(error);
    }
  }

  #nextWrite(steps: readonly Step[]): (Step & { readonly action: Write }) | undefined {
    const now = this.#now();
    return steps.find((step): step is Step & { readonly action: Write } => {
      return isWrite(step.action) && !this.#setbacks.holds(step.name, fingerprint(step), now);
    });
  }

  #trouble(error: unknown): void {
    const { message, retryAfterMs } = error instanceof RegistryError ? error : { message: String(error), retryAfterMs: undefined };
    const pause = Math.min(FIRST_PAUSE_MS * 2 ** this.#pauses, LONGEST_PAUSE_MS);
    const waitMs = Math.max(pause, Math.min(retryAfterMs ?? 0, LONGEST_ASKED_PAUSE_MS));
    this.#pauses += 1;
    if (this.#registry.state === 'up') this.#options.log.warn({ url: this.#registry.url, reason: message }, 'the registry does not answer');
    const since = this.#registry.state === 'down' ? this.#registry.since : this.#time();
    this.#registry = { url: this.#registry.url, state: 'down', since, message };
    this.#options.onTrouble(waitMs);
    this.#options.onChange();
  }

  #plan(name: string): readonly Step[] {
    const { records = [], unreadable = [] } = this.#view.recordsOf(name) ?? {};
    const facts: NameFacts = { name, claims: this.#claims.get(name) ?? [], records, unreadable };
    const world = this.#world();
    this.#noteEnds(facts, world);
    const steps = planName(facts, world);
    this.#noteAdoptions(steps);
    this.#setbacks.retain(name, new Set([READING, ...steps.map(fingerprint)]));
    if (steps.length === 0) this.#steps.delete(name);
    else this.#steps.set(name, steps);
    this.#options.answers.want(name, targetsOf(steps));
    return steps;
  }

  #world(): World {
    const { rules, source, answers } = this.#options;
    return {
      ...rules,
      installNamespace: source.installNamespace,
      now: this.#now(),
      complete: this.#snapshot !== undefined && this.#snapshot.incomplete === undefined,
      declarationOf: (id) => this.#declarations.get(id),
      namespaceOf: (id) => source.namespaceOf(id),
      endedSince: (name, id) => this.#ended.get(name)?.get(id),
      adoptedBefore: (id, name, version) => this.#adopted.has(adoption(id, name, version)),
      reach: (target) => answers.reach(target),
    };
  }

  #noteEnds(facts: NameFacts, world: World): void {
    const before = this.#ended.get(facts.name);
    const now = new Map(
      endedSources(facts, world).map(({ source, withdrawn }) => [source, before?.get(source) ?? (withdrawn ? -Infinity : world.now)]),
    );
    if (now.size === 0) this.#ended.delete(facts.name);
    else this.#ended.set(facts.name, now);
  }

  /** Adoption works once: a record that lost its mark afterwards was taken back by somebody. */
  #noteAdoptions(steps: readonly Step[]): void {
    for (const { name, version, source, claim, record } of steps) {
      if (claim === undefined) continue;
      const key = adoption(source, name, version);
      if (claim.wish.settings.adopt !== 'true') this.#adopted.delete(key);
      else if (record?.stamp?.source === source && record.stamp.install === this.#options.rules.install) this.#adopted.add(key);
    }
  }

  #time(): string {
    return new Date(this.#now()).toISOString();
  }
}

function isClaim(declaration: Declaration): declaration is Claim {
  return declaration.wish.is === 'record';
}

function adoption(source: string, name: string, version: string): string {
  return JSON.stringify([source, name, version]);
}

/** Equal for the same write with the same content. */
function fingerprint({ version, action }: Step): string {
  return JSON.stringify([version, action]);
}

function notKept(action: Write): Setback {
  const what = action.do === 'edit' ? `it differs in ${action.changed.slice(0, 5).join(', ')}` : `"${action.do}" had no effect`;
  return { reason: 'NotKept', message: `the registry took it but shows something else: ${what}` };
}

function setbackOf(error: unknown): Setback {
  if (!(error instanceof RegistryError)) return { reason: 'NotWritten', message: `it cannot be written: ${messageOf(error)}` };
  if (UNKNOWN.has(error.code))
    return { reason: 'RegistryFailed', message: `the registry fails to take it: ${error.message}`, passing: true };
  const message = `the registry refuses it: ${error.message}`;
  if (error.code === 'unauthorized') return { reason: 'RegistryRefused', message: `${message}${ON_TOKENS}`, passing: true };
  return { reason: 'RegistryRefused', message };
}
