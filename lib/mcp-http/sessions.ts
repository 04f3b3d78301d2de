import { randomUUID } from 'node:crypto';
import { isJSONRPCNotification, isJSONRPCRequest, type JSONRPCMessage, type McpServer, type RequestId } from '@modelcontextprotocol/server';
import { tap } from './tap.ts';

/** One HTTP request of a client of the legacy era, and the calls in it. */
export interface Exchange {
  readonly principal: string;
  /** what the client sent as Mcp-Session-Id */
  readonly session: string | undefined;
  /** gives the client its session, in the answer to this request */
  readonly open: (session: string) => void;
  /** ends this request and the tools that work for it */
  readonly end: () => void;
  /** aborted when this request is over */
  readonly over: AbortSignal;
}

/**
 * In the legacy era a client ends a call by a message in a request of its own; its session and the call's id tell which call that is. Sessions
 * are names here and nothing more: none is kept, any replica takes any of them. A message that reaches another replica than its call ends nothing.
 */
export class Sessions {
  /** calls in flight */
  readonly #ends = new Map<string, () => void>();

  watch(server: McpServer, exchange: Exchange): McpServer {
    return tap(server, (transport) => {
      const { onmessage } = transport;
      transport.onmessage = (message, extra) => {
        this.#look(message, exchange);
        onmessage?.(message, extra);
      };
    });
  }

  #look(message: JSONRPCMessage, exchange: Exchange): void {
    if (isJSONRPCRequest(message) && message.method === 'initialize') return exchange.open(randomUUID());
    if (exchange.session === undefined) return;
    if (isJSONRPCRequest(message)) return this.#began(keyOf(exchange, message.id), exchange);
    const id = cancelledBy(message);
    if (id !== undefined) this.#ends.get(keyOf(exchange, id))?.();
  }

  #began(key: string, { end, over }: Exchange): void {
    // a client that gives two calls one id cannot mean the first any more
    this.#ends.set(key, end);
    over.addEventListener('abort', () => {
      if (this.#ends.get(key) === end) this.#ends.delete(key);
    });
  }
}

function keyOf({ principal, session }: Exchange, id: RequestId): string {
  return JSON.stringify([principal, session, id]);
}

function cancelledBy(message: JSONRPCMessage): RequestId | undefined {
  if (!isJSONRPCNotification(message) || message.method !== 'notifications/cancelled') return undefined;
  const id = message.params?.['requestId'];
  return typeof id === 'string' || typeof id === 'number' ? id : undefined;
}
