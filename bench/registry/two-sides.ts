import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SCHEMA_URL } from '../../lib/registry-api/server-json.ts';
import { seedTokenSource } from '../../lib/registry-api/token.ts';
import { startOfficialRegistry } from '../../test/differential/official/registry.ts';
import type { LoadClient } from '../load/client.ts';
import type { LoadRequest, Outcome } from '../load/job.ts';
import { startPart } from '../part.ts';

export const OFFICIAL = 'official registry 1.8.8 on PostgreSQL';

/** Records that a registry has when a measurement begins. */
export const SIZES = [1, 100, 10_000];

/** A registry under measurement. */
export interface Side {
  readonly url: string;
  readonly pid: number;
  /** for everything */
  token(): Promise<string>;
}

/** The embedded registry as users run it, on a file of its own. */
export async function startEmbedded(stack: AsyncDisposableStack): Promise<Side> {
  const directory = await mkdtemp(join(tmpdir(), 'toolyard-bench-'));
  stack.defer(() => rm(directory, { recursive: true, force: true }));
  const seedFile = join(directory, 'seed');
  await writeFile(seedFile, randomBytes(32).toString('hex'), { mode: 0o600 });
  const env = { DATABASE_FILE: join(directory, 'registry.sqlite'), JWT_PRIVATE_KEY_FILE: seedFile };
  const { url, pid } = await startPart(stack, 'mcp-servers/registry/main.ts', env);
  return sideOf(url, pid, seedFile);
}

/**
 * The official registry with a PostgreSQL whose commits reach the disk, as ours do.
 * @param more of its own variables, without their prefix
 */
export async function startOfficial(stack: AsyncDisposableStack, more: Readonly<Record<string, string>> = {}): Promise<Side> {
  const running = await startOfficialRegistry({ durable: true, anonymousAuth: false, more });
  stack.defer(() => running.close());
  return sideOf(running.url, running.pid, running.seedFile);
}

function sideOf(url: string, pid: number, seedFile: string): Side {
  const tokens = seedTokenSource({ readSeed: () => readFile(seedFile, 'utf8') });
  return { url, pid, token: () => tokens.token() };
}

const TMPFS = 0x01_02_19_94;

/** @throws Error where both would write to memory: a commit that need not reach a disk says nothing */
export async function requireDisk(): Promise<void> {
  const { type } = await statfs(tmpdir());
  if (type === TMPFS)
    throw new Error(`${tmpdir()} is in memory: set TMPDIR to a folder on a disk, where both registries are to keep their data`);
}

export function nameOf(index: number): string {
  return `io.github.bench-${index % 97}/server-${String(index).padStart(6, '0')}`;
}

/** A document as servers of the public registry have it, in size and in fields. */
export function documentOf(index: number): string {
  const name = nameOf(index);
  const id = name.replaceAll(/[^a-z0-9]+/g, '-');
  return JSON.stringify({
    $schema: SCHEMA_URL,
    name,
    title: `Server ${index}`,
    description: 'Reads tickets, comments and attachments of a project, and files new ones.',
    version: '1.0.0',
    repository: { url: `https://github.com/bench/${id}`, source: 'github' },
    remotes: [{ type: 'streamable-http', url: `https://${id}.example.com/mcp` }],
    packages: [{ registryType: 'npm', identifier: `@bench/${id}`, version: '1.0.0', transport: { type: 'stdio' } }],
  });
}

/** Publishes so many documents, each once, from number `from` on. */
export async function publish(client: LoadClient, side: Side, what: { from: number; count: number; callers: number }): Promise<Outcome> {
  const headers = { authorization: `Bearer ${await side.token()}`, 'content-type': 'application/json' };
  const requests = Array.from({ length: what.count }, (_, index): LoadRequest => ({
    method: 'POST',
    target: '/v0.1/publish',
    headers,
    body: documentOf(what.from + index),
  }));
  return client.run({ url: side.url, callers: what.callers, requests });
}
