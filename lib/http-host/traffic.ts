import type { IncomingMessage, ServerResponse } from 'node:http';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { Log } from '../log.ts';
import { answerJson, pathOf } from './answer.ts';
import type { HttpLimits } from './limits.ts';
import { messageOf } from '../error-message.ts';

/** Whether a process can do its job now; the reason says what to do about it, the note what its job is now when that may change. */
export type Readiness = { ready: true; note?: string } | { ready: false; reason: string };

/** What a host serves. */
export interface Served {
  /** what this process is called in answers and logs */
  readonly part: string;
  /** answers everything but /healthz and /readyz; may be async: a rejection is logged and answered 500 */
  readonly handler: (req: IncomingMessage, res: ServerResponse) => unknown;
  /** asked on each GET /readyz; cheap, and at most 5 s */
  readonly ready: () => Readiness | Promise<Readiness>;
  readonly metrics: Registry;
  readonly log: Log;
}

/** Clients that are slow to send must not keep out those that only ask. */
type Kind = 'asking' | 'sending';

/** Every request of one host: answers health itself, bounds and counts the rest. */
export class Traffic {
  #draining = false;
  readonly #inFlight = { asking: 0, sending: 0 };
  #idle: (() => void) | undefined;
  readonly #options: Served;
  readonly #limits: HttpLimits;
  readonly #answered: Counter<'status'>;
  readonly #inFlightGauge: Gauge;

  constructor(options: Served, limits: HttpLimits) {
    this.#options = options;
    this.#limits = limits;
    const registers = [options.metrics];
    this.#answered = new Counter({
      name: 'toolyard_http_requests_total',
      help: 'requests answered, by HTTP status; aborted when the client left first',
      labelNames: ['status'],
      registers,
    });
    this.#inFlightGauge = new Gauge({ name: 'toolyard_http_requests_in_flight', help: 'requests being answered now', registers });
  }

  /** From now on /readyz says no, and clients are told to take their next request elsewhere. */
  drain(): void {
    this.#draining = true;
  }

  /** Resolves when no request is in flight. */
  async idle(): Promise<void> {
    if (this.#all() > 0) await new Promise<void>((resolve) => (this.#idle = resolve));
  }

  readonly listener = (req: IncomingMessage, res: ServerResponse): void => {
    if (this.#draining) res.setHeader('connection', 'close');
    switch (pathOf(req)) {
      case '/healthz':
        return answerJson(res, 200, { alive: true, part: this.#options.part });
      case '/readyz':
        return void this.#readiness().then((readiness) => answerJson(res, readiness.ready ? 200 : 503, readiness));
      default:
        return this.#serve(req, res);
    }
  };

  #serve(req: IncomingMessage, res: ServerResponse): void {
    const kind: Kind = hasBody(req) ? 'sending' : 'asking';
    if (this.#inFlight[kind] >= this.#limits.maxInFlight) {
      this.#answered.inc({ status: 503 });
      const error = `${this.#inFlight[kind]} requests like this one are being answered already; try again`;
      return answerJson(res, 503, { error }, { 'retry-after': '1' });
    }
    this.#count(kind, 1);
    res.once('close', () => this.#left(kind, res));
    void this.#handle(req, res);
  }

  async #handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    try {
      await this.#options.handler(req, res);
    } catch (error) {
      if (res.destroyed) return;
      this.#options.log.error({ err: error, path: pathOf(req) }, 'request failed');
      if (res.headersSent) res.destroy();
      else answerJson(res, 500, { error: 'internal error; the log of this server says more' });
    }
  }

  #left(kind: Kind, res: ServerResponse): void {
    this.#count(kind, -1);
    this.#answered.inc({ status: res.writableFinished ? String(res.statusCode) : 'aborted' });
    if (this.#all() === 0) this.#idle?.();
  }

  #count(kind: Kind, change: 1 | -1): void {
    this.#inFlight[kind] += change;
    this.#inFlightGauge.set(this.#all());
  }

  #all(): number {
    return this.#inFlight.asking + this.#inFlight.sending;
  }

  async #readiness(): Promise<Readiness> {
    if (this.#draining) return { ready: false, reason: 'stopping' };
    const { readyTimeoutMs } = this.#limits;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<Readiness>((resolve) => {
      timer = setTimeout(() => resolve({ ready: false, reason: `the readiness check took over ${readyTimeoutMs} ms` }), readyTimeoutMs);
    });
    try {
      return await Promise.race([this.#options.ready(), late]);
    } catch (error) {
      this.#options.log.error({ err: error }, 'readiness check failed');
      return { ready: false, reason: `the readiness check failed: ${messageOf(error)}` };
    } finally {
      clearTimeout(timer);
    }
  }
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
