import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { processFacts, type ProcessFacts } from '../../cli/stack/proc.ts';
import type { DeclarationStatus } from '../../operator/records/status.ts';

export const home = dirname(dirname(import.meta.dirname));
const command = join(home, 'cli', 'main.ts');

/** One line of `toolyard up --json`. */
export interface Event {
  readonly event: 'part' | 'ready' | 'change' | 'stopping' | 'stopped';
  readonly name?: string;
  readonly is?: string;
  readonly about?: string;
  readonly what?: string;
  readonly details?: readonly string[];
  readonly declaration?: DeclarationStatus;
  readonly registry?: string;
  readonly isolation?: { readonly name: string } | null;
  readonly declarations?: readonly DeclarationStatus[];
  readonly connect?: { readonly claudeCode: readonly string[] };
  readonly error?: { readonly message: string; readonly details?: readonly string[]; readonly next?: string };
}

/** A temporary catalog and state directory; removed with everything in it. */
export class Yard {
  readonly root = mkdtempSync(join(tmpdir(), 'toolyard-test-'));
  readonly catalog = join(this.root, 'catalog');
  readonly state = join(this.root, 'state');

  constructor() {
    mkdirSync(this.catalog);
  }

  /** Writes `catalog/<entry>/<file>`; text and bytes as they are, anything else as JSON. */
  declare(entry: string, content: unknown, file = 'server.json'): void {
    mkdirSync(join(this.catalog, entry), { recursive: true });
    const raw = typeof content === 'string' || Buffer.isBuffer(content) ? content : JSON.stringify(content, undefined, 2);
    writeFileSync(join(this.catalog, entry, file), raw);
  }

  /** Declares one of the servers that ship, as it ships. */
  declareShipped(entry: 'fetch' | 'sandbox'): void {
    for (const file of ['server.json', 'toolyard.json'])
      this.declare(entry, readFileSync(join(home, 'catalog', entry, file), 'utf8'), file);
  }

  forget(entry: string): void {
    rmSync(join(this.catalog, entry), { recursive: true });
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}

/** A record of one remote on this machine. */
export function weatherRecord(url: string, change: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
    name: 'org.example/weather',
    description: 'Tells the weather.',
    version: '1.0.0',
    remotes: [{ type: 'streamable-http', url }],
    ...change,
  };
}

export const freePorts = ['--registry-port', '0', '--fetch-port', '0', '--sandbox-port', '0'];

/** `toolyard up --json` as a process of its own. */
export class Up {
  readonly events: Event[] = [];
  readonly process: ChildProcess;
  readonly startedAt = performance.now();
  #errors = '';
  readonly #exited: Promise<number | NodeJS.Signals>;

  constructor(yard: Yard, options: { env?: NodeJS.ProcessEnv; ports?: readonly string[] } = {}) {
    const args = [command, 'up', '--json', '--catalog', yard.catalog, '--state', yard.state, ...(options.ports ?? freePorts)];
    this.process = spawn(process.execPath, args, {
      // what a guest runs is seen from here under bubblewrap only
      env: { ...process.env, SANDBOX_ISOLATION: 'bubblewrap', ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    const { stdout, stderr } = this.process;
    if (stdout === null || stderr === null) throw new Error('the output is piped');
    createInterface({ input: stdout }).on('line', (line) => {
      if (line.startsWith('{')) this.events.push(JSON.parse(line) as Event);
      else this.#errors += `not JSON: ${line}\n`;
    });
    stderr.setEncoding('utf8').on('data', (text: string) => (this.#errors += text));
    this.#exited = once(this.process, 'close').then(([code, signal]) => (signal ?? code) as number | NodeJS.Signals);
  }

  get pid(): number {
    return this.process.pid ?? Number.NaN;
  }

  get exited(): Promise<number | NodeJS.Signals> {
    return this.#exited;
  }

  get ready(): Promise<Event> {
    return this.event(({ event }) => event === 'ready');
  }

  /** The address of its registry. */
  async registry(): Promise<string> {
    return (await this.ready).registry ?? '';
  }

  /** The first event from `since` on that fits. */
  event(fits: (event: Event) => boolean, since = 0): Promise<Event> {
    return until(
      () => this.events.slice(since).find(fits),
      () => `${this.#errors}\n${this.events.map((event) => JSON.stringify(event)).join('\n')}`,
    );
  }

  change(fits: (event: Event) => boolean, since = 0): Promise<Event> {
    return this.event((event) => event.event === 'change' && fits(event), since);
  }

  async stop(signal: NodeJS.Signals = 'SIGINT'): Promise<number | NodeJS.Signals> {
    this.process.kill(signal);
    return await this.#exited;
  }
}

/** Waits for something to be there; what is known is told when the time is over. */
export async function until<T>(
  look: () => T | undefined | Promise<T | undefined>,
  known: () => string = () => '',
  ms = 30_000,
): Promise<T> {
  const deadline = performance.now() + ms;
  while (performance.now() < deadline) {
    const found = await look();
    if (found !== undefined) return found;
    await wait(20);
  }
  throw new Error(`it did not happen within ${ms} ms\n${known()}`);
}

/** All that descends from a process now, however it is detached. */
export function descendants(root: number): ProcessFacts[] {
  const all = readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map((entry) => processFacts(Number(entry)));
  const found: ProcessFacts[] = [];
  const visit = (parent: number): void => {
    for (const one of all) {
      if (one.parent !== parent) continue;
      found.push(one);
      visit(one.pid);
    }
  };
  visit(root);
  return found;
}

/** Those that still run; a zombie that nobody has collected yet does not. */
export function alive(processes: readonly ProcessFacts[]): ProcessFacts[] {
  return processes.filter(({ pid, started }) => processFacts(pid).started === started);
}

/** Resolves when none of them runs any more. */
export async function untilGone(processes: readonly ProcessFacts[]): Promise<void> {
  await until(
    () => (alive(processes).length === 0 ? true : undefined),
    () =>
      alive(processes)
        .map(({ pid, command: line }) => `${pid} ${line}`)
        .join('\n'),
  );
}

/** Runs one command to its end. */
export async function toolyard(...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return await run(args, {});
}

export async function run(
  args: readonly string[],
  options: { env?: NodeJS.ProcessEnv; input?: string },
): Promise<{ code: number; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [command, ...args], { env: { ...process.env, ...options.env }, stdio: ['pipe', 'pipe', 'pipe'] });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  child.stdin.end(options.input ?? '');
  const [code] = (await once(child, 'close')) as [number | null];
  return { code: code ?? -1, stdout, stderr };
}

/** The weather server as a process of its own. */
export class Weather {
  readonly url: string;
  readonly #process: ChildProcess;

  private constructor(child: ChildProcess, port: number) {
    this.#process = child;
    this.url = `http://127.0.0.1:${port}/mcp`;
  }

  /** Resolves when it listens; on `port`, or on a free one. */
  static async start(port = 0): Promise<Weather> {
    const env = { ...process.env, PORT: String(port), METRICS_PORT: 'off', DRAIN_SECONDS: '0' };
    const child = spawn(process.execPath, [join(home, 'test', 'up', 'weather.ts')], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    for await (const line of createInterface({ input: child.stdout })) {
      const { url } = JSON.parse(line) as { url?: string };
      if (url !== undefined) {
        child.stdout.resume();
        return new Weather(child, Number(new URL(url).port));
      }
    }
    throw new Error('the weather server ended before it listened');
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    this.#process.kill('SIGKILL');
    await once(this.#process, 'exit');
  }
}
