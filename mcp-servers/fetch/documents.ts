import { LRUCache } from 'lru-cache';
import { keepingOf, refreshed, type Hop, type Keeping } from './keeping.ts';
import type { Page } from './shown.ts';

/** A page as it came, and by which exchanges. */
export interface Document {
  readonly page: Page;
  readonly trail: readonly Hop[];
  readonly status: number;
  /** false for a page that came out worse than it could: it is good for this reading, and fetched again for the next */
  readonly lasting: boolean;
}

/** Who asks for what, and which part of it. */
export interface Wish {
  /** what decides the answer: URL, form, and in whose name it is asked for */
  readonly document: string;
  readonly principal: string;
  /** whether this is a later part of a text whose beginning was read */
  readonly continuing: boolean;
}

export type Found =
  | { readonly is: 'usable'; readonly document: Document; readonly because: 'fresh' | 'continuing' }
  | { readonly is: 'stale'; readonly document: Document; readonly conditions: Readonly<Record<string, string>> }
  | { readonly is: 'missing' };

export interface DocumentsOptions {
  /** what all documents may hold, bytes; 0 keeps none */
  readonly maxBytes: number;
  /** longest that a document is used without asking its site, milliseconds */
  readonly maxFreshMs: number;
  /** milliseconds on any clock; injected by tests */
  readonly now?: () => number;
}

interface Kept {
  readonly document: Document;
  readonly conditions: Keeping['conditions'];
  readonly freshUntil: number;
  readonly partsUntil: number;
}

/** For how long a document that is stale is kept for the site to say that it has not changed, milliseconds. */
const STALE_MS = 3_600_000;
const MAX_DOCUMENTS = 10_000;
/** What an object costs besides what is in it, bytes, roughly; and a document's place in the cache. */
const OBJECT_BYTES = 128;
const ENTRY_BYTES = 1_024;

/** Converted pages, so that neither their later parts nor further calls download them again: at most so many bytes, the least used go. */
export class Documents {
  readonly #kept: LRUCache<string, Kept> | undefined;
  readonly #maxFreshMs: number;
  readonly #now: () => number;

  constructor({ maxBytes, maxFreshMs, now = () => performance.now() }: DocumentsOptions) {
    this.#maxFreshMs = maxFreshMs;
    this.#now = now;
    // purged by timers: what a site does not want stored must go though nobody asks for it again
    if (maxBytes > 0) this.#kept = new LRUCache({ max: MAX_DOCUMENTS, maxSize: maxBytes, ttlAutopurge: true, perf: { now } });
  }

  /** What is held now, bytes, by the estimate that the limit is about. */
  get bytes(): number {
    return this.#kept?.calculatedSize ?? 0;
  }

  /** The caller's own document goes before everybody's. */
  find(wish: Wish): Found {
    const found = [ownKey(wish), wish.document].map((key) => this.#judge(this.#kept?.get(key), wish));
    return found.find(({ is }) => is === 'usable') ?? found.find(({ is }) => is === 'stale') ?? { is: 'missing' };
  }

  /** Whether others may be given this document too. */
  keep(document: Document, wish: Wish): Keeping['for'] {
    const { for: whom, freshMs, partsMs, conditions } = keepingOf(document.trail, this.#maxFreshMs);
    const now = this.#now();
    const lasting = document.lasting ? { freshUntil: now + freshMs, conditions } : { freshUntil: now, conditions: undefined };
    const kept: Kept = { ...lasting, document, partsUntil: now + partsMs };
    const ttl = Math.max(partsMs, lasting.freshUntil - now, kept.conditions === undefined ? 0 : freshMs + STALE_MS);
    const key = whom === 'caller' ? ownKey(wish) : wish.document;
    this.#kept?.set(key, kept, { ttl: Math.ceil(ttl), size: ENTRY_BYTES + sizeOf([key, document]) });
    return whom;
  }

  #judge(kept: Kept | undefined, { continuing }: Wish): Found {
    const now = this.#now();
    if (kept === undefined) return { is: 'missing' };
    const { document, conditions, freshUntil, partsUntil } = kept;
    if (now < freshUntil) return { is: 'usable', document, because: 'fresh' };
    if (continuing && now < partsUntil) return { is: 'usable', document, because: 'continuing' };
    return conditions === undefined ? { is: 'missing' } : { is: 'stale', document, conditions };
  }
}

/** The document after a 304 that these exchanges ended with; undefined when that was about another version. */
export function unchanged(document: Document, trail: readonly Hop[]): Document | undefined {
  const [before, now] = [document.trail.at(-1), trail.at(-1)];
  const page = before !== undefined && now !== undefined ? refreshed(before, now) : undefined;
  return page === undefined ? undefined : { ...document, trail: [...trail.slice(0, -1), page] };
}

/** What decides an answer, but for the caller. Fragments are never sent. */
export function documentKey(url: URL, raw: boolean, by: string): string {
  const sent = new URL(url);
  sent.hash = '';
  return `${by} ${raw ? 'raw' : 'simplified'} ${sent.href}`;
}

function ownKey({ principal, document }: Wish): string {
  return `${principal}\n${document}`;
}

/** Two bytes for a character, which is the most that the engine needs. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return 2 * value.length;
  if (ArrayBuffer.isView(value)) return value.byteLength;
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce((sum: number, part) => sum + sizeOf(part), OBJECT_BYTES);
}
