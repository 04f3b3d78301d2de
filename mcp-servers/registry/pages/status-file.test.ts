import { execFileSync } from 'node:child_process';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLog } from '../../../lib/log.ts';
import { StatusFile } from './status-file.ts';
import { declarationOf, statusOf } from './testing.ts';

let directory: string;
let path: string;
let changes: number;
let file: StatusFile | undefined;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'toolyard-status-'));
  path = join(directory, 'status.json');
  changes = 0;
});

afterEach(async () => {
  file?.close();
  await rm(directory, { recursive: true });
});

async function watch(maxBytes?: number): Promise<StatusFile> {
  const changed = () => (changes += 1);
  file = await StatusFile.watch({ path, changed, log: createLog('registry', 'silent'), ...(maxBytes !== undefined && { maxBytes }) });
  return file;
}

test('a file that comes, changes and goes is followed, each change told once', async () => {
  const watched = await watch();
  expect(watched.status).toBeUndefined();
  await writeFile(path, statusOf(declarationOf('a.b/one', 'Pending')));
  await watched.look();
  await watched.look();
  expect(watched.status?.declarations.map(({ name }) => name)).toEqual(['a.b/one']);
  await writeFile(`${path}.new`, statusOf(declarationOf('a.b/one', 'Pending'), declarationOf('a.b/two', 'Refused')));
  await rename(`${path}.new`, path);
  await watched.look();
  expect(watched.status?.declarations.map(({ name }) => name)).toEqual(['a.b/one', 'a.b/two']);
  await rm(path);
  await watched.look();
  await watched.look();
  expect([watched.status, changes]).toEqual([undefined, 4]);
});

test('it is noticed without being asked', async () => {
  const watched = await watch();
  await writeFile(path, statusOf());
  await expect.poll(() => watched.status, { timeout: 5_000 }).toMatchObject({ declarations: [] });
});

test.each([
  ['half of it', statusOf(declarationOf('a.b/one', 'Pending')).slice(0, 100)],
  ['another version', JSON.stringify({ version: 2, updatedAt: '', declarations: [] })],
  ['endless nesting', '['.repeat(500_000)],
  ['nothing', ''],
])('%s is no status', async (_, text) => {
  await writeFile(path, text);
  expect((await watch()).status).toBeUndefined();
});

test('a file that is too large, a directory and a pipe are no status, and keep nobody waiting', async () => {
  await writeFile(path, statusOf());
  expect((await watch(10)).status).toBeUndefined();
  file?.close();
  path = directory;
  expect((await watch()).status).toBeUndefined();
  file?.close();
  path = join(directory, 'pipe');
  execFileSync('mkfifo', [path]);
  expect((await watch()).status).toBeUndefined();
});

test('a declaration in another shape hides no other', async () => {
  const odd = [null, 7, {}, { ...declarationOf('a.b/odd', 'Pending'), state: '<script>' }];
  await writeFile(path, JSON.stringify({ version: 1, updatedAt: 'now', declarations: [...odd, declarationOf('a.b/one', 'Pending')] }));
  expect((await watch()).status?.declarations.map(({ name }) => name)).toEqual(['a.b/one']);
});
