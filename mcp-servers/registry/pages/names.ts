import { visibleAddress } from '../../../lib/connect.ts';
import type { ServerJson, ServerRecord } from '../../../lib/registry-api/server-json.ts';
import type { LatestRecord, Store } from '../store.ts';
import type { Micros } from '../time.ts';
import type { Declaration, OperatorStatus } from './operator-status.ts';
import { statesOf, type State } from './state.ts';

/** All that is known of one name. */
export interface Entry {
  /** the name; where a declaration tells none, what declares it */
  readonly key: string;
  /** a source is never taken for the name that reads like it */
  readonly isName: boolean;
  /** the latest of its records; undefined while it is only declared */
  readonly latest: LatestRecord | undefined;
  readonly declarations: readonly Declaration[];
  readonly states: readonly State[];
}

/** What a record says about itself in a list. */
export interface Words {
  readonly title: string;
  readonly description: string;
  /** where clients connect to, or the package that they run; '' when the record tells neither, or nothing that could be shown */
  readonly place: string;
}

const NO_WORDS: Words = { title: '', description: '', place: '' };

/** A longer place is not shown: nobody could see what it is. */
const MAX_PLACE = 300;

/**
 * Every name with its latest record and its declarations, by name. It is kept in memory and follows the store by reading what changed; the
 * words of records are read when they are first asked for.
 */
export class Names {
  readonly #store: Store;
  readonly #status: () => OperatorStatus | undefined;
  readonly #latest = new Map<string, LatestRecord>();
  readonly #words = new Map<string, Words>();
  #readUpTo: Micros = -1;
  #entries: readonly Entry[] = [];
  #joined: OperatorStatus | undefined;

  constructor(store: Store, status: () => OperatorStatus | undefined) {
    this.#store = store;
    this.#status = status;
  }

  /** Everything as it is now. */
  entries(): readonly Entry[] {
    const changed = this.#store.latestChangedAfter(this.#readUpTo);
    const status = this.#status();
    if (changed.length === 0 && status === this.#joined) return this.#entries;
    for (const state of changed) {
      this.#latest.set(state.name, state);
      this.#words.delete(state.name);
    }
    if (changed.length > 0) this.#readUpTo = this.#store.lastTime();
    this.#joined = status;
    this.#entries = join(this.#latest, status?.declarations ?? []);
    return this.#entries;
  }

  /** Words of the latest record; all empty for a name without one. */
  words({ key, latest }: Entry): Words {
    if (latest === undefined) return NO_WORDS;
    const known = this.#words.get(key) ?? wordsOfRecord(this.#store.latest(key, true));
    this.#words.set(key, known);
    return known;
  }

  /** Reads the words of all names at once where most are missing: a search wants them all, and one by one takes four times as long. */
  readWords(): void {
    if (this.#words.size > this.#latest.size / 2) return;
    for (const { name, document } of this.#store.latestDocuments()) this.#words.set(name, wordsOf(JSON.parse(document) as ServerJson));
  }
}

/** One entry for each name, and for each declaration that tells none. Pure. */
function join(latest: ReadonlyMap<string, LatestRecord>, declarations: readonly Declaration[]): readonly Entry[] {
  const declared = Map.groupBy(declarations, ({ name }) => name);
  const nameless = declared.get('') ?? [];
  declared.delete('');
  const names = new Set([...latest.keys(), ...declared.keys()]);
  const entries = [
    ...[...names].map((name) => entryOf(name, latest.get(name), declared.get(name) ?? [])),
    ...nameless.map((one) => entryOf(one.source, undefined, [one], false)),
  ];
  return entries.filter(({ states }) => states.length > 0).sort((one, other) => (one.key < other.key ? -1 : 1));
}

function entryOf(key: string, latest: LatestRecord | undefined, declarations: readonly Declaration[], isName = true): Entry {
  return { key, isName, latest, declarations, states: statesOf(latest?.status, declarations) };
}

function wordsOfRecord(record: string | undefined): Words {
  return record === undefined ? NO_WORDS : wordsOf((JSON.parse(record) as ServerRecord).server);
}

function wordsOf(server: ServerJson): Words {
  return { title: server.title ?? '', description: server.description, place: placeOf(server) };
}

function placeOf({ remotes: [remote] = [], packages: [entry] = [] }: ServerJson): string {
  const place = visibleAddress(remote?.url ?? '') || (entry === undefined ? '' : `${entry.registryType} ${entry.identifier}`);
  return place.length <= MAX_PLACE ? place : '';
}
