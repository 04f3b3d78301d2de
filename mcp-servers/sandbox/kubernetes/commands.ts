import { SandboxError, type Command, type CommandResult } from '../backend.ts';
import { Bytes } from '../../../lib/bytes.ts';
import type { Runtime, RuntimeFault } from './runtime.ts';
import { OutputFlood } from './sandboxd.ts';

/** What `timeout(1)` exits with, and what callers are told. */
const TIMED_OUT = 124;
const KILLED = 137;
/** Time between a request to end and the end that nothing can put off, s. */
const KILL_AFTER_SECONDS = 0.2;
/** The clock inside is the one that counts: this one ends what that one did not. */
const OUTER_GRACE_MS = 5_000;

/**
 * How one command runs: in a process tree of its own that ends with it, whatever is in it, and no later than its time.
 *
 * `timeout` is the first process of a process namespace: signals from within cannot end it, and when it ends the kernel ends all others.
 * The command gets a session of its own, so that what it signals with `kill 0` is its own.
 */
export function commandLine(command: string, timeoutMs: number, ownTree: boolean): readonly string[] {
  const limit = ['timeout', '--foreground', '-s', 'KILL', '-k', String(KILL_AFTER_SECONDS), (timeoutMs / 1000).toFixed(3)];
  const tree = ['unshare', '--user', '--map-current-user', '--pid', '--fork', '--kill-child=KILL', '--mount-proc', '--'];
  return [...(ownTree ? tree : []), ...limit, 'setsid', 'bash', '-c', command];
}

export interface RunSettings {
  /** kept of stdout, and again of stderr */
  readonly outputBytes: number;
  /** commands can be given process trees of their own */
  readonly ownTree: boolean;
}

/**
 * Runs a command in a sandbox.
 * @throws RuntimeFault; SandboxError `cancelled`
 */
export async function runCommand(
  runtime: Runtime,
  { command, timeoutMs, signal, onOutput }: Command,
  settings: RunSettings,
): Promise<CommandResult> {
  const output = { stdout: new Kept(settings.outputBytes), stderr: new Kept(settings.outputBytes) };
  const late = AbortSignal.timeout(Math.ceil(timeoutMs) + OUTER_GRACE_MS);
  const startedAt = performance.now();
  const outcome = await ended(
    runtime.run({
      argv: commandLine(command, timeoutMs, settings.ownTree),
      input: new Uint8Array(),
      signal: AbortSignal.any([signal, late]),
      onOutput: (stream, bytes) => {
        const kept = output[stream].add(bytes);
        if (kept.length > 0) onOutput?.(stream, kept);
      },
    }),
    late,
  );
  if (signal.aborted) throw new SandboxError('cancelled', 'the caller left; the command was stopped');
  const timedOut = performance.now() - startedAt >= timeoutMs && (outcome.code === KILLED || outcome.code === TIMED_OUT);
  return {
    exitCode: timedOut ? TIMED_OUT : outcome.code,
    timedOut,
    stdout: output.stdout.bytes,
    stderr: output.stderr.bytes,
    dropped: { stdout: output.stdout.dropped, stderr: output.stderr.dropped },
    ...(outcome.note !== undefined && { note: outcome.note }),
  };
}

async function ended(running: Promise<number>, late: AbortSignal): Promise<{ readonly code: number; readonly note?: string }> {
  try {
    return { code: await running };
  } catch (error) {
    if (error instanceof OutputFlood)
      return { code: KILLED, note: `${error.message}, and the command was stopped: print less, or write to a file` };
    if (late.aborted && error === late.reason) return { code: TIMED_OUT };
    throw error;
  }
}

/** Why a command could not even be started, as an errno name; undefined for anything else. */
export function startErrno(fault: RuntimeFault): string | undefined {
  return fault.code === 'answered' && /resource temporarily unavailable|cannot allocate memory/i.test(fault.message) ? 'EAGAIN' : undefined;
}

/** The first bytes of a stream, and how many more there were. */
class Kept {
  readonly #bytes = new Bytes();
  readonly #room: number;
  dropped = 0;

  constructor(room: number) {
    this.#room = room;
  }

  get bytes(): Uint8Array {
    return this.#bytes.all;
  }

  /** @returns what there was room for */
  add(piece: Uint8Array): Uint8Array {
    const kept = piece.subarray(0, this.#room - this.#bytes.length);
    this.#bytes.add(kept);
    this.dropped += piece.length - kept.length;
    return kept;
  }
}
