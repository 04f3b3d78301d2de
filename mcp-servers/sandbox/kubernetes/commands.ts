import { headBytes, SandboxError, type Command, type CommandResult } from '../backend.ts';
import { Bytes } from '../../../lib/bytes.ts';
import type { Runtime, RuntimeFault } from './runtime.ts';
import { OutputFlood } from './sandboxd.ts';

/** What `timeout(1)` exits with, and what callers are told. */
const TIMED_OUT = 124;
const KILLED = 137;
/** The clock inside is the one that counts: this one ends what that one did not. */
const OUTER_GRACE_MS = 5_000;

/**
 * The first process of a command's process namespace: waits for the command and for whatever loses its parent, and passes the command's
 * exit code on, 128 + the signal's number when a signal ended it. When its time is over, or when it is told to, it ends, and the kernel ends
 * all others with it. In Perl, which every Debian has: a shell cannot wait for a process and a time at once, and timeout(1) in this place
 * loses the signal's number under gVisor.
 */
const first = [
  'my $seconds = shift; my $child = fork; defined $child or exit 125;',
  'if (!$child) { setpgrp; exec @ARGV; exit 127 }',
  '$SIG{TERM} = sub { exit 143 }; $SIG{ALRM} = sub { exit 124 }; alarm $seconds;',
  'while ((my $pid = wait) > 0) { exit($? & 127 ? 128 + ($? & 127) : $? >> 8) if $pid == $child }',
].join(' ');

/**
 * How one command runs: with a process tree of its own that ends with it, whatever is in it, and no later than its time, in whole seconds.
 * It leads a process group, so that what it signals with `kill 0` is its own.
 * @param ownTree false where no namespaces can be made: then what it leaves in the background stays
 */
export function commandLine(command: string, timeoutMs: number, ownTree: boolean): readonly string[] {
  const seconds = String(Math.ceil(timeoutMs / 1000));
  const shell = ['bash', '-c', command];
  if (!ownTree) return ['timeout', '--foreground', '-s', 'KILL', seconds, 'setsid', ...shell];
  const tree = ['unshare', '--user', '--map-current-user', '--pid', '--fork', '--kill-child=KILL', '--mount-proc', '--'];
  return [...tree, 'perl', '-e', first, seconds, ...shell];
}

export interface RunSettings {
  /** kept of stdout, and again of stderr: the beginning and the end */
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

/** The beginning and the end of a stream, and how many bytes were between. */
class Kept {
  readonly #head = new Bytes();
  readonly #headRoom: number;
  readonly #tail: Tail;
  #length = 0;

  constructor(room: number) {
    this.#headRoom = headBytes(room);
    this.#tail = new Tail(room - this.#headRoom);
  }

  get bytes(): Uint8Array {
    return Buffer.concat([this.#head.all, this.#tail.bytes]);
  }

  get dropped(): number {
    return this.#length - this.#head.length - this.#tail.bytes.length;
  }

  /** @returns what of it belongs to the beginning */
  add(piece: Uint8Array): Uint8Array {
    this.#length += piece.length;
    const kept = piece.subarray(0, this.#headRoom - this.#head.length);
    this.#head.add(kept);
    this.#tail.add(piece.subarray(kept.length));
    return kept;
  }
}

/** The last bytes of a stream, in a room that is written round and round. */
class Tail {
  readonly #room: number;
  #ring = Buffer.alloc(0);
  #at = 0;
  #full = false;

  constructor(room: number) {
    this.#room = room;
  }

  get bytes(): Buffer {
    return Buffer.concat([this.#ring.subarray(this.#full ? this.#at : this.#ring.length), this.#ring.subarray(0, this.#at)]);
  }

  add(piece: Uint8Array): void {
    if (piece.length > 0 && this.#ring.length === 0) this.#ring = Buffer.alloc(this.#room);
    let left = piece.subarray(Math.max(0, piece.length - this.#room));
    while (left.length > 0) {
      const part = left.subarray(0, this.#room - this.#at);
      this.#ring.set(part, this.#at);
      this.#at = (this.#at + part.length) % this.#room;
      this.#full ||= this.#at === 0;
      left = left.subarray(part.length);
    }
  }
}
