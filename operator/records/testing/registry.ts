import type { ReadOptions } from '../../../lib/registry-api/client.ts';
import { RegistryError } from '../../../lib/registry-api/errors.ts';
import { normalForm } from '../../../lib/registry-api/normal-form.ts';
import {
  OFFICIAL_META,
  type OfficialMeta,
  type RecordStatus,
  type ServerJson,
  type ServerRecord,
} from '../../../lib/registry-api/server-json.ts';
import { compareVersions, pickLatest } from '../../../lib/registry-api/version-order.ts';
import type { RegistryPort } from '../registry-view.ts';

interface Row {
  readonly name: string;
  readonly version: string;
  server: ServerJson;
  status: RecordStatus;
  message: string | undefined;
  readonly publishedAt: number;
  isLatest: boolean;
}

/** What a caller did to a record. */
export interface Deed {
  readonly by: string;
  readonly did: 'publish' | 'edit' | RecordStatus;
  readonly name: string;
  readonly version: string;
  /** the document that was there before */
  readonly before: ServerJson | undefined;
}

/** How the next request of a caller goes wrong: before anything is done, or after, so that only the answer is lost. */
export type Mishap = 'unreachable' | 'answer-lost' | 'refused';

/**
 * A registry in memory, for what real time and real processes are too slow to try. That it behaves as a real one is checked in
 * test/operator/simulated-registry.test.ts.
 */
export class SimulatedRegistry {
  readonly #rows = new Map<string, Row>();
  #clock = 0;
  readonly deeds: Deed[] = [];
  /** one per request to come, undefined where all is well */
  mishaps: (Mishap | undefined)[] = [];
  down = false;
  /** refuses what is done, or done to this version */
  refuses: string | undefined;
  /** fails, with an answer, when this version is written */
  breaksOn: string | undefined;
  /** fails, with an answer, when this name is asked for */
  breaksAt: string | undefined;
  /** takes edits and keeps none */
  forgets = false;
  /** versions whose records come in a shape that nobody knows, and whether such a record tells its name in lists of all */
  readonly obscured = new Map<string, 'named' | 'nameless'>();
  /** called before a write, also one that fails */
  onWrite: (deed: Deed) => void = () => {};

  empty(): void {
    this.#rows.clear();
  }

  all(): readonly ServerRecord[] {
    return [...this.#rows.values()].toSorted((a, b) => (key(a) < key(b) ? -1 : 1)).map(recordOf);
  }

  /** Whether a record of this name cannot be read. */
  hides(name: string): boolean {
    return this.#versionsOf(name).some(({ version }) => this.obscured.has(version));
  }

  /** The registry as one caller sees it. */
  port(by: string): RegistryPort {
    const ask = <T>(work: () => T): Promise<T> => this.#request(work);
    const all = () => this.all();
    const shown = (records: readonly ServerRecord[], options?: ReadOptions) => this.#shown(records, options);
    return {
      url: 'http://registry.test',
      list: async function* (this: void, options) {
        yield* shown(await ask(all), options);
      },
      versions: (name, options) =>
        ask(() => {
          if (name === this.breaksAt) throw broken();
          return shown(
            all().filter(({ server }) => server.name === name),
            options,
          );
        }),
      publish: (document) => ask(() => this.#publish(by, document)),
      edit: (document) => ask(() => this.#edit(by, document)),
      setStatus: (change) => ask(() => this.#setStatus(by, change)),
    };
  }

  #shown(records: readonly ServerRecord[], { includeDeleted = false, onUnreadable }: ReadOptions = {}): ServerRecord[] {
    const listed = records.filter((record) => includeDeleted || statusOf(record) !== 'deleted');
    return listed.filter(({ server: { name, version } }) => {
      const how = this.obscured.get(version);
      if (how !== undefined) onUnreadable?.({ fault: 'of no known shape', ...(how === 'named' && { name, version }) });
      return how === undefined;
    });
  }

  async #request<T>(work: () => T): Promise<T> {
    // other callers get their turn, as over a network
    await Promise.resolve();
    const mishap = this.down ? 'unreachable' : this.mishaps.shift();
    if (mishap === 'unreachable') throw new RegistryError('unavailable', 'nobody there');
    if (mishap === 'refused') throw new RegistryError('refused', 'not today');
    const result = work();
    if (mishap === 'answer-lost') throw new RegistryError('timeout', 'no answer');
    return result;
  }

  #publish(by: string, document: ServerJson): ServerRecord {
    const { name, version } = document;
    this.#note(by, 'publish', name, version);
    const versions = this.#versionsOf(name);
    if (versions.some((row) => row.version === version))
      throw new RegistryError('duplicate', 'invalid version: cannot publish duplicate version');
    const latest = versions.find((row) => row.isLatest);
    const row: Row = {
      name,
      version,
      server: normalForm(document),
      status: 'active',
      message: undefined,
      publishedAt: (this.#clock += 1),
      isLatest: false,
    };
    if (latest === undefined || (compareVersions(version, latest.version) ?? 1) > 0) {
      if (latest !== undefined) latest.isLatest = false;
      row.isLatest = true;
    }
    this.#rows.set(key(row), row);
    return recordOf(row);
  }

  #edit(by: string, document: ServerJson): ServerRecord {
    const row = this.#rows.get(key(document));
    this.#note(by, 'edit', document.name, document.version);
    if (row === undefined || row.status === 'deleted') throw new RegistryError('not-found', 'Server not found');
    if (!this.forgets) row.server = normalForm(document);
    return recordOf(row);
  }

  #setStatus(by: string, change: { name: string; version: string; status: RecordStatus; message?: string }): ServerRecord {
    const row = this.#rows.get(key(change));
    this.#note(by, change.status, change.name, change.version);
    if (row === undefined) throw new RegistryError('not-found', 'Server version not found');
    if (row.status === change.status && row.message === change.message) throw new RegistryError('no-change', 'No changes to apply');
    row.status = change.status;
    row.message = change.message;
    const versions = this.#versionsOf(change.name);
    const winner = pickLatest(versions.map((other) => ({ ...other, deleted: other.status === 'deleted' })));
    for (const other of versions) other.isLatest = other.version === winner?.version;
    return recordOf(row);
  }

  #note(by: string, did: Deed['did'], name: string, version: string): void {
    const deed = { by, did, name, version, before: this.#rows.get(key({ name, version }))?.server };
    this.onWrite(deed);
    this.deeds.push(deed);
    if (this.breaksOn === version) throw broken();
    if (this.refuses === did || this.refuses === version) throw new RegistryError('refused', 'not like this');
  }

  #versionsOf(name: string): Row[] {
    return [...this.#rows.values()].filter((row) => row.name === name);
  }
}

function broken(): RegistryError {
  return new RegistryError('unavailable', 'Internal Server Error', { status: 500 });
}

function key({ name, version }: { name: string; version: string }): string {
  return `${name}\n${version}`;
}

function statusOf({ _meta }: ServerRecord): RecordStatus | undefined {
  return _meta[OFFICIAL_META]?.status;
}

function recordOf(row: Row): ServerRecord {
  const at = new Date(row.publishedAt).toISOString();
  const meta: OfficialMeta = { status: row.status, statusChangedAt: at, publishedAt: at, updatedAt: at, isLatest: row.isLatest };
  return { server: row.server, _meta: { [OFFICIAL_META]: row.message === undefined ? meta : { ...meta, statusMessage: row.message } } };
}
