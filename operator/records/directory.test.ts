import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RawDeclaration } from './declaration.ts';
import { DirectorySource } from './directory.ts';
import { MAX_DOCUMENT_BYTES } from './document.ts';
import type { Snapshot } from './source.ts';

let root: string;
let catalog: string;
let source: DirectorySource;
let snapshots: Snapshot[];

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'toolyard-directory-'));
  catalog = join(root, 'catalog');
  await mkdir(catalog);
  snapshots = [];
  source = new DirectorySource({ directory: catalog, credentials: join(root, 'auth'), log: pino({ level: 'silent' }) });
});

afterEach(async () => {
  await source.close();
  await rm(root, { recursive: true, force: true });
});

async function start(): Promise<void> {
  await source.start((snapshot) => snapshots.push(snapshot));
}

async function put(folder: string, content: string | Uint8Array, file = 'server.json'): Promise<void> {
  await mkdir(join(catalog, folder), { recursive: true });
  await writeFile(join(catalog, folder, file), content);
}

/** Old enough not to be mistaken for a file that is still being written. */
async function putOld(folder: string, content: string | Uint8Array): Promise<void> {
  await put(folder, content);
  await utimes(join(catalog, folder, 'server.json'), 1, 1);
}

function latest(): Snapshot {
  const snapshot = snapshots.at(-1);
  if (snapshot === undefined) throw new Error('nothing was read yet');
  return snapshot;
}

function declared(folder: string): RawDeclaration | undefined {
  return latest().declarations.find((declaration) => declaration.source === `catalog/${folder}/server.json`);
}

async function until(look: () => boolean): Promise<void> {
  const end = performance.now() + 8_000;
  while (!look()) {
    if (performance.now() > end) throw new Error(`not in time: ${JSON.stringify(latest()).slice(0, 500)}`);
    await delay(5);
  }
}

test('each directory with a server.json is a declaration, named by the catalog and its own name', async () => {
  await put('b', '{"b":1}');
  await put('a', '{"a":1}');
  await put('a', '{"endpoint":"http://127.0.0.1:1"}', 'toolyard.json');
  await mkdir(join(catalog, 'empty'));
  await put('.hidden', '{}');
  await writeFile(join(catalog, 'README.md'), 'no declaration');
  await start();
  expect(latest()).toMatchObject({
    declarations: [
      { source: 'catalog/a/server.json', document: { value: { a: 1 } }, settings: { value: { endpoint: 'http://127.0.0.1:1' } } },
      { source: 'catalog/b/server.json', document: { value: { b: 1 } }, settings: { value: {} } },
    ],
  });
  expect(latest().incomplete).toBeUndefined();
});

test('files that come, change and go are noticed', async () => {
  await start();
  await put('a', '{"v":1}');
  await until(() => declared('a') !== undefined);
  await put('a', '{"v":2}');
  await until(() => JSON.stringify(declared('a')?.document) === '{"value":{"v":2}}');
  await put('a', '{"probe":"off"}', 'toolyard.json');
  await until(() => JSON.stringify(declared('a')?.settings) === '{"value":{"probe":"off"}}');
  await rm(join(catalog, 'a', 'toolyard.json'));
  await until(() => JSON.stringify(declared('a')?.settings) === '{"value":{}}');
  await rm(join(catalog, 'a'), { recursive: true });
  await until(() => declared('a') === undefined);
  expect(latest()).toEqual({ declarations: [] });
});

test('what did not change is the same object, so that nobody looks at it again', async () => {
  await put('a', '{}');
  await start();
  const before = declared('a');
  await put('b', '{}');
  await until(() => declared('b') !== undefined);
  expect(declared('a')).toBe(before);
});

test.each([
  ['no JSON', '{"name": }', 'InvalidJson'],
  ['nothing', '', 'InvalidJson'],
  ['no UTF-8', new Uint8Array([0x22, 0xff, 0x22]), 'InvalidJson'],
  ['5 MB', `"${'x'.repeat(5_000_000)}"`, 'TooLarge'],
  ['one byte too many', `"${'x'.repeat(MAX_DOCUMENT_BYTES - 1)}"`, 'TooLarge'],
])('a file with %s is there, but unusable', async (_what, content, unusable) => {
  await putOld('a', content);
  await putOld('b', '{}');
  await start();
  expect(declared('a')?.document).toMatchObject({ unusable });
  expect(declared('b')?.document).toEqual({ value: {} });
});

test('what is no file is not waited for: a pipe, a directory, a device', async () => {
  await mkdir(join(catalog, 'pipe'));
  execFileSync('mkfifo', [join(catalog, 'pipe', 'server.json')]);
  await mkdir(join(catalog, 'directory', 'server.json'), { recursive: true });
  await mkdir(join(catalog, 'device'));
  await symlink('/dev/zero', join(catalog, 'device', 'server.json'));
  await mkdir(join(catalog, 'loop'));
  await symlink('server.json', join(catalog, 'loop', 'server.json'));
  await start();
  const reasons = latest().declarations.map(({ document }) => ('unusable' in document ? document.unusable : 'read'));
  expect(reasons).toEqual(['Unreadable', 'Unreadable', 'Unreadable', 'Unreadable']);
});

test('links are followed, and a link that is swapped is noticed, as in a mounted ConfigMap', async () => {
  await mkdir(join(root, 'one'));
  await mkdir(join(root, 'two'));
  await writeFile(join(root, 'one', 'server.json'), '{"v":1}');
  await writeFile(join(root, 'two', 'server.json'), '{"v":2}');
  await symlink(join(root, 'one'), join(catalog, 'a'));
  await start();
  expect(declared('a')?.document).toEqual({ value: { v: 1 } });
  await symlink(join(root, 'two'), join(root, 'next'));
  await rename(join(root, 'next'), join(catalog, 'a'));
  await until(() => JSON.stringify(declared('a')?.document) === '{"value":{"v":2}}');
});

test('a file that is still being written does not replace what was there, and nothing counts as gone meanwhile', async () => {
  await putOld('a', '{"v":1}');
  await start();
  await put('a', '{"v":');
  await until(() => latest().incomplete !== undefined);
  expect(declared('a')?.document).toEqual({ value: { v: 1 } });
  await until(() => latest().incomplete === undefined);
  expect(declared('a')?.document).toMatchObject({ unusable: 'InvalidJson' });
});

test('a catalog that vanishes is not an empty one', async () => {
  await put('a', '{}');
  await start();
  await rename(catalog, join(root, 'away'));
  await until(() => latest().incomplete !== undefined);
  expect(declared('a')).toBeDefined();
  await rename(join(root, 'away'), catalog);
  await until(() => latest().incomplete === undefined);
  expect(declared('a')).toBeDefined();
});

test('a catalog that is not there yet is waited for', async () => {
  await rm(catalog, { recursive: true });
  await start();
  expect(latest()).toMatchObject({ declarations: [], incomplete: expect.stringContaining('ENOENT') as string });
  await put('a', '{}');
  await until(() => declared('a') !== undefined && latest().incomplete === undefined);
});

test('credentials are files of their own, and one that is malformed is none', async () => {
  await mkdir(join(root, 'auth'));
  await writeFile(join(root, 'auth', 'weather.json'), '{"authorization":"Bearer x","origin":"https://weather.example/"}');
  await writeFile(join(root, 'auth', 'broken.json'), '{"authorization":"Bearer x"}');
  expect(await source.credentials({ name: 'weather' })).toEqual({ authorization: 'Bearer x', origin: 'https://weather.example' });
  expect(await source.credentials({ name: 'broken' })).toBe('missing');
  expect(await source.credentials({ name: 'absent' })).toBe('missing');
});

test('a broken file from the future is a broken file after a while, and others are complete without it', async () => {
  await put('weather', '{"name": ');
  const future = Date.now() / 1000 + 86_400;
  await utimes(join(catalog, 'weather', 'server.json'), future, future);
  await start();
  expect(latest().incomplete).toContain('weather');
  await until(() => latest().incomplete === undefined);
  expect(declared('weather')?.document).toMatchObject({ unusable: 'InvalidJson' });
});

test('credentials that are a pipe are none, and nobody waits for them', async () => {
  await mkdir(join(root, 'auth'));
  execFileSync('mkfifo', [join(root, 'auth', 'weather.json')]);
  expect(await source.credentials({ name: 'weather' })).toBe('missing');
});
