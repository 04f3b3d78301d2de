import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { documentOf, pathOf, SEED, send, tokenFor, type Answer } from '../../mcp-servers/registry/testing.ts';
import { startRegistryProcess, type RegistryProcess } from './registry-process.ts';

let directory: string;
let settings: Readonly<Record<string, string>>;
let running: RegistryProcess | undefined;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'toolyard-full-disk-'));
  const seedFile = join(directory, 'seed');
  await writeFile(seedFile, SEED);
  settings = { DATABASE_FILE: join(directory, 'registry.sqlite'), JWT_PRIVATE_KEY_FILE: seedFile };
});

afterEach(async () => {
  await running?.stop('SIGKILL');
  await rm(directory, { recursive: true });
});

const FULL_AT_BYTES = 2 * 1024 * 1024;

test('on a full disk what was published can be read, publishing says what is wrong, and so does /readyz, also after a restart', async () => {
  running = await startRegistryProcess(settings, FULL_AT_BYTES);
  const token = await tokenFor();
  const { published, refused } = await fill(running.url, token);
  expect(published.length).toBeGreaterThan(5);
  expect(refused).toMatchObject({
    status: 500,
    body: { detail: 'Failed to publish server', errors: [{ message: expect.stringMatching(/^the database could not be written: /) }] },
  });
  await expectAllThere(running.url, published);
  await expectUnready(running.url);

  await running.stop('SIGKILL');
  running = await startRegistryProcess(settings, FULL_AT_BYTES);
  await expectAllThere(running.url, published);
  await expectUnready(running.url);

  await running.stop('SIGTERM');
  running = await startRegistryProcess(settings);
  await expectAllThere(running.url, published);
  expect((await send(running.url, 'GET', '/readyz')).body).toEqual({ ready: true });
  expect((await send(running.url, 'POST', '/v0.1/publish', { token, body: documentOf('room.b/again') })).status).toBe(200);
});

/** First with large records, then small ones go into what is left. */
async function fill(url: string, token: string): Promise<{ published: readonly string[]; refused: Answer }> {
  const published: string[] = [];
  let refused: Answer | undefined;
  for (const bytes of [100_000, 1]) {
    const packages = [{ registryType: 'npm', identifier: 'x'.repeat(bytes), transport: { type: 'stdio' } }];
    for (refused = undefined; refused === undefined;) {
      const name = `full.b/n${published.length}`;
      const answer = await send(url, 'POST', '/v0.1/publish', { token, body: documentOf(name, { packages }) });
      if (answer.status === 200) published.push(name);
      else refused = answer;
    }
  }
  if (refused === undefined) throw new Error('the disk was never full');
  return { published, refused };
}

async function expectAllThere(url: string, names: readonly string[]): Promise<void> {
  for (const name of names) expect((await send(url, 'GET', pathOf(name, 'latest'))).status).toBe(200);
}

/** A check that went well before the disk was full counts for a while. */
async function expectUnready(url: string): Promise<void> {
  const readyz = () => send(url, 'GET', '/readyz');
  await expect.poll(readyz, { timeout: 20_000, interval: 200 }).toMatchObject({
    status: 503,
    body: { reason: expect.stringMatching(/^DATABASE_FILE .*registry\.sqlite: cannot be written: /) },
  });
}
