import { fork, type ChildProcess, type Serializable } from 'node:child_process';

/** A worker that ended before it answered: out of memory, out of stack, or an error of its own. */
export class WorkerDied extends Error {
  override readonly name = 'WorkerDied';
}

export interface PoolOptions {
  /** module that answers each message of its parent with one */
  readonly script: URL;
  /** workers kept for further jobs once they are there; one is kept ready from the start */
  readonly keep: number;
  /** heap of one worker, MiB */
  readonly memoryMb: number;
  /** how long a worker beyond those is kept for the next job, since it takes a while to start, milliseconds; not at all by default */
  readonly lingerMs?: number;
}

/**
 * Runs each job in a process that it has for itself, and that may neither use the network nor write files. A job that is aborted, or that
 * kills its worker, takes nothing but that worker with it: the next job gets another. Threads would be cheaper, but one that outgrows its
 * heap within a single step of the engine ends the whole process (Node 26.12). How many jobs run at once is the caller's business.
 */
export class WorkerPool<Job extends Serializable, Result> {
  readonly #options: PoolOptions;
  readonly #idle: ChildProcess[] = [];
  readonly #all = new Set<ChildProcess>();
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#spare();
  }

  /**
   * The worker's answer.
   * @throws WorkerDied; the signal's reason when it is aborted first
   */
  async run(job: Job, signal: AbortSignal): Promise<Result> {
    signal.throwIfAborted();
    const worker = this.#idle.pop() ?? this.#spawn();
    let answered = false;
    try {
      const result = await answer<Result>(worker, job, signal);
      answered = true;
      return result;
    } finally {
      if (answered) this.#rest(worker);
      else this.#end(worker);
      this.#spare();
    }
  }

  close(): void {
    this.#closed = true;
    for (const worker of this.#all) this.#end(worker);
  }

  #rest(worker: ChildProcess): void {
    const { keep, lingerMs = 0 } = this.#options;
    if (this.#idle.length >= keep && lingerMs === 0) return this.#end(worker);
    this.#idle.push(worker);
    if (this.#idle.length <= keep) return;
    // of those that wait, the first has waited longest
    setTimeout(() => {
      const [longest] = this.#idle;
      if (longest === undefined || this.#idle.length <= keep) return;
      this.#idle.shift();
      this.#end(longest);
    }, lingerMs).unref();
  }

  #end(worker: ChildProcess): void {
    this.#all.delete(worker);
    worker.kill('SIGKILL');
  }

  /** A job should not have to wait for its worker to start because the one before has killed it. */
  #spare(): void {
    if (!this.#closed && this.#idle.length === 0 && this.#all.size < this.#options.keep) this.#idle.push(this.#spawn());
  }

  #spawn(): ChildProcess {
    const { script, memoryMb } = this.#options;
    const { NODE_COMPILE_CACHE: cache = '' } = process.env;
    const worker = fork(script, {
      serialization: 'advanced',
      // what a page makes a worker write, such as its last words, is nothing for our log
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      env: { NODE_COMPILE_CACHE: cache },
      execArgv: [
        `--max-old-space-size=${memoryMb}`,
        '--permission',
        '--allow-fs-read=*',
        ...(cache === '' ? [] : [`--allow-fs-write=${cache}`]),
      ],
    });
    this.#all.add(worker);
    setNeeded(worker, false);
    worker.on('error', () => {});
    worker.once('exit', () => {
      this.#all.delete(worker);
      const index = this.#idle.indexOf(worker);
      if (index >= 0) this.#idle.splice(index, 1);
    });
    return worker;
  }
}

/** An idle worker keeps no process alive; one that dies is replaced when the next job comes. */
function setNeeded(worker: ChildProcess, needed: boolean): void {
  if (needed) {
    worker.ref();
    worker.channel?.ref();
  } else {
    worker.unref();
    worker.channel?.unref();
  }
}

async function answer<Result>(worker: ChildProcess, job: Serializable, signal: AbortSignal): Promise<Result> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const died = (cause: unknown): void => reject(new WorkerDied(`the worker ended before it answered: ${String(cause)}`, { cause }));
  const exited = (code: number | null, ended: string | null): void => died(ended ?? `exit code ${code}`);
  const aborted = (): void => reject(signal.reason as Error);
  worker.once('message', resolve).once('error', died).once('exit', exited);
  signal.addEventListener('abort', aborted, { once: true });
  setNeeded(worker, true);
  try {
    worker.send(job);
    return (await promise) as Result;
  } finally {
    setNeeded(worker, false);
    worker.off('message', resolve).off('error', died).off('exit', exited);
    signal.removeEventListener('abort', aborted);
  }
}
