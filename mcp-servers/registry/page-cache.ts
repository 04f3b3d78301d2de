import { LRUCache } from 'lru-cache';

/** A finished answer of a reading route. */
export interface CachedPage {
  readonly type: string;
  readonly body: Buffer;
}

const MAX_BYTES = 32 * 1024 * 1024;

/**
 * Finished answers by request target, in front of everything: nothing of a request is parsed when its answer is here. A commit empties it,
 * so an answer is never older than the database. Bounded by bytes.
 */
export class PageCache {
  readonly #pages: LRUCache<string, CachedPage>;

  constructor(maxBytes = MAX_BYTES) {
    this.#pages = new LRUCache({ maxSize: maxBytes, sizeCalculation: ({ body }, target) => body.length + target.length + 1 });
  }

  get(target: string): CachedPage | undefined {
    return this.#pages.get(target);
  }

  keep(target: string, page: CachedPage): void {
    this.#pages.set(target, page);
  }

  clear(): void {
    this.#pages.clear();
  }
}
