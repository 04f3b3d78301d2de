import { setTimeout as delay } from 'node:timers/promises';

export interface WorkQueueOptions {
  /** Does what a key needs now. A rejection means: again, later. */
  readonly work: (key: string, signal: AbortSignal) => Promise<void>;
  /** keys worked on at a time */
  readonly concurrency: number;
  /** told of each rejection, with the wait until the next try, ms */
  readonly onFailure?: (key: string, error: unknown, waitMs: number) => void;
  readonly firstWaitMs?: number;
  readonly longestWaitMs?: number;
  /** from 0 up to 1 */
  readonly random?: () => number;
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<void>;
}

const FIRST_WAIT_MS = 200;
const LONGEST_WAIT_MS = 60_000;

/**
 * Keys that need work. A key is worked on once at a time, however often it is added; added meanwhile it is worked on once more. What fails is
 * tried again after a wait that doubles, alone: other keys go on.
 */
export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #end = new AbortController();
  /** in the order in which they are worked on */
  readonly #waiting = new Set<string>();
  readonly #working = new Map<string, Promise<void>>();
  readonly #again = new Set<string>();
  readonly #failures = new Map<string, number>();

  constructor(options: WorkQueueOptions) {
    this.#options = options;
  }

  /** keys that wait or are worked on */
  get size(): number {
    return this.#waiting.size + this.#working.size;
  }

  add(key: string): void {
    if (this.#end.signal.aborted) return;
    if (this.#working.has(key)) this.#again.add(key);
    else this.#waiting.add(key);
    this.#next();
  }

  /** Aborts what is under way and forgets the rest. Resolves when nothing is worked on any more. */
  async close(): Promise<void> {
    this.#end.abort(new Error('the queue is closed'));
    this.#waiting.clear();
    await Promise.all(this.#working.values());
  }

  #next(): void {
    for (const key of this.#waiting) {
      if (this.#working.size >= this.#options.concurrency) return;
      this.#waiting.delete(key);
      this.#working.set(key, this.#work(key));
    }
  }

  async #work(key: string): Promise<void> {
    const { signal } = this.#end;
    try {
      await this.#options.work(key, signal);
      this.#failures.delete(key);
    } catch (error) {
      if (!signal.aborted) void this.#addLater(key, error);
    } finally {
      this.#working.delete(key);
      if (this.#again.delete(key)) this.add(key);
      this.#next();
    }
  }

  async #addLater(key: string, error: unknown): Promise<void> {
    const { firstWaitMs = FIRST_WAIT_MS, longestWaitMs = LONGEST_WAIT_MS, random = Math.random, onFailure } = this.#options;
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    const waitMs = Math.min(firstWaitMs * 2 ** Math.min(failures, 30), longestWaitMs) * (0.5 + random() / 2);
    onFailure?.(key, error, waitMs);
    const wait = this.#options.wait ?? ((ms: number, signal: AbortSignal) => delay(ms, undefined, { signal }));
    await wait(waitMs, this.#end.signal).then(
      () => this.add(key),
      () => {},
    );
  }
}
