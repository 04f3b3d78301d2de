import { statSync } from 'node:fs';
import { join } from 'node:path';
import { destination } from 'pino';
import { createLog } from '../../lib/log.ts';
import type { Operator, startOperator } from '../../operator/operator.ts';
import { CliError, exit } from '../exit.ts';
import { isSettled, partNames, type PartName, type StackModel } from './model.ts';
import { Part, type PartSpec } from './part.ts';
import type { PartState } from './part-state.ts';
import { claimPorts, type Ports } from './ports.ts';
import { addressOf, correctThem, environmentOf, readSettings, type StackSettings } from './settings.ts';
import { boundLog, hasStaleLock, prepareStateDir, rotateLog, takeLock, type StateDir } from './state-dir.ts';
import { messageOf } from '../../lib/error-message.ts';

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

/** How long servers that never answer are waited for before the stack counts as settled, once the operator runs. */
const PATIENCE_MS = 10_000;

/** What a stack has once it is sure that nobody else has it. */
interface Claimed {
  readonly ports: Ports;
  readonly settings: StackSettings;
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
  readonly #settings: StackSettings;
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

  /** @throws CliError `notFound` without a catalog, `inUse`, `usage` for wrong settings, or `no` when a port or the state directory is not for this user */
  static async start(options: StackOptions): Promise<Stack> {
    const { state, catalog } = options;
    if (statSync(catalog, { throwIfNoEntry: false })?.isDirectory() !== true) {
      throw new CliError(exit.notFound, `there is no directory ${catalog}`, {
        next: 'name the directory of declarations with --catalog DIR',
      });
    }
    const ports = await claimPorts(options.ports, { leftBehind: hasStaleLock(state) });
    const settings = readSettings(ports, options);
    prepareStateDir(state);
    const lock = takeLock(state, { catalog, registry: addressOf(ports.registry) });
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
      log: createLog('operator', this.#settings.LOG_LEVEL, destination({ dest: log, append: true, mode: 0o600 })),
    });
    this.#operator = operator;
    const look = (): void => {
      boundLog(log);
      this.#become({ operator: { is: 'running', view: operator.view(), ready: operator.ready().ready } });
    };
    operator.onChange(look);
    this.#patience = setTimeout(() => this.#settled.resolve(), PATIENCE_MS);
    look();
  }

  #become(change: Partial<StackModel>): void {
    this.#model = { ...this.#model, ...change };
    this.#options.onChange(this.#model);
    const failure = failureIn(this.#model, this.#options.state);
    if (failure !== undefined) this.#failure.resolve(failure);
    if (isSettled(this.#model)) this.#settled.resolve();
  }
}

/** A part that was given up. */
function failureIn({ parts }: StackModel, dir: StateDir): CliError | undefined {
  for (const name of partNames) {
    const state = parts[name];
    if (state.is !== 'failed') continue;
    return new CliError(state.settings ? exit.usage : exit.no, `${name} does not start: ${state.why}; its last words:`, {
      details: state.lastLines,
      next: state.settings ? correctThem : `its log says more: ${dir.log(name)}`,
    });
  }
  return undefined;
}

function startFailure(error: unknown): CliError {
  const why = messageOf(error);
  return new CliError(exit.no, `the operator does not start: ${why}`, { next: 'correct the setting that this names', cause: error });
}

/** The registry is ready, and the others answer or will not: a probe that comes too early would wait for its next turn. */
function mayOperate({ parts }: StackModel): boolean {
  return (
    parts.registry.is === 'ready' && [parts.fetch, parts.sandbox].every((state) => state.is !== 'starting' || state.reason !== undefined)
  );
}

function specOf(name: PartName, ports: Ports, options: StackOptions): PartSpec {
  return {
    name,
    main: join(options.home, 'mcp-servers', name, 'main.ts'),
    url: addressOf(ports[name]),
    log: options.state.log(name),
    env: environmentOf(name, ports, options),
  };
}
