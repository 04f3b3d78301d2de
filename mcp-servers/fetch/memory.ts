import { FetchFailure } from './failure.ts';

/** What every page may hold, whatever the others do, bytes: pages that are slow and large must not keep the small ones out. */
const FREE_BYTES = 1024 * 1024;

/** What one page holds. */
export interface Account {
  /** @throws FetchFailure when there is no more to be had */
  readonly reserve: (bytes: number) => void;
  /** Gives everything back. */
  readonly close: () => void;
}

/** What the bodies of large pages may hold together: each by itself has a limit that not all can reach at once. */
export class BodyMemory {
  readonly #most: number;
  #held = 0;

  /** @param most bytes, beyond the first MiB of each page */
  constructor(most: number) {
    this.#most = most;
  }

  /** Opens the account of the page at this URL. */
  open(url: URL): Account {
    let length = 0;
    let counted = 0;
    return {
      reserve: (bytes) => {
        const further = Math.max(0, length + bytes - FREE_BYTES) - counted;
        if (this.#held + further > this.#most) {
          throw new FetchFailure('busy', `Failed to fetch ${url.href}: this server is reading too many large pages already; try again`);
        }
        length += bytes;
        counted += further;
        this.#held += further;
      },
      close: () => {
        this.#held -= counted;
        counted = 0;
      },
    };
  }
}
