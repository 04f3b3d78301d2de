import { HopRefused, RequestProblem } from './http.ts';
import { documentKey, Documents, type Wish } from './documents.ts';
import { Fetcher, type Downloaded, type FetcherOptions, type Progress, type Request } from './fetcher.ts';
import type { FetchFailure } from './failure.ts';
import { Merged } from './merged.ts';
import type { Page } from './shown.ts';

export interface PageOptions {
  readonly raw: Request['raw'];
  readonly by: Request['by'];
  /** who asks: what a site says to one principal alone is never given to another */
  readonly principal: string;
  /** whether a later part of a text is wanted, whose beginning was read before */
  readonly continuing: boolean;
  readonly signal: AbortSignal;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

export interface PagesOptions extends FetcherOptions {
  readonly cache: { readonly maxBytes: number; readonly maxFreshMs: number };
  /** told of every page asked for */
  readonly audit: (entry: AuditEntry) => void;
}

/** Where a page came from: `merged`, from a download that another call had begun. */
export type Source = 'fresh' | 'continuing' | 'revalidated' | 'merged' | 'download';

/** One page as it is logged: nothing in it tells a query, a fragment or credentials, which may be secret. */
export interface AuditEntry {
  readonly principal: string;
  readonly by: Request['by'];
  /** scheme, host and path */
  readonly url: string;
  /** where redirects led, likewise */
  readonly final?: string;
  readonly outcome: 'ok' | FetchFailure['code'] | 'left' | 'error';
  /** which address was refused, or how a request failed */
  readonly reason?: string;
  readonly source?: Source;
  /** HTTP status of the page */
  readonly status?: number;
  /** bytes received for this call, or for the one that it was merged with */
  readonly bytes: number;
  readonly ms: number;
}

interface Served {
  readonly source: Source;
  readonly downloaded: Downloaded;
}

/** A download together with who began it, and whether others may have it. */
interface Flight {
  readonly principal: string;
  readonly downloaded: Downloaded;
  readonly for: 'everyone' | 'caller';
}

/** Of a path no more is logged, characters. */
const MAX_LOGGED = 1_024;

/** Gives pages: from memory while that may be, else by one download for all who ask for the same at the same time. */
export class Pages {
  readonly #options: PagesOptions;
  readonly #fetcher: Fetcher;
  readonly #documents: Documents;
  readonly #flights = new Merged<Flight, Progress>();

  constructor(options: PagesOptions) {
    this.#options = options;
    this.#fetcher = new Fetcher(options);
    this.#documents = new Documents(options.cache);
    options.metrics.cacheSize(() => this.#documents.bytes);
  }

  /** @throws FetchFailure; the signal's reason when the caller left */
  async page(url: URL, options: PageOptions): Promise<Page> {
    const started = performance.now();
    const asked = { principal: options.principal, by: options.by, url: shownUrl(url.href) };
    const report = (entry: Pick<AuditEntry, 'outcome' | 'reason' | 'source'>, downloaded?: Downloaded): void => {
      const ms = performance.now() - started;
      this.#options.metrics.page({ ...entry, seconds: ms / 1000 });
      this.#options.audit({ ...asked, ...entry, ...factsOf(downloaded), ms: Math.round(ms) });
    };
    const { downloaded, source } = await this.#serve(url, options).catch((error: unknown) => {
      report({ outcome: options.signal.aborted ? 'left' : 'error' });
      throw error;
    });
    if (downloaded.ok) {
      report({ outcome: 'ok', source }, downloaded);
      return downloaded.document.page;
    }
    const { failure } = downloaded;
    report({ outcome: failure.code, source, ...reasonOf(failure) }, downloaded);
    throw failure;
  }

  async #serve(url: URL, options: PageOptions): Promise<Served> {
    const wish: Wish = { document: documentKey(url, options.raw, options.by), ...options };
    const found = this.#documents.find(wish);
    if (found.is !== 'usable') return this.#download(url, wish, options);
    const { document } = found;
    return { source: found.because, downloaded: { ok: true, document, revalidated: false, status: document.status, wireBytes: 0 } };
  }

  /** What turns out to be for one principal only is downloaded again for each other who waited for it. */
  async #download(url: URL, wish: Wish, options: PageOptions): Promise<Served> {
    const { principal } = wish;
    // failures name the URL as it was asked for, so that its fragment counts here
    const key = `${wish.document}${url.hash}`;
    const shared = await this.#fly(key, url, wish, options);
    const mine = shared.flight.for === 'everyone' || shared.flight.principal === principal;
    const { flight, began } = mine ? shared : await this.#fly(`${principal}\n${key}`, url, wish, options);
    const revalidated = flight.downloaded.ok && flight.downloaded.revalidated;
    return { downloaded: flight.downloaded, source: !began ? 'merged' : revalidated ? 'revalidated' : 'download' };
  }

  async #fly(key: string, url: URL, wish: Wish, options: PageOptions): Promise<{ flight: Flight; began: boolean }> {
    const { raw, by, signal, onProgress: listener } = options;
    let began = false;
    const flight = await this.#flights.run(key, { signal, listener }, async (stop, tell): Promise<Flight> => {
      began = true;
      const found = this.#documents.find(wish);
      const stale = found.is === 'stale' ? found : undefined;
      const downloaded = await this.#fetcher.fetch({ url, raw, by }, { signal: stop, onProgress: tell, stale });
      const whom = downloaded.ok ? this.#documents.keep(downloaded.document, wish) : 'everyone';
      return { principal: wish.principal, downloaded, for: whom };
    });
    return { flight, began };
  }
}

function factsOf(downloaded: Downloaded | undefined): Pick<AuditEntry, 'status' | 'bytes' | 'final'> {
  const { status, href, wireBytes = 0 } = downloaded ?? {};
  return { bytes: wireBytes, ...(status !== undefined && { status }), ...(href !== undefined && { final: shownUrl(href) }) };
}

function reasonOf({ cause }: FetchFailure): { reason?: string } {
  if (cause instanceof HopRefused) return { reason: cause.refusal.message };
  return cause instanceof RequestProblem ? { reason: cause.kind } : {};
}

function shownUrl(href: string): string {
  const { protocol, host, pathname } = new URL(href);
  return `${protocol}//${host}${pathname}`.slice(0, MAX_LOGGED);
}
