import { steadyNow } from '../records/steady.ts';

/** How long an answer counts: clocks may be set meanwhile. */
const WINDOW_MS = 60_000;

/**
 * The API server's clock, which stamps the creation of claims, learned from the Date of its answers. This process's own may be wrong by days, and
 * would end claims that nobody wanted to end. It is never ahead of the server's by more than that is set back within two minutes; behind by less
 * than two seconds, and less the more answers there are, since a Date has whole seconds.
 */
export class ApiClock {
  readonly #own: () => number;
  #windowAt = -Infinity;
  /** the least by which the server's clock is ahead of this process's, as answers of a window prove; ms */
  #ahead: number | undefined;
  #aheadBefore: number | undefined;

  /** @param own Unix ms, steady; need not be right */
  constructor(own: () => number = steadyNow) {
    this.#own = own;
  }

  /** Takes the Date of an answer that comes in now. */
  saw(date: string | undefined): void {
    const time = Date.parse(date ?? '');
    if (Number.isNaN(time)) return;
    const own = this.#own();
    if (own - this.#windowAt >= WINDOW_MS) {
      this.#windowAt = own;
      this.#aheadBefore = this.#ahead;
      this.#ahead = undefined;
    }
    this.#ahead = Math.max(this.#ahead ?? -Infinity, time - own);
  }

  /** Unix ms; this process's own time before the first answer */
  now(): number {
    const ahead = Math.max(this.#ahead ?? -Infinity, this.#aheadBefore ?? -Infinity);
    return this.#own() + (ahead === -Infinity ? 0 : ahead);
  }
}
