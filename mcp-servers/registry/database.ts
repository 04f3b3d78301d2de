import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
  type Stats,
} from 'node:fs';
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
  // Texts apart, one after the other: beside its key each made a write of its own, in pages that were full after four of them.
  `ALTER TABLE records RENAME TO whole;
   DROP INDEX one_latest;
   DROP INDEX listing;
   CREATE TABLE texts (
     id INTEGER PRIMARY KEY,
     document TEXT NOT NULL, -- server.json in the registry's normal form
     meta TEXT NOT NULL -- the columns of its record as the wire shows them, so that answers are joined, not built
   ) STRICT;
   CREATE TABLE records (
     name TEXT NOT NULL,
     version TEXT NOT NULL,
     status TEXT NOT NULL CHECK (status IN ('active', 'deprecated', 'deleted')),
     status_message TEXT,
     status_changed_at INTEGER NOT NULL, -- times are microseconds since 1970
     published_at INTEGER NOT NULL,
     updated_at INTEGER NOT NULL,
     is_latest INTEGER NOT NULL CHECK (is_latest IN (0, 1)),
     text_id INTEGER NOT NULL,
     PRIMARY KEY (name, version)
   ) STRICT, WITHOUT ROWID;
   INSERT INTO records
     SELECT name, version, status, status_message, status_changed_at, published_at, updated_at, is_latest,
       row_number() OVER (ORDER BY name, version)
     FROM whole;
   INSERT INTO texts SELECT text_id, document, meta FROM records JOIN whole USING (name, version) ORDER BY text_id;
   DROP TABLE whole;
   CREATE UNIQUE INDEX one_latest ON records (name) WHERE is_latest = 1;`,
];

/** A file that cannot serve as this registry's database, or no longer does. It was not changed. */
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
  /** Commits a change of nothing. @throws DatabaseFileError when the file cannot be written now, or is no longer where it was */
  tryWrite(): void;
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
    const known = isNew(file) || inspect(file);
    return claim(file, { real, known });
  } catch (error) {
    throw explain(file, error, 'cannot be opened');
  }
}

/** @param known whether the file is known to be sound and of a schema that this program knows */
function claim(file: string, { real, known }: { readonly real: string; readonly known: boolean }): OpenDatabase {
  const database = new DatabaseSync(file);
  try {
    // Before the first read: then even WAL needs no shared memory, and the lock lasts until this process closes or dies.
    database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF; PRAGMA cache_size = -16000');
    // What a savepoint may have to undo is of no use after a crash: it need not be written to a file.
    database.exec('PRAGMA temp_store = MEMORY');
    if (!known) requireSound(file, database);
    migrate(database);
    database.exec(`PRAGMA journal_mode = WAL; PRAGMA journal_size_limit = ${KEPT_LOG_BYTES}`);
  } catch (error) {
    database.close();
    throw error;
  }
  leaveNote(file);
  held.add(real);
  const opened = statSync(file);
  return {
    database,
    tryWrite: () => {
      requireInPlace(file, opened);
      try {
        for (let page = 0; page < PAGES_OF_A_PUBLISH; page++) {
          database.exec(`BEGIN IMMEDIATE; PRAGMA user_version = ${migrations.length}; COMMIT`);
        }
      } catch (error) {
        if (database.isTransaction) database.exec('ROLLBACK');
        throw explain(file, error, 'cannot be written');
      }
    },
    close: () => {
      held.delete(real);
      rmSync(holderFile(file), { force: true });
      database.close();
    },
  };
}

/** Where one page still fits, a publish may not: trying takes as much of the log as the smallest one does. */
const PAGES_OF_A_PUBLISH = 8;

/** What is written to a file that was deleted or replaced is gone when this process ends. */
function requireInPlace(file: string, opened: Stats): void {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found?.ino === opened.ino && found.dev === opened.dev) return;
  const problem = `${found === undefined ? 'gone' : 'replaced by another file'} while in use`;
  throw new DatabaseFileError(file, `${problem}; what is published now will be lost: restart the registry`);
}

/** The log stays this large for ever after; a large transaction makes it larger for a while only. */
const KEPT_LOG_BYTES = 16 * 1024 * 1024;

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

/**
 * Looks without a write: first at the bytes, since SQLite itself leaves files beside a database that it only reads.
 * @returns false when there was no room for those: the file has to be looked at after it was claimed, which needs none
 */
function inspect(file: string): boolean {
  const header = headerOf(file);
  if (header.length < HEADER_BYTES || header.toString('latin1', 0, MAGIC.length) !== MAGIC) {
    throw new DatabaseFileError(file, 'not a SQLite database; name another file, or move this one away to start an empty registry');
  }
  if (header.readUInt32BE(APPLICATION_ID_AT) !== APPLICATION_ID) {
    throw new DatabaseFileError(file, 'a SQLite database of another program; name another file');
  }
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    requireSound(file, database);
    return true;
  } catch (error) {
    const code = resultCode(error);
    if (code === SQLITE_IOERR || code === SQLITE_CANTOPEN) return false;
    // A creation that a crash cut short: whoever opens the file for writing rolls it back, as the next step does.
    if (code !== SQLITE_READONLY) throw error;
    return true;
  } finally {
    database.close();
  }
}

function requireSound(file: string, database: DatabaseSync): void {
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
const SQLITE_IOERR = 10;
const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
const SQLITE_CANTOPEN = 14;
const SQLITE_NOTADB = 26;

/** SQLite's code of an error; 0 when it comes from elsewhere. */
export function resultCode(error: unknown): number {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode & 0xff : 0;
}

const advice: Readonly<Record<number, string>> = {
  [SQLITE_READONLY]: '; make the file and its folder writable',
  [SQLITE_IOERR]: '; see whether the disk is full, read-only or failing',
  [SQLITE_FULL]: '; make room on its disk',
  [SQLITE_CANTOPEN]: '; see whether this user may write it and its folder, and whether the disk is full',
};

function explain(file: string, error: unknown, what: string): unknown {
  if (!(error instanceof Error) || error instanceof DatabaseFileError) return error;
  const code = resultCode(error);
  switch (code) {
    case SQLITE_BUSY:
      return inUse(file, error);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return damaged(file, error.message, error);
    default:
      return new DatabaseFileError(file, `${what}: ${error.message}${advice[code] ?? ''}`, { cause: error });
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

function leaveNote(file: string): void {
  try {
    writeFileSync(holderFile(file), JSON.stringify({ pid: process.pid, host: hostname(), since: new Date().toISOString() }));
  } catch {
    // A full disk has no room for it; records can still be read.
  }
}

function holderOf(file: string): string {
  try {
    const { pid, host, since } = JSON.parse(readFileSync(holderFile(file), 'utf8')) as Record<string, unknown>;
    return `process ${String(pid)} on ${String(host)}, since ${String(since)}`;
  } catch {
    return 'another process';
  }
}
