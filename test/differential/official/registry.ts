import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { RegistryClient } from '../../../lib/registry-api/client.ts';
import { RegistryError } from '../../../lib/registry-api/errors.ts';
import { seedTokenSource } from '../../../lib/registry-api/token.ts';
import { hasEnded, startChild, type Child } from './child.ts';
import { temporaryFolder } from './folder.ts';
import { quietPort } from '../../port.ts';
import { startPostgres, type Postgres } from './postgres.ts';

export interface OfficialSettings {
  /** @default true: POST /auth/none gives tokens for the anonymous namespace */
  readonly anonymousAuth?: boolean;
  /** @default false: PostgreSQL does not wait for the disk; true for measurements */
  readonly durable?: boolean;
  /** more of the registry's own variables, without their prefix */
  readonly more?: Readonly<Record<string, string>>;
}

/** A running official registry, empty at first, with its package checks off. */
export interface RunningRegistry {
  readonly url: string;
  /** its signing seed, 64 hexadecimal digits, mode 600 */
  readonly seedFile: string;
  readonly pid: number;
  /** can be stopped before the registry is */
  readonly database: Postgres;
  /** Ends the registry at once, as a crash does; its database stays. */
  kill(): Promise<void>;
  /** Starts it again at the same address, after it was ended. @throws Error with what it said */
  restart(): Promise<void>;
  /** Stops the registry and its database, and removes what they stored. */
  close(): Promise<void>;
}

const START_MS = 60_000;
const PORTS_TRIED = 5;
const scripts = join(import.meta.dirname, '..', '..', '..', 'scripts');

/**
 * Starts the official registry with a PostgreSQL of its own; both are built or installed first where they are missing.
 * @throws Error with what the program that failed said
 */
export async function startOfficialRegistry({
  anonymousAuth = true,
  durable = false,
  more = {},
}: OfficialSettings = {}): Promise<RunningRegistry> {
  const [program, programs] = [await ensured('ensure-official-registry'), await ensured('ensure-postgres')];
  const folder = await temporaryFolder('toolyard-official-');
  const undo = [() => folder.remove()];
  const close = async (): Promise<void> => {
    for (const step of undo.splice(0).toReversed()) await step();
  };
  try {
    const seedFile = join(folder.path, 'seed');
    const seed = randomBytes(32).toString('hex');
    await writeFile(seedFile, seed, { mode: 0o600 });
    const postgres = await startPostgres({ programs, durable });
    undo.push(() => postgres.close());
    const settings = {
      DATABASE_URL: postgres.url,
      JWT_PRIVATE_KEY: seed,
      ENABLE_ANONYMOUS_AUTH: String(anonymousAuth),
      ENABLE_REGISTRY_VALIDATION: 'false',
      ...more,
    };
    const started = await startOnFreePort(program, settings, seed);
    const { address } = started;
    let { child } = started;
    undo.push(() => child.stop('SIGTERM'));
    const restart = async (): Promise<void> => {
      child = launch(program, settings, address);
      if (!(await answers(`http://${address}`, seed, child))) throw new Error(`the official registry did not start again: ${child.said()}`);
    };
    const kill = () => child.stop('SIGKILL');
    return { url: `http://${address}`, seedFile, pid: child.process.pid ?? 0, database: postgres, kill, restart, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Path that a script prints; what it has to say meanwhile goes to the terminal. */
async function ensured(script: string): Promise<string> {
  const running = promisify(execFile)(join(scripts, script), []);
  running.child.stderr?.pipe(process.stderr);
  try {
    return (await running).stdout.trim();
  } catch (error) {
    throw new Error(`scripts/${script} failed; it says why above`, { cause: error });
  }
}

interface Started {
  /** host and port */
  readonly address: string;
  readonly child: Child;
}

/** The registry does not tell which port it got, so it is told one; somebody else may take that first. */
async function startOnFreePort(program: string, settings: Readonly<Record<string, string>>, seed: string): Promise<Started> {
  let said = '';
  for (let tried = 0; tried < PORTS_TRIED; tried += 1) {
    const address = `127.0.0.1:${await quietPort()}`;
    const child = launch(program, settings, address);
    if (await answers(`http://${address}`, seed, child)) return { address, child };
    await child.stop('SIGKILL');
    said = child.said();
    if (!said.includes('address already in use')) break;
  }
  throw new Error(`the official registry did not start: ${said}`);
}

function launch(program: string, settings: Readonly<Record<string, string>>, address: string): Child {
  const own = Object.entries({ ...settings, SERVER_ADDRESS: address }).map(([name, value]) => [`MCP_REGISTRY_${name}`, value]);
  // without the variables of whoever runs this: PG* would change which database it takes
  return startChild(program, [], { env: Object.fromEntries(own) as NodeJS.ProcessEnv });
}

/** Whether this very registry answers, database included: another one on that port would not know the seed. */
async function answers(url: string, seed: string, child: Child): Promise<boolean> {
  const client = new RegistryClient({ url, tokens: seedTokenSource({ readSeed: async () => seed }) });
  const deadline = performance.now() + START_MS;
  while (!hasEnded(child.process) && performance.now() < deadline) {
    const code = await client.setStatus({ name: 'no.such/server', version: '1.0.0', status: 'deleted' }).then(
      () => undefined,
      (error: unknown) => (error instanceof RegistryError ? error.code : undefined),
    );
    if (code === 'not-found') return true;
    if (code === 'unauthorized') return false;
    await delay(50);
  }
  return false;
}
