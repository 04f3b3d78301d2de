import { fork, type ChildProcess } from 'node:child_process';
import { closeSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { afterDeath } from './backoff.ts';
import { afterAnswer, type Answer, type Life, type PartState } from './part-state.ts';
import { boundLog, lastLines, openLog, rotateLog } from './state-dir.ts';

/** How long a part may take to stop by itself: the sandbox server removes its sandboxes in this time. */
const STOP_MS = 10_000;
const POLL_STARTING_MS = 40;
const POLL_READY_MS = 1_000;
const PROBE_TIMEOUT_MS = 3_000;

/** One server process that `up` keeps running. */
export interface PartSpec {
  readonly name: string;
  /** absolute path of its main.ts */
  readonly main: string;
  readonly env: NodeJS.ProcessEnv;
  /** its base address, `http://127.0.0.1:PORT` */
  readonly url: string;
  readonly log: string;
}

/**
 * Runs a server process, asks its /readyz, and starts it again when it ends unasked. The child is its own process group, so that Ctrl-C
 * reaches `up` alone and the part is asked to stop once; it also stops when the IPC channel to `up` breaks, whatever ended `up`.
 */
export class Part {
  readonly spec: PartSpec;
  readonly #onState: (state: PartState) => void;
  #state: PartState = { is: 'starting' };
  #child: ChildProcess | undefined;
  readonly #stopping = new AbortController();
  #deaths = 0;
  #wasEverReady = false;
  #life: Life = { wasReady: false };
  readonly #running: Promise<void>;

  constructor(spec: PartSpec, onState: (state: PartState) => void) {
    this.spec = spec;
    this.#onState = onState;
    rotateLog(spec.log);
    this.#running = this.#run();
  }

  /** Asks the process to stop, waits, and kills it when it does not. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    const child = this.#child;
    child?.kill('SIGTERM');
    const deadline = setTimeout(() => child?.kill('SIGKILL'), STOP_MS);
    await this.#running;
    clearTimeout(deadline);
    this.#become({ is: 'stopped' });
  }

  /** Ends the process at once, for a second Ctrl-C. */
  kill(): void {
    this.#stopping.abort();
    this.#child?.kill('SIGKILL');
  }

  async #run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const started = performance.now();
      const by = await this.#live(started);
      if (this.#stopping.signal.aborted) return;
      const plan = afterDeath({ by, ranMs: performance.now() - started, before: this.#deaths, wasEverReady: this.#wasEverReady });
      if (plan.do === 'give up') {
        const { why, settings } = plan;
        this.#become({ is: 'failed', why: `${describeEnd(by)}; ${why}`, settings, lastLines: lastLines(this.spec.log, 5) });
        return;
      }
      this.#deaths = plan.deaths;
      this.#become({ is: 'restarting', why: describeEnd(by), delayMs: plan.delayMs });
      await wait(plan.delayMs, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
    }
  }

  /** One life of the process, from fork to exit. */
  async #live(started: number): Promise<number | NodeJS.Signals> {
    const { main, env, log } = this.spec;
    const fd = openLog(log);
    const child = fork(main, [], { env, detached: true, stdio: ['ignore', fd, fd, 'ipc'], execArgv: [], serialization: 'json' });
    closeSync(fd);
    this.#child = child;
    this.#life = { wasReady: false };
    this.#become({ is: 'starting' });
    const ended = new AbortController();
    const exited = new Promise<number | NodeJS.Signals>((resolve) => {
      child.once('error', () => resolve(1));
      child.once('exit', (code, signal) => resolve(signal ?? code ?? 1));
    });
    const watching = this.#watch(started, ended.signal);
    const by = await exited;
    ended.abort();
    await watching;
    this.#child = undefined;
    return by;
  }

  async #watch(started: number, ended: AbortSignal): Promise<void> {
    while (!ended.aborted) {
      const answer = await askReady(this.spec.url, ended);
      if (ended.aborted) return;
      this.#heard(answer, performance.now() - started);
      boundLog(this.spec.log);
      const pause = this.#state.is === 'starting' || this.#state.is === 'restarting' ? POLL_STARTING_MS : POLL_READY_MS;
      await wait(pause, undefined, { signal: ended }).catch(() => undefined);
    }
  }

  #heard(answer: Answer, ageMs: number): void {
    const { state, life } = afterAnswer(this.#state, answer, { life: this.#life, ageMs });
    this.#life = life;
    this.#wasEverReady ||= life.wasReady;
    if (state !== this.#state) this.#become(state);
  }

  #become(state: PartState): void {
    this.#state = state;
    this.#onState(state);
  }
}

async function askReady(url: string, ended: AbortSignal): Promise<Answer> {
  try {
    const response = await fetch(`${url}/readyz`, { signal: AbortSignal.any([ended, AbortSignal.timeout(PROBE_TIMEOUT_MS)]) });
    const body = await response.text();
    return response.ok ? { is: 'ready' } : { is: 'unready', reason: reasonIn(body) };
  } catch {
    return { is: 'silent' };
  }
}

function reasonIn(body: string): string {
  try {
    const { reason } = JSON.parse(body) as { reason?: unknown };
    if (typeof reason === 'string') return reason;
  } catch {
    // plain text is a reason too
  }
  return body.trim() || 'it gives no reason';
}

function describeEnd(by: number | NodeJS.Signals): string {
  return typeof by === 'number' ? `it ended with exit code ${by}` : `it was ended by ${by}`;
}
