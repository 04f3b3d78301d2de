import type { JSONRPCMessage, McpServer, RequestId, Transport } from '@modelcontextprotocol/server';
import { isJSONRPCErrorResponse, isJSONRPCRequest, isJSONRPCResultResponse } from '@modelcontextprotocol/server';
import { Counter, Histogram, type Registry } from 'prom-client';
import type { Log } from '../log.ts';
import { tap } from './tap.ts';

/** Who asks, and in which protocol era: `legacy` up to 2025-11-25, `modern` from 2026-07-28 on. */
export interface McpCall {
  /** `anonymous` with AUTH=none, else the name of the token */
  readonly principal: string;
  readonly era: 'legacy' | 'modern';
}

/**
 * How a tool call ended: `ok`; `error`, a result that says it failed; `refused`, no such tool or a malformed request; `oversized`, replaced
 * because it was larger than MAX_RESULT_BYTES; `cancelled`, the client left first.
 */
export type Outcome = 'ok' | 'error' | 'refused' | 'oversized' | 'cancelled';

interface PendingCall {
  readonly method: string;
  /** the tool's name if it is a registered one, so that what clients invent never becomes a label */
  readonly tool: string;
  readonly startedAt: number;
}

/** Watches every MCP exchange of one host: counts and logs tool calls, keeps results within their limit. */
export class Calls {
  readonly #maxResultBytes: number;
  readonly #log: Log;
  readonly #total: Counter<'tool' | 'outcome'>;
  readonly #seconds: Histogram<'tool'>;

  constructor(maxResultBytes: number, metrics: Registry, log: Log) {
    this.#maxResultBytes = maxResultBytes;
    this.#log = log;
    const registers = [metrics];
    this.#total = new Counter({
      name: 'toolyard_tool_calls_total',
      help: 'tool calls, by tool and outcome: ok, error, refused, oversized, cancelled',
      labelNames: ['tool', 'outcome'],
      registers,
    });
    this.#seconds = new Histogram({
      name: 'toolyard_tool_call_seconds',
      help: 'time from a tool call to its result',
      labelNames: ['tool'],
      buckets: [0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300],
      registers,
    });
  }

  watch(server: McpServer, call: McpCall): McpServer {
    return tap(server, (transport) => this.#tap(transport, server, call));
  }

  #tap(transport: Transport, server: McpServer, call: McpCall): void {
    const pending = new Map<RequestId, PendingCall>();
    const { onmessage, onclose } = transport;
    const send = transport.send.bind(transport);
    transport.onmessage = (message, extra) => {
      if (isJSONRPCRequest(message)) {
        pending.set(message.id, { method: message.method, tool: toolOf(server, message.params?.['name']), startedAt: performance.now() });
      }
      onmessage?.(message, extra);
    };
    transport.send = (message, options) => send(this.#judge(message, pending, call), options);
    transport.onclose = () => {
      for (const request of pending.values()) this.#ended(request, 'cancelled', 0, call);
      pending.clear();
      onclose?.();
    };
  }

  #judge(message: JSONRPCMessage, pending: Map<RequestId, PendingCall>, call: McpCall): JSONRPCMessage {
    if (isJSONRPCErrorResponse(message)) {
      const request = message.id === undefined ? undefined : take(pending, message.id);
      if (request !== undefined) this.#ended(request, 'refused', 0, call);
      return message;
    }
    if (!isJSONRPCResultResponse(message)) return message;
    const request = take(pending, message.id);
    if (request === undefined) return message;
    const bytes = Buffer.byteLength(JSON.stringify(message.result));
    const oversized = bytes > this.#maxResultBytes;
    this.#ended(request, oversized ? 'oversized' : message.result['isError'] === true ? 'error' : 'ok', bytes, call);
    return oversized ? replaced(message, request, this.#sizeComplaint(bytes)) : message;
  }

  #sizeComplaint(bytes: number): string {
    return `The result is ${bytes} bytes; this server sends at most ${this.#maxResultBytes} (MAX_RESULT_BYTES). Ask for less: a smaller part, a filter, a shorter range.`;
  }

  #ended(request: PendingCall, outcome: Outcome, bytes: number, { principal, era }: McpCall): void {
    if (request.method !== 'tools/call') return;
    const { tool } = request;
    const seconds = (performance.now() - request.startedAt) / 1000;
    this.#total.inc({ tool, outcome });
    this.#seconds.observe({ tool }, seconds);
    this.#log.info({ tool, outcome, ms: Math.round(seconds * 1000), bytes, principal, era }, 'tool call');
  }
}

type ResultResponse = Extract<JSONRPCMessage, { result: unknown }>;

/** What is sent in place of an oversized result: a tool's failure where the protocol has one, an internal error elsewhere. */
function replaced(message: ResultResponse, { method }: PendingCall, text: string): JSONRPCMessage {
  if (method !== 'tools/call') return { jsonrpc: '2.0', id: message.id, error: { code: -32603, message: text } };
  const { structuredContent: _dropped, ...kept } = message.result;
  return { ...message, result: { ...kept, content: [{ type: 'text', text }], isError: true } };
}

function take(pending: Map<RequestId, PendingCall>, id: RequestId): PendingCall | undefined {
  const request = pending.get(id);
  pending.delete(id);
  return request;
}

function toolOf(server: McpServer, name: unknown): string {
  return typeof name === 'string' && Object.hasOwn(server['_registeredTools'], name) ? name : 'unknown';
}
