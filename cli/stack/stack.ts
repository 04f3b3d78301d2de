import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { destination } from 'pino';
import { z } from 'zod';
import { ConfigError, readConfig } from '../../lib/config.ts';
import { createLog } from '../../lib/log.ts';
import { operatorSettings, type OperatorSettings } from '../../operator/config.ts';
import type { Operator, startOperator } from '../../operator/operator.ts';
import { CliError, exit } from '../exit.ts';
import { isSettled, partNames, type PartName, type StackModel } from './model.ts';
import { Part, type PartSpec } from './part.ts';
import type { PartState } from './part-state.ts';
import { choosePorts, holderOf, isFree } from './ports.ts';
import { hasStaleLock, inUse, prepareStateDir, rotateLog, runningUp, takeLock, type Running, type StateDir } from './state-dir.ts';

export type Ports = Readonly<Record<PartName, number>>;

export interface StackOptions {
  /** the checkout: where the parts' programs are */
  readonly home: string;
  readonly catalog: string;
  readonly state: StateDir;
  /** 0 takes any free one */
  readonly ports: Ports;
  /** the settings of the parts and of the operator; ports, addresses and files are set here */
  readonly env: NodeJS.ProcessEnv;
  readonly onChange: (model: StackModel) => void;
}

/** How long the ports of an `up` that was killed are waited for: its children stop as soon as they notice. */
const LEFTOVERS_MS = 3_000;
const LOOK_EVERY_MS = 50;
/** How long servers that never answer are waited for before the stack counts as settled, once the operator runs. */
const PATIENCE_MS = 10_000;

/** What a stack has once it is sure that nobody else has it. */
interface Claimed {
  readonly ports: Ports;
  readonly settings: OperatorSettings;
  readonly release: () => void;
}

/**
 * The registry, fetch and sandbox as processes of their own, and the operator in this one. Nothing is touched before it is sure that the
 * state directory and the ports are free.
 */
export class Stack {
  readonly #options: StackOptions;
  readonly #parts: ReadonlyMap<PartName, Part>;
  readonly #release: () => void;
  readonly #settings: OperatorSettings;
  readonly #operatorModule: Promise<{ readonly startOperator: typeof startOperator }>;
  #operator: Operator | undefined;
  #starting: Promise<void> | undefined;
  #model: StackModel;
  #stopping = false;
  readonly #failure = Promise.withResolvers<CliError>();
  readonly #settled = Promise.withResolvers<void>();
  #patience: NodeJS.Timeout | undefined;

  private constructor(options: StackOptions, { ports, settings, release }: Claimed) {
    this.#options = options;
    this.#settings = settings;
    this.#release = release;
    const urls = Object.fromEntries(partNames.map((name) => [name, addressOf(ports[name])])) as StackModel['urls'];
    const starting: PartState = { is: 'starting' };
    this.#model = { urls, parts: { registry: starting, fetch: starting, sandbox: starting }, operator: { is: 'waiting' } };
    this.#parts = new Map(partNames.map((name) => [name, new Part(specOf(name, ports, options), (state) => this.#heard(name, state))]));
    // a third of a second of loading, in which the parts already start
    this.#operatorModule = import('../../operator/operator.ts');
  }

  /** @throws CliError `notFound` without a catalog, `inUse`, `usage` for a wrong setting of the operator, or `no` when the state directory cannot be written */
  static async start(options: StackOptions): Promise<Stack> {
    const { state, catalog } = options;
    if (statSync(catalog, { throwIfNoEntry: false })?.isDirectory() !== true) {
      throw new CliError(exit.notFound, `there is no directory ${catalog}`, {
        next: 'name the directory of declarations with --catalog DIR',
      });
    }
    const other = runningUp(state);
    await requireFree(options.ports, state, other);
    if (other !== undefined) throw inUse(state, other);
    const ports = await choosePorts(options.ports);
    const settings = operatorSettingsOf(ports, options);
    prepareStateDir(state);
    const lock = await takeLock(state, { catalog, registry: addressOf(ports.registry) });
    return new Stack(options, { ports, settings, release: () => lock.release() });
  }

  get model(): StackModel {
    return this.#model;
  }

  /** Resolves when a part was given up, or the operator cannot run. */
  get failed(): Promise<CliError> {
    return this.#failure.promise;
  }

  /** Resolves when every part had its say and every declaration its first answer, or they were waited for long enough. */
  get settled(): Promise<void> {
    return this.#settled.promise;
  }

  /** Stops the operator, then the parts, and waits until every process is gone. */
  async stop(): Promise<void> {
    this.#stopping = true;
    clearTimeout(this.#patience);
    await this.#starting;
    await this.#operator?.close().catch(() => undefined);
    await Promise.all([...this.#parts.values()].map((part) => part.stop()));
    this.#release();
  }

  /** Ends every process at once. */
  kill(): void {
    this.#stopping = true;
    for (const part of this.#parts.values()) part.kill();
    this.#release();
  }

  #heard(name: PartName, state: PartState): void {
    this.#become({ parts: { ...this.#model.parts, [name]: state } });
    if (this.#starting === undefined && !this.#stopping && mayOperate(this.#model)) {
      this.#starting = this.#operate().catch((error: unknown) => this.#failure.resolve(startFailure(error)));
    }
  }

  async #operate(): Promise<void> {
    const log = this.#options.state.log('operator');
    rotateLog(log);
    const operatorModule = await this.#operatorModule;
    const operator = await operatorModule.startOperator(this.#settings, {
      log: createLog('operator', 'info', destination({ dest: log, append: true })),
    });
    this.#operator = operator;
    const look = (): void => this.#become({ operator: { is: 'running', view: operator.view(), ready: operator.ready().ready } });
    operator.onChange(look);
    this.#patience = setTimeout(() => this.#settled.resolve(), PATIENCE_MS);
    look();
  }

  #become(change: Partial<StackModel>): void {
    this.#model = { ...this.#model, ...change };
    this.#options.onChange(this.#model);
    const failure = failureIn(this.#model);
    if (failure !== undefined) this.#failure.resolve(failure);
    if (isSettled(this.#model)) this.#settled.resolve();
  }
}

/** A part that was given up. */
function failureIn({ parts }: StackModel): CliError | undefined {
  for (const name of partNames) {
    const state = parts[name];
    if (state.is !== 'failed') continue;
    return new CliError(exit.no, `${name} does not start: ${state.why}`, { next: ['its last words:', ...state.lastLines].join('\n  ') });
  }
  return undefined;
}

function startFailure(error: unknown): CliError {
  const why = error instanceof Error ? error.message : String(error);
  return new CliError(exit.no, `the operator does not start: ${why}`, { next: 'correct the setting that this names', cause: error });
}

/** The registry is ready, and the others answer or will not: a probe that comes too early would wait for its next turn. */
function mayOperate({ parts }: StackModel): boolean {
  return (
    parts.registry.is === 'ready' && [parts.fetch, parts.sandbox].every((state) => state.is !== 'starting' || state.reason !== undefined)
  );
}

async function requireFree(ports: Ports, state: StateDir, other: Running | undefined): Promise<void> {
  // the parts of a killed `up` need a moment to notice; those of a living one are there to stay
  const until = performance.now() + (other === undefined && hasStaleLock(state) ? LEFTOVERS_MS : 0);
  for (const name of partNames) {
    const port = ports[name];
    if (port === 0) continue;
    while (!(await isFree(port))) {
      if (performance.now() >= until) throw await portInUse(name, port, other);
      await wait(LOOK_EVERY_MS);
    }
  }
}

async function portInUse(name: PartName, port: number, up: Running | undefined): Promise<CliError> {
  const holder = await holderOf(port);
  const who = holder === undefined ? 'another process' : `process ${holder.pid} (${holder.command || 'its command is hidden'})`;
  const ofUp = up === undefined ? '' : `, which belongs to the toolyard up that runs as process ${up.pid} (${up.command})`;
  return new CliError(exit.inUse, `port ${port} for ${name} is held by ${who}${ofUp}`, {
    next: `stop that process, or give this one other ports: --registry-port, --fetch-port, --sandbox-port (0 takes any free one), and its own --state DIR`,
  });
}

/** Whoever presses Ctrl-C does not want calls to end first. An empty setting counts as unset. */
const hostSettings = {
  HOST: '127.0.0.1',
  METRICS_PORT: 'off',
  DRAIN_SECONDS: '0',
  FINISH_SECONDS: '0.5',
  TLS_CERT_FILE: '',
  TLS_KEY_FILE: '',
};

function specOf(name: PartName, ports: Ports, { home, state, env }: StackOptions): PartSpec {
  const own: Record<PartName, NodeJS.ProcessEnv> = {
    registry: { DATABASE_FILE: state.database, JWT_PRIVATE_KEY_FILE: state.registrySeed, ALLOW_LOCAL_REMOTES: 'true' },
    fetch: {},
    sandbox: { SANDBOX_BACKEND: 'local', STATE_DIR: state.sandboxes, SANDBOX_HANDLE_KEY_FILE: state.sandboxKey },
  };
  return {
    name,
    main: join(home, 'mcp-servers', name, 'main.ts'),
    url: addressOf(ports[name]),
    log: state.log(name),
    env: { ...env, ...own[name], ...hostSettings, PORT: String(ports[name]), NODE_COMPILE_CACHE: state.compileCache },
  };
}

/** The addresses of the parts that ship, for the records that ship: the ports may be others than their toolyard.json says. */
function operatorSettingsOf(ports: Ports, { catalog, state, env }: StackOptions): OperatorSettings {
  const endpoints = Object.fromEntries(
    (['fetch', 'sandbox'] as const).map((name) => [`dev.toolyard/${name}`, `${addressOf(ports[name])}/mcp`]),
  );
  try {
    return readConfig(z.object(operatorSettings), {
      ...env,
      REGISTRY_URL: addressOf(ports.registry),
      REGISTRY_JWT_SEED_FILE: state.registrySeed,
      SOURCE: 'directory',
      SOURCE_DIRECTORY: catalog,
      STATUS_FILE: state.status,
      ENDPOINTS: JSON.stringify(endpoints),
      PUBLISH_ENDPOINT: 'true',
    });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new CliError(exit.usage, error.message, { next: 'correct these variables in the environment, or unset them', cause: error });
  }
}

function addressOf(port: number): string {
  return `http://127.0.0.1:${port}`;
}
