import type { RegistryClient } from '../../lib/registry-api/client.ts';
import type { ServerRecord } from '../../lib/registry-api/server-json.ts';
import { publishedRecord, type PublishedRecord } from './record.ts';

/** What the operator needs of a registry. */
export type RegistryPort = Pick<RegistryClient, 'url' | 'list' | 'versions' | 'publish' | 'edit' | 'setStatus'>;

/**
 * The registry as it was last read: names that are declared or kept by this install, all versions, deleted ones too. A name that it does not
 * know may still be there: it is read before anything is decided about it.
 */
export class RegistryView {
  readonly #client: RegistryPort;
  readonly #install: string;
  #names = new Map<string, readonly PublishedRecord[]>();
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

  /** undefined: not known */
  recordsOf(name: string): readonly PublishedRecord[] | undefined {
    return this.#names.get(name);
  }

  /** Names under which this install keeps records. */
  ownNames(): readonly string[] {
    return [...this.#names].filter(([, records]) => records.some(({ stamp }) => stamp?.install === this.#install)).map(([name]) => name);
  }

  /** Reads everything. When that fails half way nothing changes. @throws RegistryError */
  async readAll(declared: () => Iterable<string>, signal: AbortSignal): Promise<void> {
    const fresher = new Set<string>();
    this.#fresher = fresher;
    try {
      const all = Map.groupBy(await published(this.#client.list({ includeDeleted: true, signal })), ({ name }) => name);
      const names = new Map<string, readonly PublishedRecord[]>();
      for (const [name, records] of all) if (records.some(({ stamp }) => stamp?.install === this.#install)) names.set(name, records);
      for (const name of declared()) names.set(name, all.get(name) ?? []);
      for (const name of fresher) {
        const records = this.#names.get(name);
        if (records === undefined) names.delete(name);
        else names.set(name, records);
      }
      this.#names = names;
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
    const records = await this.#client.versions(name, { includeDeleted: true, signal });
    this.#names.set(
      name,
      records.map(publishedRecord).filter((record) => record !== undefined),
    );
    this.#fresher?.add(name);
  }
}

async function published(list: AsyncIterable<ServerRecord>): Promise<PublishedRecord[]> {
  const records: PublishedRecord[] = [];
  for await (const record of list) {
    const known = publishedRecord(record);
    if (known !== undefined) records.push(known);
  }
  return records;
}
