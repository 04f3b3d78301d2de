import { Counter, type Registry } from 'prom-client';
import type { Body } from './body.ts';
import type { Converted } from './convert/conversion.ts';
import type { FailureCode } from './failure.ts';

/** What one fetch process counts, besides the tool calls that its host counts. */
export class FetchMetrics {
  readonly #pages: Counter<'outcome'>;
  readonly #bytes: Counter<'stage'>;
  readonly #cuts: Counter<'limit'>;
  readonly #conversions: Counter<'method'>;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#pages = new Counter({
      name: 'toolyard_fetch_pages_total',
      help: 'pages asked for, by outcome: ok, refused, unreachable, status, robots, binary, conversion, busy',
      labelNames: ['outcome'],
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
      help: 'pages turned into text, by method: text, article, main, body, linear',
      labelNames: ['method'],
      registers,
    });
  }

  page(outcome: 'ok' | FailureCode): void {
    this.#pages.inc({ outcome });
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
