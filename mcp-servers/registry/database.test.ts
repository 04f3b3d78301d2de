import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { DatabaseFileError, openDatabase } from './database.ts';
import { Store } from './store.ts';

let directory: string;
let file: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'toolyard-database-'));
  file = join(directory, 'registry.sqlite');
});

afterEach(() => rmSync(directory, { recursive: true }));

const state = {
  name: 'a.b/x',
  status: 'active',
  statusMessage: null,
  statusChangedAt: 1,
  publishedAt: 1,
  updatedAt: 1,
  isLatest: false,
} as const;

/** A registry's file with so many records, closed again. */
async function fill(records: number): Promise<void> {
  const opened = openDatabase(file);
  const store = new Store(opened.database, () => {});
  await store.write((writing) => {
    for (let index = 0; index < records; index += 1)
      writing.insert({ ...state, version: `1.0.${index}` }, JSON.stringify({ text: 'x'.repeat(500) }));
  });
  opened.close();
}

function refusal(): string {
  try {
    openDatabase(file).close();
  } catch (error) {
    if (error instanceof DatabaseFileError) return error.message;
    throw error;
  }
  return 'it was opened';
}

test('a missing file is created with its folder, and keeps what was written', async () => {
  file = join(directory, 'deep', 'er', 'registry.sqlite');
  await fill(3);
  const opened = openDatabase(file);
  expect(new Store(opened.database, () => {}).versions('a.b/x', false)).toHaveLength(3);
  opened.close();
});

test('closed, it is one file', async () => {
  await fill(10);
  expect(readdirSync(directory)).toEqual(['registry.sqlite']);
});

test('the log does not stay large after a large transaction', async () => {
  const opened = openDatabase(file);
  const store = new Store(opened.database, () => {});
  const write = (version: string, bytes: number) =>
    store.write((writing) => writing.insert({ ...state, version }, JSON.stringify({ text: 'x'.repeat(bytes) })));
  await write('large', 40_000_000);
  expect(statSync(`${file}-wal`).size).toBeGreaterThan(40_000_000);
  await write('small', 1);
  await write('smaller', 1);
  expect(statSync(`${file}-wal`).size).toBeLessThan(17_000_000);
  opened.close();
});

test('a folder that takes no more files does not keep the registry from its records', async () => {
  const opened = openDatabase(file);
  await new Store(opened.database, () => {}).write((writing) => writing.insert({ ...state, version: '1.0.0' }, '{}'));
  // What a killed process leaves; directories stand where files would have to be made.
  const left = join(directory, 'left.sqlite');
  copyFileSync(file, left);
  copyFileSync(`${file}-wal`, `${left}-wal`);
  opened.close();
  mkdirSync(`${left}-shm`);
  mkdirSync(`${left}-holder`);
  const again = openDatabase(left);
  expect(new Store(again.database, () => {}).versions('a.b/x', false)).toHaveLength(1);
  again.database.close();
});

test('a file of the first release keeps its records, and takes new ones', async () => {
  const old = new DatabaseSync(file);
  old.exec(`PRAGMA application_id = 0x74797267; PRAGMA user_version = 1;
    CREATE TABLE records (
      name TEXT NOT NULL, version TEXT NOT NULL, status TEXT NOT NULL, status_message TEXT, status_changed_at INTEGER NOT NULL,
      published_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, is_latest INTEGER NOT NULL, document TEXT NOT NULL, meta TEXT NOT NULL,
      PRIMARY KEY (name, version)
    ) STRICT, WITHOUT ROWID;
    CREATE UNIQUE INDEX one_latest ON records (name) WHERE is_latest = 1;
    CREATE INDEX listing ON records (name, version, status, is_latest, updated_at, published_at)`);
  const add = old.prepare("INSERT INTO records VALUES (?, ?, 'active', NULL, 1, ?, ?, ?, ?, ?)");
  for (const [index, version] of ['2', '10', '1'].entries())
    add.run('a.b/x', version, index, index, Number(index === 2), `{"n":${index}}`, '{}');
  old.close();

  const opened = openDatabase(file);
  const store = new Store(opened.database, () => {});
  await store.write((writing) => writing.insert({ ...state, name: 'a.b/y', version: '1' }, '{"n":3}'));
  const { records } = store.list({ limit: 10, onlyLatest: false, includeDeleted: true });
  expect(records.map((record) => (JSON.parse(record) as { server: { n: number } }).server.n)).toEqual([2, 1, 0, 3]);
  expect(store.latest('a.b/x', false)).toContain('"n":2');
  expect(store.versions('a.b/x', false)).toHaveLength(3);
  expect(store.lastTime()).toBe(Math.max(2, state.updatedAt));
  opened.close();
});

test('an empty file is a new one', async () => {
  writeFileSync(file, '');
  await fill(1);
  expect(refusal()).toBe('it was opened');
});

test.each(['not a database at all', 'SQLite format 3', 'x'.repeat(5000)])(
  'a file that is no database is refused and left alone',
  (content) => {
    writeFileSync(file, content);
    expect(refusal()).toContain(`${file}: not a SQLite database`);
    expect(readFileSync(file, 'utf8')).toBe(content);
    expect(readdirSync(directory)).toEqual(['registry.sqlite']);
  },
);

test('a database of another program is refused and left alone', () => {
  const foreign = new DatabaseSync(file);
  foreign.exec('PRAGMA journal_mode = WAL; CREATE TABLE records (x); PRAGMA user_version = 1');
  foreign.close();
  const before = readFileSync(file);
  expect(refusal()).toContain(`${file}: a SQLite database of another program`);
  expect(readFileSync(file).equals(before)).toBe(true);
  expect(readdirSync(directory)).toEqual(['registry.sqlite']);
});

test('a damaged file is refused and left alone', async () => {
  await fill(200);
  const bytes = readFileSync(file);
  bytes.fill(0xa5, 8192, 16_384);
  writeFileSync(file, bytes);
  expect(refusal()).toMatch(/registry\.sqlite: damaged \(.+\); restore a copy/);
  expect(readFileSync(file).equals(bytes)).toBe(true);
});

test('a file that was cut short is refused and left alone', async () => {
  await fill(200);
  truncateSync(file, 20_000);
  const bytes = readFileSync(file);
  expect(refusal()).toContain('registry.sqlite: damaged');
  expect(readFileSync(file).equals(bytes)).toBe(true);
});

test('a file with a newer schema is refused and left alone', async () => {
  await fill(1);
  const newer = new DatabaseSync(file);
  newer.exec('PRAGMA user_version = 99; PRAGMA journal_mode = DELETE');
  newer.close();
  const bytes = readFileSync(file);
  expect(refusal()).toMatch(/its schema is version 99, this program knows up to \d+; run a newer toolyard/);
  expect(readFileSync(file).equals(bytes)).toBe(true);
});

test('a file in use is refused, naming who has it, until it is let go', async () => {
  const opened = openDatabase(file);
  expect(refusal()).toMatch(new RegExp(`${file}: in use by process ${process.pid} on .+, since 20.+; stop that one`));
  opened.close();
  expect(refusal()).toBe('it was opened');
  // A database that exists is locked as well, before anything is written to it.
  const again = openDatabase(file);
  expect(refusal()).toContain('in use by');
  expect(() => new DatabaseSync(file, { readOnly: true }).prepare('SELECT * FROM records').all()).toThrow('locked');
  again.close();
});

test('a creation that a crash cut short is begun again', () => {
  // A rollback journal that is hot, as a dying process leaves it: copied while its transaction has pages in the file already.
  const ours = 0x74797267;
  const dying = new DatabaseSync(file);
  dying.exec(`PRAGMA journal_mode = DELETE; PRAGMA cache_size = 1; PRAGMA application_id = ${ours}; BEGIN; CREATE TABLE filler (x)`);
  for (let index = 0; index < 200; index += 1) dying.exec(`INSERT INTO filler VALUES (zeroblob(3000))`);
  const copy = join(directory, 'copy.sqlite');
  copyFileSync(file, copy);
  copyFileSync(`${file}-journal`, `${copy}-journal`);
  dying.close();
  file = copy;
  expect(existsSync(`${copy}-journal`)).toBe(true);
  expect(refusal()).toBe('it was opened');
});

test('two latest records of one name cannot be stored', async () => {
  const opened = openDatabase(file);
  const store = new Store(opened.database, () => {});
  await store.write((records) => records.insert({ ...state, version: '1', isLatest: true }, '{}'));
  await expect(store.write((records) => records.insert({ ...state, version: '2', isLatest: true }, '{}'))).rejects.toThrow(
    'UNIQUE constraint failed',
  );
  opened.close();
});
