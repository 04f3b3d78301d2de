import { ProtocolError, type McpServer } from '@modelcontextprotocol/server';
import { Counter, type Registry } from 'prom-client';

interface Bucket {
  tokens: number;
  filledAt: number;
}

/** What counts as a call: what makes a server work for its caller. */
const LIMITED = ['tools/call', 'prompts/get', 'resources/read'] as const;
type Handler = (request: unknown, context: unknown) => Promise<unknown>;

/** JSON-RPC codes from −32000 to −32099 are the server's own. */
const TOO_MANY = -32_029;

/**
 * So many calls a minute for each caller, in this process: a bucket that holds a minute's worth, so that a burst is no fault, and fills
 * evenly. Callers are few: the names of the tokens.
 */
export class CallRate {
  readonly #perMinute: number;
  readonly #now: () => number;
  readonly #buckets = new Map<string, Bucket>();

  /** @param now milliseconds on any clock; injected by tests */
  constructor(perMinute: number, now: () => number = () => performance.now()) {
    this.#perMinute = perMinute;
    this.#now = now;
  }

  /** Takes one call from the caller's minute; how long to wait instead, milliseconds, when there is none left. */
  take(principal: string): number {
    const now = this.#now();
    const { tokens, filledAt } = this.#buckets.get(principal) ?? { tokens: this.#perMinute, filledAt: now };
    const filled = Math.min(this.#perMinute, tokens + ((now - filledAt) * this.#perMinute) / 60_000);
    const waitMs = filled < 1 ? ((1 - filled) * 60_000) / this.#perMinute : 0;
    this.#buckets.set(principal, { tokens: waitMs > 0 ? filled : filled - 1, filledAt: now });
    return waitMs;
  }
}

/** Turns away the calls of whoever has had the calls of a minute, each with the time after which to try again. */
export class CallLimit {
  readonly #perMinute: number;
  readonly #rate: CallRate;
  readonly #refused: Counter;

  constructor(perMinute: number, metrics: Registry) {
    this.#perMinute = perMinute;
    this.#rate = new CallRate(perMinute);
    this.#refused = new Counter({
      name: 'toolyard_calls_limited_total',
      help: 'calls turned away because their caller had made CALLS_PER_MINUTE already',
      registers: [metrics],
    });
  }

  /** Between the SDK and the handlers that it has by now: results go out in the form of the caller's era. */
  guard(server: McpServer, principal: string): McpServer {
    const handlers = server.server['_requestHandlers'] as Map<string, Handler>;
    for (const method of LIMITED) {
      const handle = handlers.get(method);
      if (handle === undefined) continue;
      handlers.set(method, (request, context) => {
        const waitMs = this.#rate.take(principal);
        return waitMs === 0 ? handle(request, context) : this.#refuse(method, waitMs);
      });
    }
    return server;
  }

  #refuse(method: (typeof LIMITED)[number], waitMs: number): Promise<unknown> {
    this.#refused.inc();
    const text = `This server takes ${this.#perMinute} calls a minute from one caller (CALLS_PER_MINUTE). Try again in ${Math.ceil(waitMs / 1000)} s.`;
    if (method !== 'tools/call') return Promise.reject(new ProtocolError(TOO_MANY, text));
    return Promise.resolve({ content: [{ type: 'text', text }], isError: true });
  }
}
