import { LRUCache } from 'lru-cache';
import type { Turns } from './http.ts';

/** Longest that a host is left alone because it asked for it, milliseconds: a mistyped hour must not shut out a site for a day. */
const MAX_REST_MS = 600_000;
/** Hosts remembered for having asked for that; beyond, the oldest are forgotten. */
const MAX_RESTING = 1_000;
/** Requests that wait for their turn, for all hosts together. */
const MAX_WAITING = 512;

/** Why a request was not made now: `resting`, its host asked to be left alone; `crowded`, too many wait; `late`, no turn before the deadline. */
export class NoTurn extends Error {
  override readonly name = 'NoTurn';
  readonly why: 'resting' | 'crowded' | 'late';

  constructor(why: NoTurn['why'], message: string) {
    super(message);
    this.why = why;
  }
}

export interface HostsOptions {
  /** requests to one host at a time */
  readonly atOnce: number;
  /** least time between the starts of two requests to one host, milliseconds */
  readonly delayMs: number;
  /** milliseconds since 1970; injected by tests */
  readonly now?: () => number;
  /** told how many requests wait, whenever that changes, and how long each has waited, milliseconds */
  readonly onWaiting?: (waiting: number) => void;
  readonly onTurn?: (waitedMs: number) => void;
}

interface Host {
  running: number;
  nextAt: number;
  timer: NodeJS.Timeout | undefined;
  readonly waiting: Waiter[];
}

interface Waiter {
  readonly go: () => void;
  readonly giveUp: (why: Error) => void;
}

interface Rest {
  readonly status: number;
  /** milliseconds since 1970 */
  readonly until: number;
}

/** Spares the hosts that are fetched from: few requests at a time, apart from each other if wished, none while a host wants none. */
export class Hosts implements Turns {
  readonly #options: HostsOptions;
  readonly #now: () => number;
  readonly #hosts = new Map<string, Host>();
  readonly #resting = new LRUCache<string, Rest>({ max: MAX_RESTING });
  #waiting = 0;

  constructor(options: HostsOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  /**
   * Waits for a turn at the host of a URL: its name and port, 80 and 443 counting as one.
   * @throws NoTurn; the signal's reason when that is no deadline
   */
  async enter({ host }: URL, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    this.#requireAwake(host);
    const at = this.#hosts.get(host) ?? { running: 0, nextAt: 0, timer: undefined, waiting: [] };
    this.#hosts.set(host, at);
    if (at.waiting.length > 0 || !this.#isFree(at)) await this.#wait(host, at, signal);
    else this.#begin(at);
    let left = false;
    return () => {
      if (left) return;
      left = true;
      at.running -= 1;
      this.#advance(host, at);
    };
  }

  /** A host that is too busy and says for how long is left alone (RFC 9110 section 10.2.3, RFC 6585 section 4), by those who wait too. */
  answered({ host }: URL, status: number, retryAfter: string | undefined): void {
    const wishMs = status === 429 || status === 503 ? restOf(retryAfter, this.#now()) : undefined;
    if (wishMs === undefined) return;
    this.#resting.set(host, { status, until: this.#now() + Math.min(wishMs, MAX_REST_MS) });
    const at = this.#hosts.get(host);
    for (const { giveUp } of at?.waiting.splice(0) ?? []) giveUp(this.#refusal(host) ?? new Error('unreachable'));
    if (at !== undefined) this.#advance(host, at);
  }

  /** What to tell who has just been turned away by this host, empty when it asked for nothing. */
  advice({ host }: URL): string {
    const refusal = this.#refusal(host);
    return refusal === undefined ? '' : `; ${refusal.message}`;
  }

  #requireAwake(host: string): void {
    const refusal = this.#refusal(host);
    if (refusal !== undefined) throw refusal;
  }

  #refusal(host: string): NoTurn | undefined {
    const rest = this.#resting.get(host);
    const leftMs = (rest?.until ?? 0) - this.#now();
    if (rest === undefined || leftMs <= 0) return undefined;
    const until = new Date(Math.ceil(rest.until / 1000) * 1000).toISOString().replace('.000', '');
    return new NoTurn('resting', `${host} answered ${rest.status} and is left alone until ${until}: try again in ${seconds(leftMs)}`);
  }

  #isFree({ running, nextAt }: Host): boolean {
    return running < this.#options.atOnce && this.#now() >= nextAt;
  }

  #begin(at: Host): void {
    at.running += 1;
    at.nextAt = this.#now() + this.#options.delayMs;
  }

  async #wait(host: string, at: Host, signal: AbortSignal): Promise<void> {
    if (this.#waiting >= MAX_WAITING) throw new NoTurn('crowded', `${this.#waiting} requests wait for their turn already: try again`);
    const turn = Promise.withResolvers<void>();
    const waiter: Waiter = { go: turn.resolve, giveUp: turn.reject };
    const leave = (): void => turn.reject(this.#tooLate(host, signal.reason));
    const since = this.#now();
    signal.addEventListener('abort', leave);
    at.waiting.push(waiter);
    this.#count(1);
    this.#advance(host, at);
    try {
      await turn.promise;
      this.#options.onTurn?.(this.#now() - since);
    } finally {
      this.#count(-1);
      signal.removeEventListener('abort', leave);
      const index = at.waiting.indexOf(waiter);
      if (index >= 0) at.waiting.splice(index, 1);
      this.#advance(host, at);
    }
  }

  #tooLate(host: string, reason: unknown): unknown {
    if (!(reason instanceof DOMException) || reason.name !== 'TimeoutError') return reason;
    return new NoTurn('late', `no turn at ${host} in time, which gets at most ${this.#options.atOnce} requests at once: try again`);
  }

  /** Lets those begin whose turn it is; forgets a host about which there is nothing to remember. */
  #advance(host: string, at: Host): void {
    while (at.waiting.length > 0 && this.#isFree(at)) {
      this.#begin(at);
      at.waiting.shift()?.go();
    }
    clearTimeout(at.timer);
    const idle = at.running === 0 && at.waiting.length === 0;
    const delayed = (idle || at.running < this.#options.atOnce) && at.nextAt > this.#now();
    if (delayed) at.timer = setTimeout(() => this.#advance(host, at), at.nextAt - this.#now()).unref();
    else if (idle && this.#hosts.get(host) === at) this.#hosts.delete(host);
  }

  #count(change: 1 | -1): void {
    this.#waiting += change;
    this.#options.onWaiting?.(this.#waiting);
  }
}

/** Retry-After as milliseconds from now: a number of seconds or a date; undefined when it is neither, or over already. */
function restOf(retryAfter: string | undefined, now: number): number | undefined {
  if (retryAfter === undefined) return undefined;
  const wishMs = /^\s*\d+\s*$/.test(retryAfter) ? Number(retryAfter) * 1000 : Date.parse(retryAfter) - now;
  return wishMs > 0 ? wishMs : undefined;
}

function seconds(ms: number): string {
  return `${Math.ceil(ms / 1000)} s`;
}
