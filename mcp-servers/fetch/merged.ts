interface Running<T, N> {
  readonly result: Promise<T>;
  readonly stop: AbortController;
  readonly listeners: Set<(news: N) => void>;
  /** the last, for those who come later: nothing yet, or one */
  readonly news: N[];
  waiting: number;
}

export interface Waiting<N> {
  /** the signal of this caller, who may leave alone */
  readonly signal: AbortSignal;
  readonly listener?: ((news: N) => void) | undefined;
}

/**
 * Does a piece of work once for all who ask for it while it is being done. Who leaves takes nobody along; when the last has left, the work
 * is stopped.
 */
export class Merged<T, N = never> {
  readonly #running = new Map<string, Running<T, N>>();

  /** @throws what the work throws; the signal's reason */
  async run(key: string, { signal, listener }: Waiting<N>, work: (signal: AbortSignal, tell: (news: N) => void) => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const running = this.#running.get(key) ?? this.#start(key, work);
    running.waiting += 1;
    if (listener !== undefined) {
      running.listeners.add(listener);
      running.news.forEach((latest) => listener(latest));
    }
    try {
      return await unlessLeft(running.result, signal);
    } finally {
      if (listener !== undefined) running.listeners.delete(listener);
      running.waiting -= 1;
      if (running.waiting === 0) this.#end(key, running);
    }
  }

  #start(key: string, work: (signal: AbortSignal, tell: (news: N) => void) => Promise<T>): Running<T, N> {
    const stop = new AbortController();
    const listeners: Running<T, N>['listeners'] = new Set();
    const news: N[] = [];
    const result = work(stop.signal, (latest) => {
      news.splice(0, 1, latest);
      listeners.forEach((listener) => listener(latest));
    });
    const running = { result, stop, listeners, news, waiting: 0 };
    this.#running.set(key, running);
    // rejections reach those who wait; when all have left there is nobody to tell
    result.catch(() => {}).finally(() => this.#forget(key, running));
    return running;
  }

  /** The work may be over already, and another of that name begun. */
  #end(key: string, running: Running<T, N>): void {
    if (this.#forget(key, running)) running.stop.abort(new Error('everybody who waited for this has left'));
  }

  #forget(key: string, running: Running<T, N>): boolean {
    return this.#running.get(key) === running && this.#running.delete(key);
  }
}

async function unlessLeft<T>(result: Promise<T>, signal: AbortSignal): Promise<T> {
  const left = Promise.withResolvers<never>();
  const leave = (): void => left.reject(signal.reason as Error);
  signal.addEventListener('abort', leave);
  try {
    return await Promise.race([result, left.promise]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
