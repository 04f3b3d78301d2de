import { Worker, type ResourceLimits } from 'node:worker_threads';
import PQueue from 'p-queue';

/** A worker that ended before it answered: out of memory, out of stack, or an error of its own. */
export class WorkerDied extends Error {
  override readonly name = 'WorkerDied';
}

export interface PoolOptions {
  /** module that answers each message with one */
  readonly script: URL;
  /** workers kept ready */
  readonly warm: number;
  /** jobs run at once; each has a worker of its own */
  readonly most: number;
  readonly limits: ResourceLimits;
}

/**
 * Runs jobs in worker threads, one job to a worker. A job that is aborted, or that kills its worker, takes nothing but that worker with
 * it: the next job gets another.
 */
export class WorkerPool<Job, Result> {
  readonly #options: PoolOptions;
  readonly #queue: PQueue;
  readonly #idle: Worker[] = [];
  readonly #all = new Set<Worker>();
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#queue = new PQueue({ concurrency: options.most });
    this.#warm();
  }

  /**
   * The worker's answer.
   * @param limitMs time that the job may take once a worker has it, milliseconds
   * @throws WorkerDied; the signal's reason when it is aborted first, be it before the job has started; a TimeoutError at the limit
   */
  async run(job: Job, signal: AbortSignal, limitMs?: number): Promise<Result> {
    return this.#queue.add(() => this.#run(job, limitMs === undefined ? signal : AbortSignal.any([signal, AbortSignal.timeout(limitMs)])), {
      signal,
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#queue.clear();
    await Promise.all([...this.#all].map((worker) => worker.terminate()));
  }

  async #run(job: Job, signal: AbortSignal): Promise<Result> {
    signal.throwIfAborted();
    const worker = this.#idle.pop() ?? this.#spawn();
    let answered = false;
    try {
      const result = await answer<Result>(worker, job, signal);
      answered = true;
      return result;
    } finally {
      if (answered && this.#idle.length < this.#options.warm) this.#idle.push(worker);
      else this.#end(worker);
      this.#warm();
    }
  }

  #end(worker: Worker): void {
    this.#all.delete(worker);
    void worker.terminate();
  }

  #warm(): void {
    while (!this.#closed && this.#all.size < this.#options.warm) this.#idle.push(this.#spawn());
  }

  #spawn(): Worker {
    const worker = new Worker(this.#options.script, { resourceLimits: this.#options.limits });
    this.#all.add(worker);
    // an idle worker keeps no process alive; one that dies is replaced when the next job comes
    worker.unref();
    worker.on('error', () => {});
    worker.once('exit', () => {
      this.#all.delete(worker);
      const index = this.#idle.indexOf(worker);
      if (index >= 0) this.#idle.splice(index, 1);
    });
    return worker;
  }
}

async function answer<Result>(worker: Worker, job: unknown, signal: AbortSignal): Promise<Result> {
  const { promise, resolve, reject } = Promise.withResolvers<Result>();
  const died = (cause: unknown): void => reject(new WorkerDied(`the worker ended before it answered: ${String(cause)}`, { cause }));
  const exited = (code: number): void => died(`exit code ${code}`);
  const aborted = (): void => reject(signal.reason as Error);
  worker.once('message', resolve).once('error', died).once('exit', exited);
  signal.addEventListener('abort', aborted, { once: true });
  try {
    worker.ref();
    worker.postMessage(job, []);
    return await promise;
  } finally {
    worker.unref();
    worker.off('message', resolve).off('error', died).off('exit', exited);
    signal.removeEventListener('abort', aborted);
  }
}
