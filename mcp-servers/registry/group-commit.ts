import type { DatabaseSync } from 'node:sqlite';

interface Job {
  /** does the work; its promise is settled once the commit is on disk */
  readonly run: () => { readonly changed: boolean; readonly settle: () => void };
  readonly fail: (error: unknown) => void;
}

/** Told of each commit that changed something: how many writes it carried, and how long it took. */
export type Committed = (writes: number, seconds: number) => void;

/**
 * Writes that arrive within one turn of the event loop share one transaction, hence one flush to disk; each has a savepoint of its own,
 * so a refusal undoes only itself. A promise settles after the commit: what was acknowledged survives a crash.
 */
export class GroupCommit {
  readonly #database: DatabaseSync;
  readonly #committed: Committed;
  #queue: Job[] = [];

  /** @param committed called before any of the writes is acknowledged */
  constructor(database: DatabaseSync, committed: Committed) {
    this.#database = database;
    this.#committed = committed;
  }

  /** @throws what `work` throws, its own changes undone; the database's error when the commit failed, everybody's changes undone */
  run<T>(work: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#queue.length === 0) setImmediate(() => this.flush());
      this.#queue.push({
        run: () => {
          const outcome = this.#inSavepoint(work);
          if ('thrown' in outcome) return { changed: false, settle: () => reject(outcome.thrown) };
          return { changed: true, settle: () => resolve(outcome.returned) };
        },
        fail: reject,
      });
    });
  }

  /** Commits what is waiting now. */
  flush(): void {
    const jobs = this.#queue;
    this.#queue = [];
    if (jobs.length === 0) return;
    const started = performance.now();
    try {
      this.#database.exec('BEGIN IMMEDIATE');
      const done = jobs.map((job) => job.run());
      this.#database.exec('COMMIT');
      const writes = done.filter(({ changed }) => changed).length;
      if (writes > 0) this.#committed(writes, (performance.now() - started) / 1000);
      for (const { settle } of done) settle();
    } catch (error) {
      for (const job of jobs) job.fail(error);
      this.#rollBack();
    }
  }

  #inSavepoint<T>(work: () => T): { returned: T } | { thrown: unknown } {
    this.#database.exec('SAVEPOINT request');
    try {
      const returned = work();
      this.#database.exec('RELEASE request');
      return { returned };
    } catch (thrown) {
      this.#database.exec('ROLLBACK TO request; RELEASE request');
      return { thrown };
    }
  }

  #rollBack(): void {
    if (this.#database.isOpen && this.#database.isTransaction) this.#database.exec('ROLLBACK');
  }
}
