import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Body } from './body.ts';
import type { Converted } from './convert/conversion.ts';
import type { AuditEntry } from './pages.ts';

/** What one fetch process counts, besides the tool calls that its host counts. */
export class FetchMetrics {
  readonly #registry: Registry;
  readonly #pages: Counter<'outcome'>;
  readonly #seconds: Histogram<'source'>;
  readonly #bytes: Counter<'stage'>;
  readonly #cuts: Counter<'limit'>;
  readonly #conversions: Counter<'method'>;
  readonly #downloads: Gauge;
  readonly #waiting: Gauge;
  readonly #turns: Histogram;

  constructor(registry: Registry) {
    this.#registry = registry;
    const registers = [registry];
    this.#pages = new Counter({
      name: 'toolyard_fetch_pages_total',
      help: 'pages asked for, by outcome: ok, refused, unreachable, status, robots, binary, conversion, busy, resting, left, error',
      labelNames: ['outcome'],
      registers,
    });
    this.#seconds = new Histogram({
      name: 'toolyard_fetch_page_seconds',
      help: 'time from asking for a page to its text or failure, by where it came from: fresh and continuing (memory), revalidated (304), merged (with a download under way), download, none',
      labelNames: ['source'],
      buckets: [0.001, 0.005, 0.02, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60],
      registers,
    });
    this.#bytes = new Counter({
      name: 'toolyard_fetch_bytes_total',
      help: 'bytes of pages, as received (wire) and after decompression (decoded)',
      labelNames: ['stage'],
      registers,
    });
    this.#cuts = new Counter({
      name: 'toolyard_fetch_cuts_total',
      help: 'bodies that were not read to their end, by the limit they met: wire, decoded, ratio, kind',
      labelNames: ['limit'],
      registers,
    });
    this.#conversions = new Counter({
      name: 'toolyard_fetch_conversions_total',
      help: 'pages turned into text, by method: text, article, hidden, body, data, linear, feed, pdf',
      labelNames: ['method'],
      registers,
    });
    this.#downloads = new Gauge({ name: 'toolyard_fetch_downloads_in_flight', help: 'pages being downloaded or converted now', registers });
    this.#waiting = new Gauge({ name: 'toolyard_fetch_host_waiting', help: 'requests that wait for their turn at a host now', registers });
    this.#turns = new Histogram({
      name: 'toolyard_fetch_host_wait_seconds',
      help: 'time for which requests waited for their turn at a host, those that did not wait not counted',
      buckets: [0.01, 0.1, 0.5, 1, 2, 5, 10, 30],
      registers,
    });
  }

  /** One page that was asked for, when it has been answered. */
  page({ outcome, source, seconds }: Pick<AuditEntry, 'outcome' | 'source'> & { readonly seconds: number }): void {
    this.#pages.inc({ outcome });
    this.#seconds.observe({ source: source ?? 'none' }, seconds);
  }

  /** A download begins; to be called when it has ended. */
  downloading(): () => void {
    this.#downloads.inc();
    return () => this.#downloads.dec();
  }

  waiting(requests: number): void {
    this.#waiting.set(requests);
  }

  turn(waitedMs: number): void {
    this.#turns.observe(waitedMs / 1000);
  }

  /** Asked for when metrics are collected. */
  cacheSize(bytes: () => number): void {
    const gauge: Gauge = new Gauge({
      name: 'toolyard_fetch_cache_bytes',
      help: 'bytes of documents kept in memory',
      registers: [this.#registry],
      collect: (): void => gauge.set(bytes()),
    });
  }

  read({ bytes, wireBytes, cut }: Body): void {
    this.#bytes.inc({ stage: 'wire' }, wireBytes);
    this.#bytes.inc({ stage: 'decoded' }, bytes.length);
    if (cut !== undefined) this.#cuts.inc({ limit: cut });
  }

  converted(method: Converted['method']): void {
    this.#conversions.inc({ method });
  }
}
