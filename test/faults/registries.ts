import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { RegistryClient } from '../../lib/registry-api/client.ts';
import { seedTokenSource } from '../../lib/registry-api/token.ts';
import { quietPort } from '../port.ts';
import { CREATE_DATABASE } from '../differential/official/postgres.ts';
import { startOfficialRegistry } from '../differential/official/registry.ts';
import { until } from '../operator/bench.ts';
import { environment, MAIN, type Wrap, unwrapped } from './environment.ts';
import { Program } from './program.ts';

/** A registry in a process of its own, which can be killed, and whose database can be changed while it is down. */
export interface TestRegistry {
  readonly kind: Kind;
  readonly url: string;
  readonly seedFile: string;
  readonly pid: number;
  /** where its database is; nowhere that can be seen for the official one */
  readonly folder: string;
  kill(): Promise<void>;
  /** Starts it again; need not answer yet. */
  start(): Promise<void>;
  /** While it is down: keeps a copy of its database. */
  keepCopy(): Promise<void>;
  /** While it is down: puts the copy in place of its database. */
  restoreCopy(): Promise<void>;
  /** While it is down: throws its database away. */
  empty(): Promise<void>;
  /** While it is down: @throws Error when what it left cannot be recovered to a sound database */
  examine(): Promise<void>;
  /** What is wrong with it, in words. */
  wrongs(): readonly string[];
  close(): Promise<void>;
}

export const kinds = ['embedded', 'official'] as const;
export type Kind = (typeof kinds)[number];

/** @param wrap surroundings of the embedded one's process, given the folder of its database */
export async function startTestRegistry(kind: Kind, wrap: (folder: string) => Wrap = () => unwrapped): Promise<TestRegistry> {
  return kind === 'embedded' ? Embedded.start(wrap) : Official.start();
}

export function clientOf(registry: Pick<TestRegistry, 'url'>, seed: string): RegistryClient {
  return new RegistryClient({ url: registry.url, tokens: seedTokenSource({ readSeed: async () => seed }) });
}

const SEED = 'ab'.repeat(32);

class Embedded implements TestRegistry {
  readonly kind = 'embedded';
  readonly url: string;
  readonly seedFile: string;
  readonly #root: string;
  readonly #program: Program;

  private constructor(root: string, port: number, wrap: (folder: string) => Wrap) {
    this.#root = root;
    this.url = `http://127.0.0.1:${port}`;
    this.seedFile = join(root, 'seed');
    const own = { PORT: String(port), DATABASE_FILE: this.#file, JWT_PRIVATE_KEY_FILE: this.seedFile, DRAIN_SECONDS: '0' };
    this.#program = new Program(
      'the registry',
      wrap(this.folder)({ command: process.execPath, args: [MAIN.registry], env: environment(own) }),
    );
  }

  static async start(wrap: (folder: string) => Wrap): Promise<Embedded> {
    const registry = new Embedded(await mkdtemp(join(tmpdir(), 'toolyard-faults-registry-')), await quietPort(), wrap);
    await mkdir(registry.folder);
    await writeFile(registry.seedFile, SEED);
    await registry.start();
    await until('the registry answers', () => answers(registry.url), 30_000);
    return registry;
  }

  get pid(): number {
    return this.#program.pid;
  }

  get folder(): string {
    return join(this.#root, 'data');
  }

  get #file(): string {
    return join(this.folder, 'registry.sqlite');
  }

  kill(): Promise<void> {
    return this.#program.kill();
  }

  async start(): Promise<void> {
    this.#program.start();
  }

  async keepCopy(): Promise<void> {
    await cp(this.folder, join(this.#root, 'copy'), { recursive: true });
  }

  async restoreCopy(): Promise<void> {
    await this.empty();
    await cp(join(this.#root, 'copy'), this.folder, { recursive: true });
  }

  async empty(): Promise<void> {
    await rm(this.folder, { recursive: true });
    await mkdir(this.folder);
  }

  /** On a copy, since whoever opens the file recovers it. */
  async examine(): Promise<void> {
    const copy = join(this.#root, 'examined');
    await cp(this.folder, copy, { recursive: true });
    const database = new DatabaseSync(join(copy, 'registry.sqlite'));
    const found = database.prepare('PRAGMA integrity_check').all();
    database.close();
    await rm(copy, { recursive: true });
    const faults = found.map((row) => String(row['integrity_check'])).filter((said) => said !== 'ok');
    if (faults.length > 0) throw new Error(`the database is damaged: ${faults.join('; ')}`);
  }

  wrongs(): readonly string[] {
    return [this.#program.wrong()].filter((wrong) => wrong !== undefined);
  }

  async close(): Promise<void> {
    await this.#program.stop();
    await rm(this.#root, { recursive: true, force: true });
  }
}

async function answers(url: string): Promise<boolean> {
  return fetch(`${url}/v0.1/servers`).then(
    ({ ok }) => ok,
    () => false,
  );
}

type Running = Awaited<ReturnType<typeof startOfficialRegistry>>;

class Official implements TestRegistry {
  readonly kind = 'official';
  readonly folder = '';
  readonly #running: Running;
  #starting: Promise<void> = Promise.resolve();
  #startings = 0;
  #wrong: string | undefined;

  private constructor(running: Running) {
    this.#running = running;
  }

  static async start(): Promise<Official> {
    return new Official(await startOfficialRegistry());
  }

  get url(): string {
    return this.#running.url;
  }

  get seedFile(): string {
    return this.#running.seedFile;
  }

  get pid(): number {
    return this.#running.pid;
  }

  async kill(): Promise<void> {
    this.#startings += 1;
    await this.#running.kill();
  }

  async start(): Promise<void> {
    this.#wrong = undefined;
    const mine = (this.#startings += 1);
    this.#starting = this.#running.restart().catch((error: unknown) => {
      // when it was killed while it started, that is no failure
      if (mine === this.#startings) this.#wrong = String(error);
    });
  }

  /** PostgreSQL was never killed. */
  async examine(): Promise<void> {}

  async keepCopy(): Promise<void> {
    await this.#alone();
    await this.#running.database.sql('create database kept template registry');
  }

  async restoreCopy(): Promise<void> {
    await this.#alone();
    await this.#running.database.sql('drop database registry');
    await this.#running.database.sql('alter database kept rename to registry');
  }

  async empty(): Promise<void> {
    await this.#alone();
    await this.#running.database.sql('drop database registry');
    await this.#running.database.sql(CREATE_DATABASE);
  }

  wrongs(): readonly string[] {
    return this.#wrong === undefined ? [] : [this.#wrong];
  }

  async close(): Promise<void> {
    await this.#running.close();
    await this.#starting;
  }

  /** Connections of a registry that was killed outlive it for a moment. */
  async #alone(): Promise<void> {
    await this.#starting;
    await this.#running.database.sql("select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = 'registry'");
  }
}
