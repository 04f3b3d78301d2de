import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { documentOf, pathOf, SEED, send, tokenFor } from '../../mcp-servers/registry/testing.ts';
import { runRegistryProcess, startRegistryProcess, type RegistryProcess } from './registry-process.ts';

let directory: string;
let settings: Readonly<Record<string, string>>;
let running: RegistryProcess | undefined;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'toolyard-registry-process-'));
  await writeFile(join(directory, 'seed'), SEED);
  settings = { DATABASE_FILE: join(directory, 'data', 'registry.sqlite'), JWT_PRIVATE_KEY_FILE: join(directory, 'seed') };
});

afterEach(async () => {
  await running?.stop('SIGKILL');
  await rm(directory, { recursive: true });
});

test('a second process on the same file is refused, and told which one has it', async () => {
  running = await startRegistryProcess(settings);
  const second = await runRegistryProcess(settings);
  expect(second.code).toBe(1);
  expect(second.stderr).toContain(`${settings['DATABASE_FILE']}: in use by process ${running.pid} on `);
  expect((await send(running.url, 'GET', '/v0.1/servers')).status).toBe(200);
});

test('after a kill -9 the next process gets the file, whatever the last one left beside it', async () => {
  running = await startRegistryProcess(settings);
  await running.stop('SIGKILL');
  running = await startRegistryProcess(settings);
  expect((await send(running.url, 'GET', '/readyz')).body).toEqual({ ready: true });
});

test('SIGTERM ends it with 0, a written record kept, one file left', async () => {
  running = await startRegistryProcess(settings);
  const published = await send(running.url, 'POST', '/v0.1/publish', { token: await tokenFor(), body: documentOf('kept.b/xa') });
  expect(published.status).toBe(200);
  expect(await running.stop('SIGTERM')).toEqual({ code: 0, signal: null });
  expect(await readdir(join(directory, 'data'))).toEqual(['registry.sqlite']);
  running = await startRegistryProcess(settings);
  expect((await send(running.url, 'GET', pathOf('kept.b/xa', 'latest'))).body).toEqual(published.body);
});

test('a missing or wrong seed ends it with 2, naming the setting and nothing of the seed', async () => {
  const { JWT_PRIVATE_KEY_FILE: _, ...without } = settings;
  const missing = await runRegistryProcess(without);
  expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining('JWT_PRIVATE_KEY_FILE: got (not set)')]);
  await writeFile(settings['JWT_PRIVATE_KEY_FILE'] ?? '', 'hunter2');
  const wrong = await runRegistryProcess(settings);
  expect(wrong.code).toBe(2);
  expect(wrong.stderr).toContain('JWT_PRIVATE_KEY_FILE');
  expect(wrong.stderr).not.toContain('hunter2');
});

test('a database it cannot use ends it with 1 and one line, no stack', async () => {
  const file = join(directory, 'notes.txt');
  await writeFile(file, 'my notes');
  const { code, stderr } = await runRegistryProcess({ ...settings, DATABASE_FILE: file });
  expect(code).toBe(1);
  expect(stderr).toBe(
    `DATABASE_FILE ${file}: not a SQLite database; name another file, or move this one away to start an empty registry\n`,
  );
});
