import { setTimeout as delay } from 'node:timers/promises';
import { Bytes } from '../../../lib/bytes.ts';
import type { Log } from '../../../lib/log.ts';
import type { Command, CommandResult } from '../backend.ts';
import type { Cgroup } from './cgroup.ts';
import { Guest, GuestGone } from './guest.ts';
import type { Launch } from './isolation.ts';
import { watchMemory } from './memory-watch.ts';

/** Time an agent gets to end a command, before the whole sandbox is ended. */
const STOP_GRACE_MS = 2_000;
/** Time the kernel gets to end what was killed. */
const END_GRACE_MS = 5_000;
/** What `timeout(1)` exits with. */
const TIMED_OUT = 124;
const KILLED = 137;

export interface CellOptions {
  readonly launch: Launch;
  /** undefined where this user may make none: memory is watched instead */
  readonly cgroup: Cgroup | undefined;
  readonly memoryBytes: number;
  readonly log: Log;
  /** @default STOP_GRACE_MS */
  readonly stopGraceMs?: number;
}

export interface RunOptions extends Omit<Command, 'command'> {
  readonly outputBytes: number;
}

type StopReason = 'timeout' | 'cancelled' | 'memory';

/** One sandbox with what limits it: runs commands, and leaves nothing behind. */
export class Cell {
  readonly guest: Guest;
  readonly #cgroup: Cgroup | undefined;
  readonly #memoryBytes: number;
  readonly #memoryMounts: readonly string[];
  readonly #log: Log;
  readonly #stopGraceMs: number;
  readonly #stops = new Set<(reason: StopReason) => void>();
  #endWatch: (() => void) | undefined;
  #removed: Promise<void> | undefined;

  constructor({ launch, cgroup, memoryBytes, log, stopGraceMs = STOP_GRACE_MS }: CellOptions) {
    this.#log = log;
    this.#cgroup = cgroup;
    this.#stopGraceMs = stopGraceMs;
    this.#memoryBytes = memoryBytes;
    this.#memoryMounts = launch.memoryMounts;
    this.guest = new Guest(cgroup === undefined ? launch : { ...launch, argv: [...cgroup.joining, ...launch.argv] });
  }

  /**
   * Runs one command and everything it starts until it ends or is stopped.
   * @throws GuestGone when the sandbox ended meanwhile; InsideFault when the command could not be started
   */
  async run(command: string, { timeoutMs, outputBytes, signal, onOutput }: RunOptions): Promise<CommandResult> {
    const output = { stdout: new Bytes(), stderr: new Bytes() };
    const killsBefore = this.#outOfMemoryKills;
    const { id, end } = this.guest.ask('run', { command, outputBytes }, (stream, data) => {
      output[stream].add(data);
      if (output[stream].length > outputBytes) return this.guest.kill('its agent sent more output than was asked for');
      onOutput?.(stream, data);
    });
    const stopping = this.#stoppable(id, { timeoutMs, signal });
    const reason = () => stopping.reason ?? (this.#outOfMemoryKills > killsBefore ? 'memory' : undefined);
    try {
      const { exitCode, dropped } = await end;
      return { ...this.#outcome(reason(), exitCode), stdout: output.stdout.all, stderr: output.stderr.all, dropped };
    } catch (error) {
      const why = reason();
      if (!(error instanceof GuestGone) || (why !== 'timeout' && why !== 'memory')) throw error;
      // a limit was met and the sandbox had to go with the command: what was written is still the answer
      const outcome = this.#outcome(why, KILLED);
      const note = `${outcome.note ?? 'the command did not stop when told to'}; the sandbox ended with it: create another`;
      return { ...outcome, stdout: output.stdout.all, stderr: output.stderr.all, dropped: { stdout: 0, stderr: 0 }, note };
    } finally {
      stopping.done();
    }
  }

  /** Ends the sandbox and removes all there is of it. Never rejects. */
  remove(why: string): Promise<void> {
    return (this.#removed ??= this.#remove(why));
  }

  async #remove(why: string): Promise<void> {
    this.guest.kill(why);
    const late = new AbortController();
    await Promise.race([this.guest.gone, delay(END_GRACE_MS, undefined, { signal: late.signal }).catch(() => {})]);
    late.abort();
    // goes with the group that it is in, at the latest when the server stops
    await this.#cgroup?.remove().catch((error: unknown) => this.#log.warn({ err: error }, 'a control group is left behind'));
  }

  get #outOfMemoryKills(): number {
    return this.#cgroup?.outOfMemoryKills ?? 0;
  }

  #outcome(reason: StopReason | undefined, exitCode: number): Pick<CommandResult, 'exitCode' | 'timedOut' | 'note'> {
    if (reason === 'timeout') return { exitCode: TIMED_OUT, timedOut: true };
    if (reason !== 'memory') return { exitCode, timedOut: false };
    const ended = this.#cgroup === undefined ? 'its commands were stopped' : 'the kernel ended what used most';
    const note = `out of memory: the sandbox may use ${Math.round(this.#memoryBytes / 1024 / 1024)} MiB, its files included; ${ended}`;
    return { exitCode, timedOut: false, note };
  }

  #stoppable(
    id: number,
    { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
  ): { reason: StopReason | undefined; done: () => void } {
    let hard: NodeJS.Timeout | undefined;
    const stopping = {
      reason: undefined as StopReason | undefined,
      done: () => {
        clearTimeout(timer);
        clearTimeout(hard);
        signal.removeEventListener('abort', cancelled);
        this.#stops.delete(stop);
        if (this.#stops.size === 0) this.#unwatch();
      },
    };
    const stop = (reason: StopReason): void => {
      if (stopping.reason !== undefined) return;
      stopping.reason = reason;
      this.guest.stop(id);
      hard = setTimeout(() => this.guest.kill('a command in it did not stop when told to'), this.#stopGraceMs);
    };
    const cancelled = () => stop('cancelled');
    const timer = setTimeout(() => stop('timeout'), timeoutMs);
    if (signal.aborted) cancelled();
    else signal.addEventListener('abort', cancelled, { once: true });
    this.#stops.add(stop);
    this.#watch();
    return stopping;
  }

  #watch(): void {
    const { pid } = this.guest;
    if (this.#cgroup !== undefined || pid === undefined) return;
    const watched = { pid, memoryMounts: this.#memoryMounts, limitBytes: this.#memoryBytes };
    this.#endWatch ??= watchMemory(watched, () => {
      this.#endWatch = undefined;
      for (const stop of this.#stops) stop('memory');
    });
  }

  #unwatch(): void {
    this.#endWatch?.();
    this.#endWatch = undefined;
  }
}
