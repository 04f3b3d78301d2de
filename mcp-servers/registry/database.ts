import { closeSync, existsSync, mkdirSync, openSync, readFileSync, readSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** SQLite's application_id of our files: `tyrg` in ASCII. */
const APPLICATION_ID = 0x74797267;

/** Each step lifts a file from version N to N + 1, in one transaction; the file's `user_version` counts the steps done. Only ever append. */
const migrations: readonly string[] = [
  `CREATE TABLE records (
     name TEXT NOT NULL,
     version TEXT NOT NULL,
     status TEXT NOT NULL CHECK (status IN ('active', 'deprecated', 'deleted')),
     status_message TEXT,
     status_changed_at INTEGER NOT NULL, -- times are microseconds since 1970
     published_at INTEGER NOT NULL,
     updated_at INTEGER NOT NULL,
     is_latest INTEGER NOT NULL CHECK (is_latest IN (0, 1)),
     document TEXT NOT NULL, -- server.json in the registry's normal form
     meta TEXT NOT NULL, -- the columns above as the wire shows them, so that answers are joined, not built
     PRIMARY KEY (name, version)
   ) STRICT, WITHOUT ROWID;
   CREATE UNIQUE INDEX one_latest ON records (name) WHERE is_latest = 1;
   CREATE INDEX listing ON records (name, version, status, is_latest, updated_at, published_at);`,
];

/** A file that cannot serve as this registry's database. It was not changed. */
export class DatabaseFileError extends Error {
  override readonly name = 'DatabaseFileError';

  constructor(file: string, problem: string, options?: ErrorOptions) {
    super(`DATABASE_FILE ${file}: ${problem}`, options);
  }
}

/** Files open in this process: were one of them only looked at again, closing it would drop the process's lock (POSIX locks are so). */
const held = new Set<string>();

/** The one connection to a registry's database, and the way to let go of it. */
export interface OpenDatabase {
  readonly database: DatabaseSync;
  close(): void;
}

/**
 * Opens the file, creating it with its folder when missing, lifts an older one to today's schema, and keeps every other process out for
 * as long as it is open: the cache of answers relies on nobody else writing. The operating system drops the lock when this process dies.
 * A file that is damaged, not ours or newer than this program is refused before anything is written to it.
 * @throws DatabaseFileError
 */
export function openDatabase(file: string): OpenDatabase {
  try {
    mkdirSync(dirname(file), { recursive: true });
    const real = existsSync(file) ? realpathSync(file) : resolve(file);
    if (held.has(real)) throw inUse(file);
    if (!isNew(file)) inspect(file);
    return claim(file, real);
  } catch (error) {
    throw explain(file, error);
  }
}

function claim(file: string, real: string): OpenDatabase {
  const database = new DatabaseSync(file);
  try {
    // Before the first read: then even WAL needs no shared memory, and the lock lasts until this process closes or dies.
    database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF; PRAGMA cache_size = -16000');
    // What a savepoint may have to undo is of no use after a crash: it need not be written to a file.
    database.exec('PRAGMA temp_store = MEMORY');
    migrate(database);
    database.exec('PRAGMA journal_mode = WAL');
    writeFileSync(holderFile(file), JSON.stringify({ pid: process.pid, host: hostname(), since: new Date().toISOString() }));
  } catch (error) {
    database.close();
    throw error;
  }
  held.add(real);
  return {
    database,
    close: () => {
      held.delete(real);
      rmSync(holderFile(file), { force: true });
      database.close();
    },
  };
}

/** SQLite's file header: 16 bytes of magic; the application_id at byte 68. */
const HEADER_BYTES = 100;
const MAGIC = 'SQLite format 3\0';
const APPLICATION_ID_AT = 68;

function headerOf(file: string): Buffer {
  const descriptor = openSync(file, 'r');
  try {
    const header = Buffer.alloc(HEADER_BYTES);
    return header.subarray(0, readSync(descriptor, header, 0, HEADER_BYTES, 0));
  } finally {
    closeSync(descriptor);
  }
}

/** An empty file is a creation that a crash cut short. */
function isNew(file: string): boolean {
  return !existsSync(file) || headerOf(file).length === 0;
}

/** Looks without a write: first at the bytes, since SQLite itself leaves files beside a database that it only reads. */
function inspect(file: string): void {
  const header = headerOf(file);
  if (header.length < HEADER_BYTES || header.toString('latin1', 0, MAGIC.length) !== MAGIC) {
    throw new DatabaseFileError(file, 'not a SQLite database; name another file, or move this one away to start an empty registry');
  }
  if (header.readUInt32BE(APPLICATION_ID_AT) !== APPLICATION_ID) {
    throw new DatabaseFileError(file, 'a SQLite database of another program; name another file');
  }
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const faults = database
      .prepare('PRAGMA quick_check(3)')
      .all()
      .map((row) => String(Object.values(row)[0]));
    if (faults.join() !== 'ok') throw damaged(file, faults.join('; ').replaceAll(/\s+/g, ' '));
    const version = versionOf(database);
    if (version > migrations.length) {
      throw new DatabaseFileError(
        file,
        `its schema is version ${version}, this program knows up to ${migrations.length}; run a newer toolyard`,
      );
    }
  } catch (error) {
    // A creation that a crash cut short: whoever opens the file for writing rolls it back, as the next step does.
    if (resultCode(error) !== SQLITE_READONLY) throw error;
  } finally {
    database.close();
  }
}

/** The application_id goes in with the first table, before WAL: from its first byte on, the file says whose it is. */
function migrate(database: DatabaseSync): void {
  for (const [version, step] of [...migrations.entries()].slice(versionOf(database))) {
    database.exec(`BEGIN EXCLUSIVE; PRAGMA application_id = ${APPLICATION_ID}; ${step}; PRAGMA user_version = ${version + 1}; COMMIT`);
  }
}

function versionOf(database: DatabaseSync): number {
  return Number(database.prepare('PRAGMA user_version').get()?.['user_version']);
}

/** SQLite's primary result codes. */
const SQLITE_BUSY = 5;
const SQLITE_READONLY = 8;
const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;

function resultCode(error: unknown): number {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode & 0xff : 0;
}

function explain(file: string, error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof DatabaseFileError) return error;
  switch (resultCode(error)) {
    case SQLITE_BUSY:
      return inUse(file, error);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return damaged(file, error.message, error);
    default:
      return new DatabaseFileError(file, `cannot be opened: ${error.message}`, { cause: error });
  }
}

function inUse(file: string, cause?: unknown): DatabaseFileError {
  return new DatabaseFileError(file, `in use by ${holderOf(file)}; stop that one, or name another file`, { cause });
}

function damaged(file: string, how: string, cause?: unknown): DatabaseFileError {
  return new DatabaseFileError(file, `damaged (${how}); restore a copy, or move it away to start an empty registry`, { cause });
}

/** The lock is the truth; this file beside the database only says who holds it. */
function holderFile(file: string): string {
  return `${file}-holder`;
}

function holderOf(file: string): string {
  try {
    const { pid, host, since } = JSON.parse(readFileSync(holderFile(file), 'utf8')) as Record<string, unknown>;
    return `process ${String(pid)} on ${String(host)}, since ${String(since)}`;
  } catch {
    return 'another process';
  }
}
