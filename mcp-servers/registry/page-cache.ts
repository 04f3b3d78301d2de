import type { OutgoingHttpHeaders } from 'node:http';
import { LRUCache } from 'lru-cache';

/** A finished answer of a reading route. */
export interface CachedPage {
  readonly type: string;
  readonly headers: OutgoingHttpHeaders;
  readonly body: Buffer;
}

const MAX_BYTES = 32 * 1024 * 1024;
/** What an entry takes beside its body. */
const ENTRY_BYTES = 512;

/**
 * Finished answers by request target, in front of everything: nothing of a request is parsed when its answer is here. A commit empties it,
 * so an answer is never older than the database. Bounded by bytes.
 */
export class PageCache {
  readonly #pages: LRUCache<string, CachedPage>;

  constructor(maxBytes = MAX_BYTES) {
    this.#pages = new LRUCache({ maxSize: maxBytes, sizeCalculation: ({ body }, target) => body.length + target.length + ENTRY_BYTES });
  }

  get(target: string): CachedPage | undefined {
    return this.#pages.get(target);
  }

  keep(target: string, { body, ...rest }: CachedPage): void {
    // A copy of its own: a small Buffer is a slice of a shared one, and would keep all of that alive.
    const own = Buffer.allocUnsafeSlow(body.length);
    body.copy(own);
    this.#pages.set(target, { ...rest, body: own });
  }

  clear(): void {
    this.#pages.clear();
  }
}
