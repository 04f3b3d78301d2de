import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { McpServer } from '@modelcontextprotocol/server';
import { pino } from 'pino';
import { z } from 'zod';
import { readConfig } from '../../lib/config.ts';
import type { HttpHost } from '../../lib/http-host/host.ts';
import { mcpHostSettings } from '../../lib/mcp-http/config.ts';
import { startMcpHost } from '../../lib/mcp-http/host.ts';
import { RegistryClient } from '../../lib/registry-api/client.ts';
import { SCHEMA_URL, type ServerJson } from '../../lib/registry-api/server-json.ts';
import { seedTokenSource } from '../../lib/registry-api/token.ts';
import { registryConfig } from '../../mcp-servers/registry/config.ts';
import { startRegistry } from '../../mcp-servers/registry/main.ts';
import { config } from '../../operator/config.ts';
import { startOperator, type Operator } from '../../operator/operator.ts';
import { publishedRecord, type PublishedRecord } from '../../operator/records/record.ts';
import type { DeclarationStatus, OperatorView } from '../../operator/records/status.ts';
import { Proxy } from './proxy.ts';

export const SEED = 'ab'.repeat(32);

const silent = pino({ level: 'silent' });
const noInput = z.object({});

/** Waits for a state: asks again until it is there. @throws Error naming what was waited for, and what was there instead */
export async function until<T>(
  what: string,
  look: () => Promise<T | false | undefined> | T | false | undefined,
  deadlineMs = 8_000,
): Promise<T> {
  const end = performance.now() + deadlineMs;
  let last: unknown;
  while (performance.now() < end) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    last = found;
    await delay(15);
  }
  throw new Error(`${what}: not within ${deadlineMs} ms (last seen: ${JSON.stringify(last)})`);
}

/** An MCP server with as many tools as asked for. */
export async function startServer(tools: readonly string[] = ['forecast'], port = 0, env: NodeJS.ProcessEnv = {}): Promise<HttpHost> {
  const quiet = { PORT: String(port), METRICS_PORT: 'off', DRAIN_SECONDS: '0', LOG_LEVEL: 'silent' };
  const settings = readConfig(z.object(mcpHostSettings), { ...quiet, ...env });
  const createServer = (): McpServer => {
    const server = new McpServer({ name: 'fixture', version: '1.0.0' });
    for (const name of tools) server.registerTool(name, { description: name, inputSchema: noInput }, () => ({ content: [] }));
    return server;
  };
  return startMcpHost({ part: 'fixture', settings, createServer, ready: () => ({ ready: true }), log: silent });
}

/** A real embedded registry, a real directory, and operators over them. */
export class Bench {
  readonly root: string;
  readonly catalog: string;
  readonly statusFile: string;
  #registry: HttpHost | undefined;
  #port = 0;
  #database = 0;
  readonly #operators = new Set<Operator>();
  readonly #servers = new Set<HttpHost>();
  readonly #proxies = new Set<Proxy>();

  private constructor(root: string) {
    this.root = root;
    this.catalog = join(root, 'catalog');
    this.statusFile = join(root, 'status.json');
  }

  static async start(): Promise<Bench> {
    const bench = new Bench(await mkdtemp(join(tmpdir(), 'toolyard-operator-')));
    await mkdir(bench.catalog);
    await writeFile(join(bench.root, 'seed'), SEED);
    await bench.startRegistry();
    return bench;
  }

  get registryUrl(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async startRegistry(): Promise<void> {
    this.#registry = await startRegistry(
      readConfig(registryConfig, {
        PORT: String(this.#port),
        DATABASE_FILE: join(this.root, `registry-${this.#database}.sqlite`),
        JWT_PRIVATE_KEY_FILE: join(this.root, 'seed'),
        ALLOW_LOCAL_REMOTES: 'true',
        DRAIN_SECONDS: '0',
        LOG_LEVEL: 'silent',
      }),
    );
    this.#port = Number(new URL(this.#registry.url).port);
  }

  async stopRegistry(): Promise<void> {
    await this.#registry?.close();
    this.#registry = undefined;
  }

  /** The same address with nothing in it. */
  async emptyRegistry(): Promise<void> {
    await this.stopRegistry();
    this.#database += 1;
    await this.startRegistry();
  }

  client(): RegistryClient {
    return new RegistryClient({ url: this.registryUrl, tokens: seedTokenSource({ readSeed: async () => SEED }) });
  }

  async server(tools?: readonly string[], port?: number, env?: NodeJS.ProcessEnv): Promise<HttpHost> {
    const server = await startServer(tools, port, env);
    this.#servers.add(server);
    return server;
  }

  /** Another way to the registry, which counts, and loses answers when told to. */
  async proxy(): Promise<Proxy> {
    const proxy = await Proxy.start(() => this.registryUrl);
    this.#proxies.add(proxy);
    return proxy;
  }

  /** What an operator is told here. */
  environment(): NodeJS.ProcessEnv {
    return {
      REGISTRY_URL: this.registryUrl,
      REGISTRY_JWT_SEED_FILE: join(this.root, 'seed'),
      SOURCE_DIRECTORY: this.catalog,
      STATUS_FILE: this.statusFile,
      PROBE_INTERVAL_SECONDS: '0.6',
      PROBE_TIMEOUT_SECONDS: '5',
      WITHDRAW_AFTER_SECONDS: '1',
      REGISTRY_RESYNC_SECONDS: '1',
      PUBLISH_ENDPOINT: 'true',
    };
  }

  async operator(env: NodeJS.ProcessEnv = {}): Promise<Operator> {
    const operator = await startOperator(readConfig(config, { ...this.environment(), ...env }), { log: silent });
    this.#operators.add(operator);
    return operator;
  }

  async stopOperator(operator: Operator): Promise<void> {
    this.#operators.delete(operator);
    await operator.close();
  }

  /** Writes catalog/<folder>/server.json, and toolyard.json when there are settings, as an editor does: whole files. */
  async declare(folder: string, document: unknown, settings?: unknown): Promise<void> {
    await mkdir(join(this.catalog, folder), { recursive: true });
    if (settings !== undefined) await this.#put(join(folder, 'toolyard.json'), JSON.stringify(settings));
    await this.#put(join(folder, 'server.json'), typeof document === 'string' ? document : JSON.stringify(document));
  }

  async #put(path: string, text: string): Promise<void> {
    const draft = join(this.root, 'draft');
    await writeFile(draft, text);
    await rename(draft, join(this.catalog, path));
  }

  async remove(folder: string): Promise<void> {
    await rm(join(this.catalog, folder), { recursive: true });
  }

  async records(name: string): Promise<readonly PublishedRecord[]> {
    const records = await this.client().versions(name, { includeDeleted: true });
    return records.flatMap((record) => publishedRecord(record) ?? []);
  }

  /** `active`, `deprecated`, `deleted`, or `absent` */
  async statusOf(name: string, version = '1.0.0'): Promise<string> {
    return (await this.records(name)).find((record) => record.version === version)?.status ?? 'absent';
  }

  async untilStatus(name: string, status: string, version = '1.0.0', deadlineMs?: number): Promise<void> {
    await until(`${name} ${version} is ${status}`, async () => (await this.statusOf(name, version)) === status, deadlineMs);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#operators].map((operator) => operator.close()));
    await Promise.all([...this.#servers].map((server) => server.close()));
    await Promise.all([...this.#proxies].map((proxy) => proxy.close()));
    await this.stopRegistry();
    await rm(this.root, { recursive: true, force: true });
  }

  async readStatusFile(): Promise<OperatorView> {
    return JSON.parse(await readFile(this.statusFile, 'utf8')) as OperatorView;
  }
}

export function record(name: string, url: string, fields: Partial<ServerJson> = {}): ServerJson {
  return { $schema: SCHEMA_URL, name, version: '1.0.0', description: 'a server', remotes: [{ type: 'streamable-http', url }], ...fields };
}

export function declarationOf(operator: Operator, folder: string): DeclarationStatus | undefined {
  return operator.view().declarations.find(({ source }) => source === `catalog/${folder}/server.json`);
}

export function conditionOf(operator: Operator, folder: string, type: string): string | undefined {
  const condition = declarationOf(operator, folder)?.conditions.find((candidate) => candidate.type === type);
  return condition === undefined ? undefined : `${condition.status} ${condition.reason}`;
}
