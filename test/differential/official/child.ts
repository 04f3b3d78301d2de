import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/** A program that runs until it is stopped, with the last of what it said. */
export interface Child {
  readonly process: ChildProcess;
  /** the end of its output, for messages */
  said(): string;
  /** Sends the signal, and SIGKILL when that does not end it. */
  stop(signal: NodeJS.Signals): Promise<void>;
}

export interface ChildOptions {
  readonly env?: NodeJS.ProcessEnv;
  /** the user it runs as; only root can choose */
  readonly user?: string;
}

const KEPT_OUTPUT = 4_000;
const STOP_MS = 5_000;

const living = new Set<ChildProcess>();
// before the folders are removed that they write to
process.prependOnceListener('exit', () => living.forEach((child) => child.kill('SIGKILL')));

/** Starts a program that does not outlive this process. On Linux the kernel sees to that, even when this process is killed. */
export function startChild(command: string, args: readonly string[], { env = process.env, user }: ChildOptions = {}): Child {
  const asUser = user === undefined ? [] : [`--reuid=${user}`, `--regid=${user}`, '--init-groups'];
  const guard = process.platform === 'linux' ? ['setpriv', ...asUser, '--pdeathsig=KILL', '--'] : [];
  const [program = command, ...rest] = [...guard, command, ...args];
  const child = spawn(program, rest, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  living.add(child);
  child.once('exit', () => living.delete(child));
  child.on('error', (error) => (output += error.message));
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-KEPT_OUTPUT)));
  }
  const stop: Child['stop'] = async (signal) => {
    if (hasEnded(child)) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    const impatience = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    await ended;
    clearTimeout(impatience);
  };
  return { process: child, said: () => output.trim(), stop };
}

export function hasEnded({ exitCode, signalCode, pid }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null || pid === undefined;
}
