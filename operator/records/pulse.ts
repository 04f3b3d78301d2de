const BEAT_MS = 100;
/** Timers are late by a few milliseconds on any machine. */
const USUAL_LATENESS_MS = 20;
/** Nothing is asked about longer ago: no probe takes more than a minute. */
const REMEMBERED_MS = 5 * 60_000;

/** Notices when this process does not get to run: then what it waited for may have been there in time. */
export class Pulse {
  #timer: NodeJS.Timeout | undefined;
  #lastBeat = 0;
  #gaps: readonly { readonly at: number; readonly ms: number }[] = [];

  start(): void {
    this.#lastBeat = performance.now();
    this.#timer = setInterval(() => this.#beat(), BEAT_MS);
    this.#timer.unref();
  }

  /** How long this process could not run since a time of `performance.now()`, ms. */
  lostSince(since: number): number {
    // the gap that just ended may not have been noted yet
    this.#beat();
    return this.#gaps.filter(({ at }) => at > since).reduce((sum, { at, ms }) => sum + Math.min(ms, at - since), 0);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #beat(): void {
    const at = performance.now();
    const ms = at - this.#lastBeat - BEAT_MS - USUAL_LATENESS_MS;
    this.#lastBeat = at;
    if (ms > 0) this.#gaps = [...this.#gaps.filter((gap) => gap.at > at - REMEMBERED_MS), { at, ms }];
  }
}
