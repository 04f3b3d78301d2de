import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { RegistryClient } from '../../lib/registry-api/client.ts';
import { OFFICIAL_META, SCHEMA_URL, type ServerJson, type ServerRecord } from '../../lib/registry-api/server-json.ts';
import { stamped } from '../../operator/records/record.ts';
import { quietPort } from '../port.ts';
import { environment, MAIN, type Wrap } from './environment.ts';
import { Install, type InstallOptions } from './install.ts';
import { Program } from './program.ts';
import { clientOf, startTestRegistry, type Kind, type TestRegistry } from './registries.ts';

export interface WorldOptions {
  /** MCP servers, each a process; @default 2 */
  readonly servers?: number;
  /** records of strangers besides two, which make lists longer than a page; @default 0 */
  readonly filler?: number;
  /** surroundings of the registry's process, when it is the embedded one, given the folder of its database */
  readonly wrap?: (folder: string) => Wrap;
}

export interface Server {
  readonly program: Program;
  readonly url: string;
}

/** A name that somebody published by hand, and one of an install that is elsewhere. */
const FOREIGN = 'com.example.byhand/tool';
const ELSEWHERE = 'com.example.elsewhere/tool';
const LOOK_EVERY_MS = 100;
/** Equal, and still equal after this. */
const STAYS_MS = 300;

/** One registry, with records of others in it, and MCP servers; installs come as tests want them. */
export class World {
  readonly root: string;
  readonly registry: TestRegistry;
  readonly servers: readonly Server[];
  readonly client: RegistryClient;
  /** records of others, as they must stay to the last letter */
  strangers: readonly ServerRecord[] = [];
  readonly #installs: Install[] = [];

  private constructor(root: string, registry: TestRegistry, servers: readonly Server[], client: RegistryClient) {
    this.root = root;
    this.registry = registry;
    this.servers = servers;
    this.client = client;
  }

  static async start(kind: Kind, { servers = 2, filler = 0, wrap }: WorldOptions = {}): Promise<World> {
    const root = await mkdtemp(join(tmpdir(), 'toolyard-faults-'));
    const registry = await startTestRegistry(kind, wrap);
    const started: Server[] = [];
    for (let index = 0; index < servers; index += 1) started.push(await startServer(index));
    const world = new World(root, registry, started, clientOf(registry, await readFile(registry.seedFile, 'utf8')));
    await world.#publishStrangers(filler);
    return world;
  }

  async install(options: Omit<InstallOptions, 'root' | 'registryUrl' | 'seedFile'> & { registryUrl?: string }): Promise<Install> {
    const { url: registryUrl, seedFile } = this.registry;
    const install = await Install.make({ root: this.root, registryUrl, seedFile, ...options });
    this.#installs.push(install);
    return install;
  }

  /** Declares a name that a stranger has: it must be refused, throughout. */
  async contest(install: Install): Promise<void> {
    await install.contest('contested', { ...install.document('contested'), name: FOREIGN }, this.probing(0));
  }

  /** Settings that have a declaration's server probed where it listens. */
  probing(server: number): { endpoint: string } {
    return { endpoint: `${this.servers[server]?.url ?? ''}/mcp` };
  }

  /** Waits until the registry is equal to what is declared, and stays so. @returns ms @throws Error with what is different */
  async converge(deadlineMs?: number): Promise<number> {
    return Math.max(...(await this.convergeEach(deadlineMs)).values());
  }

  /** The same, and how long it took for each install. */
  async convergeEach(deadlineMs = 180_000): Promise<ReadonlyMap<Install, number>> {
    const start = performance.now();
    const took = new Map<Install, number>();
    let wrongs: readonly string[] = [];
    while (performance.now() - start < deadlineMs) {
      const lookedAt = performance.now() - start;
      const found = await this.#look();
      wrongs = [...found.values()].flat();
      for (const install of this.#installs) {
        if (wrongsOf(found, install).length > 0) took.delete(install);
        else if (!took.has(install)) took.set(install, Math.round(lookedAt));
      }
      const lastCame = Math.max(...took.values());
      if (wrongs.length === 0 && lookedAt > lastCame + STAYS_MS) return took;
      await delay(LOOK_EVERY_MS);
    }
    const said = this.#installs.map(({ operator }) => operator.said()).join('\n');
    throw new Error(`not equal to the declarations after ${deadlineMs} ms:\n${wrongs.slice(0, 20).join('\n')}\n${said}`);
  }

  async close(): Promise<void> {
    await Promise.all(this.#installs.map(({ operator }) => operator.stop()));
    await Promise.all(this.servers.map(({ program }) => program.stop()));
    await this.registry.close();
    await rm(this.root, { recursive: true, force: true });
  }

  /** What is wrong, by install; what concerns none of them, or all, under undefined. */
  async #look(): Promise<ReadonlyMap<Install | undefined, readonly string[]>> {
    const programs = [...this.registry.wrongs(), ...this.servers.flatMap(({ program }) => program.wrong() ?? [])];
    try {
      const records = await this.client.listAll({ includeDeleted: true });
      const left = new Map(records.map((record) => [keyOf(record.server), record]));
      const touched = this.strangers.filter((stranger) => !isDeepStrictEqual(taken(left, stranger.server), stranger));
      const wrongs = new Map<Install | undefined, readonly string[]>();
      for (const install of this.#installs) wrongs.set(install, [...differences(install, left), ...(await install.wrongs())]);
      const surplus = [...left].filter(([, { _meta }]) => _meta[OFFICIAL_META]?.status !== 'deleted');
      return wrongs.set(undefined, [
        ...programs,
        ...touched.map(({ server }) => `${keyOf(server)} is somebody else's and was touched`),
        ...surplus.map(([key]) => `${key} is there and nobody declares it`),
      ]);
    } catch (error) {
      return new Map([[undefined, [String(error), ...programs]]]);
    }
  }

  async #publishStrangers(filler: number): Promise<void> {
    const fields = { version: '3.0.0', description: 'not yours' };
    const remotes = [{ type: 'streamable-http' as const, url: 'https://elsewhere.example/mcp' }];
    const document = (name: string): ServerJson => ({ $schema: SCHEMA_URL, name, remotes, ...fields });
    await this.client.publish(document(FOREIGN));
    await this.client.publish(stamped(document(ELSEWHERE), { install: 'elsewhere', source: 'catalog/tool/server.json' }));
    for (let index = 0; index < filler; index += 1) await this.client.publish(document(`aa.filler/n${index}`));
    this.strangers = await this.client.listAll({ includeDeleted: true });
  }
}

/** Whatever becomes of the test, nothing of its world is left. */
export async function inWorld(kind: Kind, options: WorldOptions, use: (world: World) => Promise<void>): Promise<void> {
  const world = await World.start(kind, options);
  try {
    await use(world);
  } finally {
    await world.close();
  }
}

async function startServer(index: number): Promise<Server> {
  const port = await quietPort();
  const env = environment({ PORT: String(port), METRICS_PORT: 'off', DRAIN_SECONDS: '0' });
  const program = new Program(`MCP server ${index}`, { command: process.execPath, args: [MAIN.server], env });
  program.start();
  return { program, url: `http://127.0.0.1:${port}` };
}

function keyOf({ name, version }: ServerJson): string {
  return `${name} ${version}`;
}

type Records = Map<string, ServerRecord>;

function taken(records: Records, server: ServerJson): ServerRecord | undefined {
  const record = records.get(keyOf(server));
  records.delete(keyOf(server));
  return record;
}

/** An install is not well while nobody knows, or while records of its names are there that should not be. */
function wrongsOf(found: ReadonlyMap<Install | undefined, readonly string[]>, install: Install): readonly string[] {
  const common = found.get(undefined) ?? [];
  const concerning = found.size === 1 ? common : common.filter((wrong) => wrong.startsWith(install.prefix));
  return [...concerning, ...(found.get(install) ?? [])];
}

/** How its records differ from what it declares; those that it declares are taken out. */
function differences(install: Install, records: Records): readonly string[] {
  return [...install.declared.keys()].flatMap((folder) => {
    const expected = install.expected(folder);
    return expected === undefined ? [] : difference(taken(records, expected), expected);
  });
}

function difference(record: ServerRecord | undefined, expected: ServerJson): readonly string[] {
  const key = keyOf(expected);
  if (record === undefined) return [`${key} is not there`];
  const { server, _meta } = record;
  const { status, isLatest, statusMessage } = _meta[OFFICIAL_META] ?? {};
  const wrongs: string[] = [];
  if (status !== 'active') wrongs.push(`${key} is ${String(status)}: ${String(statusMessage)}`);
  if (isLatest !== true) wrongs.push(`${key} is not the latest`);
  if (!isDeepStrictEqual(server, expected)) wrongs.push(`${key} is ${JSON.stringify(server)}, not ${JSON.stringify(expected)}`);
  return wrongs;
}
