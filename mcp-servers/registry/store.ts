import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite';
import type { OfficialMeta, RecordStatus } from '../../lib/registry-api/server-json.ts';
import { OFFICIAL_META } from '../../lib/registry-api/server-json.ts';
import { GroupCommit, type Committed } from './group-commit.ts';
import { formatTime, type Micros } from './time.ts';

/** What the registry itself knows about one record; all but the document. */
export interface RecordState {
  readonly name: string;
  readonly version: string;
  readonly status: RecordStatus;
  /** null is absent; the empty string is a message */
  readonly statusMessage: string | null;
  readonly statusChangedAt: Micros;
  readonly publishedAt: Micros;
  readonly updatedAt: Micros;
  readonly isLatest: boolean;
}

/** The part of a latest record's state that lists of names need. */
export type LatestRecord = Pick<RecordState, 'name' | 'version' | 'status' | 'statusMessage'>;

/** Which records a list shows; all conditions must hold. */
export interface ListQuery {
  readonly after?: { readonly name: string; readonly version?: string };
  readonly limit: number;
  /** strictly later */
  readonly updatedSince?: Micros;
  /** substring of the name in any case */
  readonly search?: string;
  readonly version?: string;
  readonly onlyLatest: boolean;
  readonly includeDeleted: boolean;
}

/** Records as finished JSON texts. */
export interface Page {
  readonly records: readonly string[];
  /** the place after which the next page begins; undefined when this was the last. A full page names one, which may turn out to be empty */
  readonly next: { readonly name: string; readonly version: string } | undefined;
}

/** What a write may do within its transaction. */
export interface Records {
  state(name: string, version: string): RecordState | undefined;
  latest(name: string): RecordState | undefined;
  /** every version, the newest publication first */
  states(name: string): RecordState[];
  count(name: string): number;
  /** of the documents of all versions */
  bytes(name: string): number;
  insert(state: RecordState, document: string): void;
  replaceDocument(state: RecordState, document: string): void;
  /** of several states of one name, the one that loses `isLatest` has to come first */
  saveState(state: RecordState): void;
  /** finished JSON text; the record must exist */
  record(name: string, version: string): string;
}

const RECORD = `'{"server":' || document || ',"_meta":{"${OFFICIAL_META}":' || meta || '}}' AS record`;
const WHOLE = 'records JOIN texts ON texts.id = records.text_id';
const TEXT_ID = '(SELECT text_id FROM records WHERE name = ? AND version = ?)';
const STATE = 'name, version, status, status_message, status_changed_at, published_at, updated_at, is_latest';

/** A page ends with the record that brings it here: a hundred may be of a megabyte each. */
const PAGE_CHARACTERS = 4 * 1024 * 1024;

/** SQLite's LIMIT without an end. */
const ALL = -1;

/** All SQL of the registry. Names and versions compare bytewise, as under collation C. */
export class Store {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  readonly #writes: GroupCommit;
  readonly #records: Records;

  /** @param committed called after each commit, before its writes are acknowledged */
  constructor(database: DatabaseSync, committed: Committed) {
    this.#database = database;
    this.#writes = new GroupCommit(database, committed);
    this.#records = {
      state: (name, version) => this.#state('name = ? AND version = ?', name, version),
      latest: (name) => this.#state('name = ? AND is_latest = 1', name),
      states: (name) => this.states(name),
      count: (name) => this.count(name),
      bytes: (name) => Number(this.#sql(`SELECT sum(octet_length(document)) AS bytes FROM ${WHOLE} WHERE name = ?`).get(name)?.['bytes']),
      insert: (state, document) => this.#insert(state, document),
      replaceDocument: (state, document) => this.#replaceDocument(state, document),
      saveState: (state) => this.#saveState(state),
      record: (name, version) => this.version(name, version, true) ?? '',
    };
  }

  /**
   * Runs a write in a transaction shared with other requests; resolves when it is on disk.
   * @throws what `work` throws, with its changes undone
   */
  write<T>(work: (records: Records) => T): Promise<T> {
    return this.#writes.run(() => work(this.#records));
  }

  list(query: ListQuery): Page {
    const { where, values } = conditionsOf(query);
    // The narrow table decides which records are on the page; only their texts are read.
    const index = query.onlyLatest ? 'INDEXED BY one_latest' : '';
    const keys = `SELECT name, version, text_id FROM records ${index} ${where} ORDER BY name, version LIMIT ?`;
    const sql = `SELECT name, version, ${RECORD} FROM (${keys}) CROSS JOIN texts ON texts.id = text_id ORDER BY name, version`;
    const records: string[] = [];
    let characters = 0;
    for (const row of this.#sql(sql).iterate(...values, query.limit)) {
      const record = recordOf(row);
      records.push(record);
      characters += record.length;
      if (records.length === query.limit || characters >= PAGE_CHARACTERS) {
        return { records, next: { name: String(row['name']), version: String(row['version']) } };
      }
    }
    return { records, next: undefined };
  }

  /** Finished JSON texts, the newest publication first. */
  versions(name: string, includeDeleted: boolean): string[] {
    const sql = `SELECT ${RECORD} FROM ${WHOLE} WHERE name = ? ${includeDeleted ? '' : "AND status <> 'deleted'"} ORDER BY published_at DESC`;
    return this.#sql(sql).all(name).map(recordOf);
  }

  /** The newest publication first, at most `limit` of them. */
  states(name: string, limit = ALL): RecordState[] {
    return this.#sql(`SELECT ${STATE} FROM records WHERE name = ? ORDER BY published_at DESC LIMIT ?`).all(name, limit).map(stateOf);
  }

  /** The latest record of each name that changed after `since`, deleted ones included. Every change of a name gives one of its records a later time. */
  latestChangedAfter(since: Micros): LatestRecord[] {
    const changed = since < 0 ? '' : 'AND name IN (SELECT name FROM records WHERE updated_at > ?)';
    const sql = `SELECT name, version, status, status_message AS statusMessage FROM records INDEXED BY one_latest WHERE is_latest = 1 ${changed}`;
    return this.#sql(sql).all(...(since < 0 ? [] : [since])) as unknown as LatestRecord[];
  }

  /** The document of the latest record of every name, deleted ones included. */
  *latestDocuments(): Generator<{ readonly name: string; readonly document: string }> {
    const sql = `SELECT name, document FROM records INDEXED BY one_latest CROSS JOIN texts ON texts.id = text_id WHERE is_latest = 1`;
    for (const row of this.#sql(sql).iterate()) yield { name: String(row['name']), document: String(row['document']) };
  }

  /** Versions of a name, deleted ones included. */
  count(name: string): number {
    return Number(this.#sql('SELECT count(*) AS count FROM records WHERE name = ?').get(name)?.['count']);
  }

  /** Finished JSON text. `latest` is a version like any other here. */
  version(name: string, version: string, includeDeleted: boolean): string | undefined {
    return this.#one('name = ? AND version = ?', includeDeleted, name, version);
  }

  latest(name: string, includeDeleted: boolean): string | undefined {
    return this.#one('name = ? AND is_latest = 1', includeDeleted, name);
  }

  /** How many records there are in each status. */
  counts(): Map<string, number> {
    const rows = this.#sql('SELECT status, count(*) AS count FROM records GROUP BY status').all();
    return new Map(rows.map((row) => [String(row['status']), Number(row['count'])]));
  }

  /** The latest time in any record, 0 when there is none. */
  lastTime(): Micros {
    return Number(this.#sql('SELECT max(updated_at) AS last FROM records').get()?.['last'] ?? 0);
  }

  /** Commits what is waiting; afterwards the database may be closed. */
  flush(): void {
    this.#writes.flush();
  }

  #one(where: string, includeDeleted: boolean, ...values: string[]): string | undefined {
    const row = this.#sql(`SELECT ${RECORD} FROM ${WHOLE} WHERE ${where} ${includeDeleted ? '' : "AND status <> 'deleted'"}`).get(
      ...values,
    );
    return row && recordOf(row);
  }

  #state(where: string, ...values: string[]): RecordState | undefined {
    const row = this.#sql(`SELECT ${STATE} FROM records WHERE ${where}`).get(...values);
    return row && stateOf(row);
  }

  #insert(state: RecordState, document: string): void {
    const { lastInsertRowid } = this.#sql('INSERT INTO texts (document, meta) VALUES (?, ?)').run(document, metaText(state));
    this.#sql(`INSERT INTO records (${STATE}, text_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`).run(
      state.name,
      state.version,
      state.status,
      state.statusMessage,
      state.statusChangedAt,
      state.publishedAt,
      state.updatedAt,
      Number(state.isLatest),
      lastInsertRowid,
    );
  }

  #replaceDocument(state: RecordState, document: string): void {
    const { updatedAt, name, version } = state;
    this.#sql('UPDATE records SET updated_at = ? WHERE name = ? AND version = ?').run(updatedAt, name, version);
    this.#sql(`UPDATE texts SET document = ?, meta = ? WHERE id = ${TEXT_ID}`).run(document, metaText(state), name, version);
  }

  #saveState(state: RecordState): void {
    const sql = `UPDATE records SET status = ?, status_message = ?, status_changed_at = ?, updated_at = ?, is_latest = ?
                 WHERE name = ? AND version = ?`;
    const { status, statusMessage, statusChangedAt, updatedAt, isLatest, name, version } = state;
    this.#sql(sql).run(status, statusMessage, statusChangedAt, updatedAt, Number(isLatest), name, version);
    this.#sql(`UPDATE texts SET meta = ? WHERE id = ${TEXT_ID}`).run(metaText(state), name, version);
  }

  /** Prepared once per text; conditions make a few dozen texts, values none. */
  #sql(text: string): StatementSync {
    const known = this.#statements.get(text) ?? this.#database.prepare(text);
    this.#statements.set(text, known);
    return known;
  }
}

interface Condition {
  readonly sql: string;
  readonly values: readonly (string | number)[];
}

function conditionsOf({ after, updatedSince, search, version, onlyLatest, includeDeleted }: ListQuery): {
  where: string;
  values: (string | number)[];
} {
  const conditions: Condition[] = [];
  if (after !== undefined) conditions.push(beyond(after));
  if (updatedSince !== undefined) conditions.push({ sql: 'updated_at > ?', values: [updatedSince] });
  // Names are ASCII, so lower() sees all of their letters.
  if (search !== undefined) conditions.push({ sql: 'instr(lower(name), ?) > 0', values: [search.toLowerCase()] });
  if (version !== undefined) conditions.push({ sql: 'version = ?', values: [version] });
  if (onlyLatest) conditions.push({ sql: 'is_latest = 1', values: [] });
  if (!includeDeleted) conditions.push({ sql: "status <> 'deleted'", values: [] });
  return {
    where: conditions.length === 0 ? '' : `WHERE ${conditions.map(({ sql }) => sql).join(' AND ')}`,
    values: conditions.flatMap(({ values }) => values),
  };
}

function beyond({ name, version }: { readonly name: string; readonly version?: string }): Condition {
  return version === undefined ? { sql: 'name > ?', values: [name] } : { sql: '(name, version) > (?, ?)', values: [name, version] };
}

type Row = Record<string, SQLOutputValue>;

function recordOf(row: Row): string {
  return String(row['record']);
}

function stateOf(row: Row): RecordState {
  return {
    name: String(row['name']),
    version: String(row['version']),
    status: row['status'] as RecordStatus,
    statusMessage: row['status_message'] as string | null,
    statusChangedAt: Number(row['status_changed_at']),
    publishedAt: Number(row['published_at']),
    updatedAt: Number(row['updated_at']),
    isLatest: row['is_latest'] === 1,
  };
}

function metaText(state: RecordState): string {
  const meta: OfficialMeta = {
    status: state.status,
    statusChangedAt: formatTime(state.statusChangedAt),
    ...(state.statusMessage !== null && { statusMessage: state.statusMessage }),
    publishedAt: formatTime(state.publishedAt),
    updatedAt: formatTime(state.updatedAt),
    isLatest: state.isLatest,
  };
  return JSON.stringify(meta);
}
