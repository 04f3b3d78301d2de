import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request as open, type IncomingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OFFICIAL_META, SCHEMA_URL, type OfficialMeta, type ServerJson } from '../../lib/registry-api/server-json.ts';
import { seedTokenSource, type Permission } from '../../lib/registry-api/token.ts';
import { registryConfig } from './config.ts';
import { startRegistry } from './main.ts';

/** What tests of a registry need, through its HTTP surface only. */

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** parsed when it is JSON */
  readonly body: unknown;
}

export interface Ask {
  readonly body?: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  /** null: no Authorization header */
  readonly token?: string | null;
}

/** Sends the target as it is: no client library cleans or escapes it. */
export function send(base: string, method: string, target: string, { body, headers = {}, token }: Ask = {}): Promise<Answer> {
  const bearer = token === undefined || token === null ? {} : { authorization: `Bearer ${token}` };
  const json = body === undefined ? {} : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) };
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(base);
    const options = { hostname, port, method, path: target, headers: { ...json, ...bearer, ...headers }, agent: false };
    const request = open(options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        const isJson = text !== '' && response.headers['content-type']?.includes('json') === true;
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: isJson ? JSON.parse(text) : text });
      });
    });
    request.on('error', reject);
    request.end(body);
  });
}

/** A document that every registry takes, with changes. */
export function documentOf(name: string, changes: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({ $schema: SCHEMA_URL, name, description: 'a server', version: '1.0.0', ...changes });
}

/** Paths are decoded twice; names have nothing that would show it. */
export function pathOf(name: string, version?: string): string {
  const server = `/v0.1/servers/${encodeURIComponent(name)}`;
  return version === undefined ? server : `${server}/versions/${encodeURIComponent(encodeURIComponent(version))}`;
}

export const SEED = '5e'.repeat(32);

export function tokenFor(...permissions: Permission[]): Promise<string> {
  return seedTokenSource({ readSeed: async () => SEED, ...(permissions.length > 0 && { permissions }) }).token();
}

/** One record as a client sees it. */
export interface Seen extends OfficialMeta {
  readonly server: ServerJson;
}

export function seen(record: unknown): Seen {
  const { server, _meta } = record as { server: ServerJson; _meta: Record<string, OfficialMeta> };
  const official = _meta[OFFICIAL_META];
  if (official === undefined) throw new Error(`no official metadata in ${JSON.stringify(record)}`);
  return { server, ...official };
}

export interface TestRegistry {
  readonly url: string;
  readonly databaseFile: string;
  /** @param ask by default with a token for everything */
  ask(method: string, target: string, ask?: Ask): Promise<Answer>;
  publish(name: string, version: string, changes?: Readonly<Record<string, unknown>>): Promise<Answer>;
  setStatus(target: string, status: string, statusMessage?: unknown): Promise<Answer>;
  list(query: string): Promise<{ readonly servers: readonly Seen[]; readonly nextCursor: string | undefined; readonly count: number }>;
  close(): Promise<void>;
}

type Surroundings = Parameters<typeof startRegistry>[1];

/** A registry of its own, with its own file and a free port. */
export async function startTestRegistry(
  settings: Readonly<Record<string, string>> = {},
  surroundings: Surroundings = {},
): Promise<TestRegistry> {
  const directory = await mkdtemp(join(tmpdir(), 'toolyard-registry-'));
  const seedFile = join(directory, 'seed');
  await writeFile(seedFile, `${SEED}\n`);
  const databaseFile = join(directory, 'registry.sqlite');
  const own = { PORT: '0', DRAIN_SECONDS: '0', LOG_LEVEL: 'silent', DATABASE_FILE: databaseFile, JWT_PRIVATE_KEY_FILE: seedFile };
  const host = await startRegistry(registryConfig.parse({ ...own, ...settings }), surroundings);
  const everything = await tokenFor();

  const ask: TestRegistry['ask'] = (method, target, { token = everything, ...rest } = {}) =>
    send(host.url, method, target, { token, ...rest });
  return {
    url: host.url,
    databaseFile,
    ask,
    publish: (name, version, changes = {}) => ask('POST', '/v0.1/publish', { body: documentOf(name, { version, ...changes }) }),
    setStatus: (target, status, statusMessage) => ask('PATCH', `${target}/status`, { body: JSON.stringify({ status, statusMessage }) }),
    list: async (query) => {
      const { status, body } = await ask('GET', `/v0.1/servers?${query}`);
      if (status !== 200) throw new Error(`${query}: ${status} ${JSON.stringify(body)}`);
      const { servers, metadata } = body as { servers: unknown[]; metadata: { count: number; nextCursor?: string } };
      return { servers: servers.map(seen), nextCursor: metadata.nextCursor, count: metadata.count };
    },
    close: async () => {
      await host.close();
      await rm(directory, { recursive: true });
    },
  };
}
