import type { UnreadableRecord } from '../../lib/registry-api/answers.ts';
import type { ReadOptions, RegistryClient } from '../../lib/registry-api/client.ts';
import type { ServerRecord } from '../../lib/registry-api/server-json.ts';
import { publishedRecord, type PublishedRecord } from './record.ts';

/** What the operator needs of a registry. */
export type RegistryPort = Pick<RegistryClient, 'url' | 'list' | 'versions' | 'publish' | 'edit' | 'setStatus'>;

/** One name as the registry shows it: all versions, deleted ones too. */
export interface NameRecords {
  readonly records: readonly PublishedRecord[];
  /** records of this name of which too little can be understood */
  readonly unreadable: readonly UnreadableRecord[];
}

/**
 * The registry as it was last read: names that are declared or kept by this install, all versions, deleted ones too. A name that it does not
 * know may still be there: it is read before anything is decided about it.
 */
export class RegistryView {
  readonly #client: RegistryPort;
  readonly #install: string;
  #names = new Map<string, NameRecords>();
  #unreadable: readonly UnreadableRecord[] = [];
  #complete = false;
  /** names that were read while a list was under way, which is then older for them */
  #fresher: Set<string> | undefined;

  constructor(client: RegistryPort, install: string) {
    this.#client = client;
    this.#install = install;
  }

  /** whether the whole registry was read at least once */
  get complete(): boolean {
    return this.#complete;
  }

  /** Everything in the whole registry that could not be read. */
  get unreadable(): readonly UnreadableRecord[] {
    return this.#unreadable;
  }

  /** undefined: not known */
  recordsOf(name: string): NameRecords | undefined {
    return this.#names.get(name);
  }

  /** Names under which this install keeps records. */
  ownNames(): readonly string[] {
    return [...this.#names].filter(([, { records }]) => this.#keepsOneOf(records)).map(([name]) => name);
  }

  /** Reads everything. When that fails half way nothing changes. @throws RegistryError */
  async readAll(declared: () => Iterable<string>, signal: AbortSignal): Promise<void> {
    const fresher = new Set<string>();
    this.#fresher = fresher;
    try {
      const { records, unreadable } = await understood(signal, (options) => this.#client.list(options));
      const readable = Map.groupBy(records, ({ name }) => name);
      const others = Map.groupBy(unreadable, ({ name }) => name);
      const names = new Map<string, NameRecords>();
      const note = (name: string): unknown => names.set(name, { records: readable.get(name) ?? [], unreadable: others.get(name) ?? [] });
      for (const [name, own] of readable) if (this.#keepsOneOf(own)) note(name);
      for (const name of declared()) note(name);
      if (others.has(undefined)) await this.#readObscured(names, signal);
      for (const name of fresher) {
        const records = this.#names.get(name);
        if (records === undefined) names.delete(name);
        else names.set(name, records);
      }
      this.#names = names;
      this.#unreadable = unreadable;
      this.#complete = true;
    } finally {
      this.#fresher = undefined;
    }
  }

  /** What is known of this name is no longer to be relied on. */
  forget(name: string): void {
    this.#names.delete(name);
    this.#fresher?.add(name);
  }

  /** Reads one name. @throws RegistryError; the name is then not known until it was read again */
  async read(name: string, signal: AbortSignal): Promise<void> {
    this.forget(name);
    const records = await understood(signal, (options) => this.#client.versions(name, options));
    // only now: the whole registry may have been read meanwhile, and what is known be another map
    this.#names.set(name, records);
    this.#fresher?.add(name);
  }

  /** In a list a record may not tell its name; it shows only where the versions of one name are asked for. */
  async #readObscured(listed: ReadonlyMap<string, NameRecords>, signal: AbortSignal): Promise<void> {
    const obscured = [...this.#names].filter(
      ([name, { unreadable }]) => unreadable.length > 0 && listed.get(name)?.unreadable.length === 0,
    );
    for (const [name] of obscured) await this.read(name, signal);
  }

  #keepsOneOf(records: readonly PublishedRecord[]): boolean {
    return records.some(({ stamp }) => stamp?.install === this.#install);
  }
}

type Listing = AsyncIterable<ServerRecord> | Promise<readonly ServerRecord[]>;

/** All records of a list, deleted ones too, apart from those that tell too little. */
async function understood(signal: AbortSignal, list: (options: ReadOptions) => Listing): Promise<NameRecords> {
  const records: PublishedRecord[] = [];
  const unreadable: UnreadableRecord[] = [];
  const listing = list({ includeDeleted: true, signal, onUnreadable: (record) => unreadable.push(record) });
  for await (const record of listing instanceof Promise ? await listing : listing) {
    const known = publishedRecord(record);
    if (known !== undefined) records.push(known);
    else unreadable.push({ name: record.server.name, version: record.server.version, fault: 'the registry does not tell its status' });
  }
  return { records, unreadable };
}
