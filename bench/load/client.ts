import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Job, Outcome, Reply } from './job.ts';

/** Callers in a process of their own, which stays warm from one job to the next. */
export class LoadClient implements AsyncDisposable {
  readonly #process: ChildProcess;

  constructor() {
    // bodies by the thousand: JSON would be parsed again on the other side
    this.#process = fork(join(import.meta.dirname, 'worker.ts'), { serialization: 'advanced', execArgv: [] });
  }

  /** One job at a time. @throws Error with what went wrong: one wrong answer makes a figure worthless */
  async run(job: Job): Promise<Outcome> {
    const over = new AbortController();
    const options = { signal: over.signal };
    const replied = once(this.#process, 'message', options).then(([reply]) => reply as Reply);
    const ended = once(this.#process, 'exit', options).then((): Reply => ({ error: 'the load process ended' }));
    this.#process.send(job);
    const reply = await Promise.race([replied, ended]);
    over.abort();
    await Promise.allSettled([replied, ended]);
    if ('error' in reply) throw new Error(`${job.url}: ${reply.error}`);
    return reply.outcome;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await ended;
  }
}
