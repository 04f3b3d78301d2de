import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, expect, test, vi } from 'vitest';
import { finished } from '../../cdk8s/output.ts';
import { withProgram } from '../interop/ensure.ts';
import { quietPort } from '../port.ts';

const run = promisify(execFile);
const scripts = join(import.meta.dirname, '..', '..', 'cdk8s', 'postgresql');
const work = mkdtempSync(join(tmpdir(), 'toolyard-postgresql-'));
afterAll(() => rmSync(work, { recursive: true }));
chmodSync(work, 0o755);

/** Volumes have names of their own, so that each test has one. */
let volumes = 0;

await withProgram('PostgreSQL', ['ensure-postgres'], (programs) => {
  let server: Server | undefined;
  afterEach(async () => await server?.stop());

  test('a first start makes the database, ordered bytewise, which its role owns', async () => {
    server = await Server.start(programs, await newVolume(), 'first');
    await server.ready();
    expect(await server.query("select datcollate || ' ' || pg_get_userbyid(datdba) from pg_database where datname = 'registry'")).toBe(
      'C registry',
    );
    // what the official registry's first migration asks for
    await server.query('create extension pg_trgm');
    await server.query('create extension "uuid-ossp"');
  });

  test('a new password goes with an old volume, and the old one does not any more', async () => {
    const volume = await newVolume();
    server = await Server.start(programs, volume, 'first');
    await server.ready();
    await server.query('create table kept (x int)');
    // as when a node dies
    await server.stop('SIGKILL');
    server = await Server.start(programs, volume, "it's \\ another$1");
    await server.ready();
    expect(await server.query('select count(*) from kept')).toBe('0');
    await expect(server.query('select 1', { password: 'first' })).rejects.toThrow('password authentication failed');
  });

  test('nobody but the registry’s role gets in from outside', async () => {
    server = await Server.start(programs, await newVolume(), 'first');
    await server.ready();
    await expect(server.query('select 1', { user: 'postgres' })).rejects.toThrow('no pg_hba.conf entry');
    await expect(server.query('select 1', { database: 'postgres' })).rejects.toThrow('no pg_hba.conf entry');
  });

  test('a first start that was cut short leaves nothing in the way of the next', async () => {
    const volume = await newVolume();
    mkdirSync(join(volume, 'pgdata.new', 'base'), { recursive: true });
    writeFileSync(join(volume, 'pgdata.new', 'PG_VERSION'), '15\n');
    await run('chown', ['-R', 'postgres', volume]);
    server = await Server.start(programs, volume, 'first');
    await server.ready();
    expect(await server.query('select 1')).toBe('1');
  });

  test('a volume whose group was given more is put right', async () => {
    const volume = await newVolume();
    server = await Server.start(programs, volume, 'first');
    await server.ready();
    await server.stop();
    chmodSync(join(volume, 'pgdata'), 0o770);
    server = await Server.start(programs, volume, 'first');
    await server.ready();
    expect(await server.query('select 1')).toBe('1');
  });

  test('a volume of a version that the image has not is left alone, with what to do', async () => {
    const volume = await newVolume();
    mkdirSync(join(volume, 'pgdata'));
    writeFileSync(join(volume, 'pgdata', 'PG_VERSION'), '9\n');
    server = await Server.start(programs, volume, 'first');
    expect(await server.ended()).toBe(1);
    expect(server.log).toContain('the volume was made by PostgreSQL 9, the image has');
    expect(server.log).toContain('dump it with an image of 9');
  });

  test('a password of several lines is refused, and stays out of the log', async () => {
    server = await Server.start(programs, await newVolume(), "hush\n'; drop");
    expect(await server.ended()).toBe(1);
    expect(server.log).toContain('must hold one line');
    expect(server.log).not.toContain('hush');
  });
});

/** Of Debian's package; PostgreSQL refuses to run as root, and its role of that name is who may connect without a password. */
async function idOf(flag: '-u' | '-g'): Promise<number> {
  return Number((await run('id', [flag, 'postgres'])).stdout);
}

async function newVolume(): Promise<string> {
  const volume = join(work, `volume-${++volumes}`);
  mkdirSync(volume);
  chownSync(volume, await idOf('-u'), await idOf('-g'));
  return volume;
}

class Server {
  readonly #child: ChildProcess;
  readonly #port: number;
  readonly #password: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #programs: string;
  log = '';

  static async start(programs: string, volume: string, password: string): Promise<Server> {
    return new Server(programs, volume, password, await quietPort());
  }

  private constructor(programs: string, volume: string, password: string, port: number) {
    this.#programs = programs;
    this.#port = port;
    this.#password = password;
    const [passwordFile, hba] = [join(work, 'password'), join(work, 'pg_hba.conf')];
    writeFileSync(passwordFile, password);
    writeFileSync(hba, shipped('pg_hba.conf'));
    this.#env = { ...shippedEnv(), PGDATA: join(volume, 'pgdata'), PASSWORD_FILE: passwordFile, HBA_FILE: hba, PORT: String(port) };
    const as = ['--reuid', 'postgres', '--regid', 'postgres', '--clear-groups', 'bash', join(scripts, 'start.sh')];
    this.#child = spawn('setpriv', as, { env: { PATH: process.env['PATH'], ...this.#env }, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.#child.stdout, this.#child.stderr]) stream?.on('data', (chunk: Buffer) => (this.log += chunk.toString()));
  }

  async ready(): Promise<void> {
    await vi.waitUntil(async () => (await this.#probe()) === 'ready', { timeout: 60_000, interval: 200 });
  }

  async #probe(): Promise<string> {
    if (this.#child.exitCode !== null) throw new Error(`it ended: ${this.log}`);
    const env = { PATH: process.env['PATH'], ...this.#env };
    return run('bash', [join(scripts, 'ready.sh')], { env }).then(() => 'ready', String);
  }

  async query(sql: string, { user = 'registry', password = this.#password, database = 'registry' } = {}): Promise<string> {
    const args = ['-h', '127.0.0.1', '-p', String(this.#port), '-U', user, '-d', database, '-tAc', sql];
    const { stdout } = await run(join(this.#programs, 'psql'), args, { env: { ...process.env, PGPASSWORD: password } });
    return stdout.trim();
  }

  async ended(): Promise<number | null> {
    if (this.#child.exitCode === null) await once(this.#child, 'close');
    return this.#child.exitCode;
  }

  async stop(signal: NodeJS.Signals = 'SIGINT'): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill(signal);
    await once(this.#child, 'close');
  }
}

/** What the manifests put beside the scripts. */
function shipped(name: string): string {
  const objects = finished().flatMap(({ objects }) => objects) as readonly {
    kind: string;
    metadata: { name: string };
    data?: Record<string, string>;
  }[];
  const text = objects.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === 'postgresql')?.data?.[name];
  if (name.endsWith('.sh')) expect(text).toBe(readFileSync(join(scripts, name), 'utf8'));
  return text ?? expect.fail(`the manifests have no ${name}`);
}

function shippedEnv(): Record<string, string> {
  return { DATABASE_USER: 'registry', DATABASE_NAME: 'registry' };
}
