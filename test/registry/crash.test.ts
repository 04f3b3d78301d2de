import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { documentOf, pathOf, seen, SEED, send, tokenFor, type Answer } from '../../mcp-servers/registry/testing.ts';
import { startRegistryProcess, type RegistryProcess } from './registry-process.ts';

let directory: string;
let settings: Readonly<Record<string, string>>;
let running: RegistryProcess | undefined;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'toolyard-crash-'));
  const seedFile = join(directory, 'seed');
  await writeFile(seedFile, SEED);
  settings = { DATABASE_FILE: join(directory, 'registry.sqlite'), JWT_PRIVATE_KEY_FILE: seedFile };
});

afterEach(async () => {
  await running?.stop('SIGKILL');
  await rm(directory, { recursive: true });
});

const WRITERS = 8;
const ROUNDS = 3;
const ACKNOWLEDGED_BEFORE_THE_KILL = 80;

/** What was acknowledged last for a record, and the wishes that were sent and never answered. */
interface Known {
  readonly acknowledged: Map<string, unknown>;
  readonly unanswered: Set<string>;
}

test('whatever was acknowledged before a kill -9 is there after it, whole, with one latest per name', async () => {
  const token = await tokenFor();
  const known: Known = { acknowledged: new Map(), unanswered: new Set() };
  for (let round = 1; round <= ROUNDS; round += 1) {
    running = await startRegistryProcess(settings);
    await expectAllThere(running.url, known);
    await writeUntilKilled(running, { known, token, round });
  }
  running = await startRegistryProcess(settings);
  await expectAllThere(running.url, known);
  expect(known.acknowledged.size).toBeGreaterThanOrEqual(ROUNDS * ACKNOWLEDGED_BEFORE_THE_KILL);
});

/** Writers publish and then deprecate, each in its own name, until the process dies under them. */
async function writeUntilKilled(
  registry: RegistryProcess,
  { known, token, round }: { known: Known; token: string; round: number },
): Promise<void> {
  const goal = known.acknowledged.size + ACKNOWLEDGED_BEFORE_THE_KILL;
  const write = async (writer: number): Promise<void> => {
    for (let patch = 0; ; patch += 1) {
      const name = `crash.b/writer${writer}`;
      const version = `${round}.0.${patch}`;
      await attempt(known, `${name}@${version}`, () =>
        send(registry.url, 'POST', '/v0/publish', { token, body: documentOf(name, { version }) }),
      );
      const body = '{"status":"deprecated","statusMessage":"m"}';
      await attempt(known, `${name}@${version}`, () => send(registry.url, 'PATCH', `${pathOf(name, version)}/status`, { token, body }));
      // In the midst of the others' writes.
      if (known.acknowledged.size >= goal) void registry.stop('SIGKILL');
    }
  };
  const endings = await Promise.allSettled(Array.from({ length: WRITERS }, (_, writer) => write(writer)));
  for (const ending of endings) expect(String((ending as PromiseRejectedResult).reason)).toMatch(/ECONNRESET|ECONNREFUSED|socket hang up/);
  await registry.stop('SIGKILL');
}

async function attempt({ acknowledged, unanswered }: Known, key: string, ask: () => Promise<Answer>): Promise<void> {
  unanswered.add(key);
  const { status, body } = await ask();
  expect(status).toBe(200);
  acknowledged.set(key, body);
  unanswered.delete(key);
}

async function expectAllThere(url: string, { acknowledged, unanswered }: Known): Promise<void> {
  const found = new Map<string, unknown>();
  let cursor: string | undefined = '';
  while (cursor !== undefined) {
    const { body } = await send(url, 'GET', `/v0.1/servers?limit=100&cursor=${encodeURIComponent(cursor)}`);
    const { servers, metadata } = body as { servers: unknown[]; metadata: { nextCursor?: string } };
    for (const record of servers) found.set(keyOf(record), record);
    cursor = metadata.nextCursor;
  }
  expect([...acknowledged.keys()].filter((key) => !found.has(key))).toEqual([]);
  // A write that was sent and never answered may have happened; the latest flag moves on without a write of its own.
  const settled = [...acknowledged].filter(([key]) => !unanswered.has(key));
  expect(settled.map(([key]) => withoutFlag(found.get(key)))).toEqual(settled.map(([, record]) => withoutFlag(record)));
  expect([...found.keys()].filter((key) => !acknowledged.has(key) && !unanswered.has(key))).toEqual([]);
  const latest = [...found.values()].map(seen).filter(({ isLatest }) => isLatest);
  const names = new Set([...found.values()].map((record) => seen(record).server.name));
  expect(latest.map(({ server }) => server.name).toSorted()).toEqual([...names].toSorted());
}

function keyOf(record: unknown): string {
  const { server } = seen(record);
  return `${server.name}@${server.version}`;
}

function withoutFlag(record: unknown): unknown {
  const { isLatest: _, ...rest } = seen(record);
  return rest;
}
