import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openDatabase, type OpenDatabase } from './database.ts';
import { createReadiness } from './readiness.ts';

let directory: string;
let file: string;
let opened: OpenDatabase;
let now: number;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'toolyard-readiness-'));
  file = join(directory, 'registry.sqlite');
  opened = openDatabase(file);
  now = 0;
});

afterEach(() => {
  opened.close();
  rmSync(directory, { recursive: true });
});

test('a database that can be read and not written is not ready, and ready again soon after it takes writes', () => {
  const ready = createReadiness(opened, () => now);
  expect(ready()).toEqual({ ready: true });
  opened.database.exec('PRAGMA query_only = ON');
  now += 10_000;
  const problem = 'cannot be written: attempt to write a readonly database; make the file and its folder writable';
  expect(ready()).toEqual({ ready: false, reason: `DATABASE_FILE ${file}: ${problem}` });
  opened.database.exec('PRAGMA query_only = OFF');
  now += 1000;
  expect(ready()).toEqual({ ready: true });
});

test('however often it is asked, the disk is not', () => {
  const ready = createReadiness(opened, () => now);
  expect(ready()).toEqual({ ready: true });
  opened.database.exec('PRAGMA query_only = ON');
  for (; now < 10_000; now += 1) expect(ready()).toEqual({ ready: true });
  expect(ready().ready).toBe(false);
  opened.database.exec('PRAGMA query_only = OFF');
  expect(ready().ready).toBe(false);
});

test('a file that was deleted or replaced under the registry is told, since what is written to it will be lost', () => {
  const ready = createReadiness(opened, () => now);
  renameSync(file, `${file}.away`);
  expect(ready()).toMatchObject({
    reason: `DATABASE_FILE ${file}: gone while in use; what is published now will be lost: restart the registry`,
  });
  writeFileSync(file, 'other');
  now += 1000;
  expect(ready()).toMatchObject({ reason: expect.stringContaining('replaced by another file while in use') });
  renameSync(`${file}.away`, file);
  now += 1000;
  expect(ready()).toEqual({ ready: true });
});
