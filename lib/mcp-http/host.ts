import type { IncomingMessage, ServerResponse } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, type AuthInfo, type McpRequestContext, type McpServer } from '@modelcontextprotocol/server';
import { Registry } from 'prom-client';
import { answerJson, pathOf } from '../http-host/answer.ts';
import { Bodies } from '../http-host/body.ts';
import { startHttpHost, type HttpHost, type Readiness } from '../http-host/host.ts';
import type { HttpLimits } from '../http-host/limits.ts';
import type { Log } from '../log.ts';
import { openCallers } from './callers.ts';
import { Calls, type McpCall } from './calls.ts';
import type { McpHostSettings } from './config.ts';
import { admittedHosts, refusalOf } from './origin.ts';
import { CallLimit } from './rate.ts';
import { Sessions, type Exchange } from './sessions.ts';

export type { McpCall };

export interface McpHostOptions {
  readonly part: string;
  readonly settings: McpHostSettings;
  /** Called for each request. Keep schemas in module constants: building them here costs 1.6 ms a request. */
  readonly createServer: (call: McpCall) => McpServer;
  readonly ready: () => Readiness | Promise<Readiness>;
  /** @default a registry of its own */
  readonly metrics?: Registry;
  readonly log: Log;
  /** @default defaultLimits */
  readonly limits?: Partial<HttpLimits>;
  /** as HttpHostOptions has them */
  readonly onDrain?: () => Promise<void>;
  readonly onClose?: () => Promise<void>;
}

/**
 * Serves MCP at /mcp, and at PUBLIC_PATH, over streamable HTTP to clients of both eras, without sessions that a replica keeps: any of them answers any request. A tool's abort
 * signal (`ctx.mcpReq.signal`) fires when its client disconnects or cancels the call.
 * @throws ConfigError, ListenError
 */
export async function startMcpHost(options: McpHostOptions): Promise<HttpHost> {
  const { part, settings, log, ready, limits, onDrain } = options;
  const metrics = options.metrics ?? new Registry();
  const callers = openCallers(settings, log);
  const calls = new Calls(settings.MAX_RESULT_BYTES, metrics, log);
  const limit = settings.CALLS_PER_MINUTE === undefined ? undefined : new CallLimit(settings.CALLS_PER_MINUTE, metrics);
  const hosts = admittedHosts(settings);
  const paths = new Set(['/mcp', settings.PUBLIC_PATH]);
  // what the SDK reports here are requests it refused, which their senders were told
  const onerror = (error: Error) => log.debug({ err: error }, 'MCP request refused');
  const maxRequestBodySize = settings.MAX_BODY_BYTES;
  const watching = { calls, limit, sessions: new Sessions() };
  const handler = createMcpHandler((context) => createWatched(options, watching, context), {
    maxRequestBodySize,
    onerror,
  });
  const serve = toNodeHandler(handler, { maxRequestBodySize, onerror });
  const bodies = new Bodies(maxRequestBodySize);

  const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    if (!paths.has(pathOf(req))) return answerJson(res, 404, { error: `nothing here; ${part} serves MCP at /mcp` });
    const refusal = refusalOf(req.headers, hosts);
    if (refusal !== undefined) return refuse(res, 403, refusal);
    const admission = callers.admit(req.headers.authorization);
    if (!admission.admitted) return refuse(res, 401, admission.message, { 'www-authenticate': admission.challenge });
    const body = await bodies.read(req, res);
    if (!body.taken && body.why === 'too-large')
      return refuse(res, 413, `the request body is over ${maxRequestBodySize} bytes (MAX_BODY_BYTES)`);
    if (!body.taken) return refuse(res, 503, 'too many large requests are being answered already; try again', { 'retry-after': '1' });
    await serve(readRequest(req, body.bytes, callerOf(admission.principal, req, res)), res);
  };

  const onClose = async () => {
    callers.close();
    await handler.close();
    await options.onClose?.();
  };
  try {
    const given = { ...(limits && { limits }), ...(onDrain && { onDrain }) };
    return await startHttpHost({ part, settings, handler: answer, ready, metrics, log, onClose, ...given });
  } catch (error) {
    callers.close();
    throw error;
  }
}

/** What travels with one request to the server that is built for it. */
interface Caller extends AuthInfo {
  readonly extra: { readonly exchange: Exchange };
}

/**
 * `over` fires when the response closes, finished or not. It is ours because the SDK's own way to the tool does not last: a Request follows
 * the signal it was given through weak references, so that a legacy call is never aborted once garbage was collected (server 2.4.0).
 */
function callerOf(principal: string, req: IncomingMessage, res: ServerResponse): Caller {
  const over = new AbortController();
  res.once('close', () => over.abort());
  const exchange: Exchange = {
    principal,
    session: req.headersDistinct['mcp-session-id']?.[0],
    open: (session) => void res.setHeader('mcp-session-id', session),
    end: () => over.abort(),
    over: over.signal,
  };
  // the token itself is nobody's business further in
  return { token: '', clientId: principal, scopes: [], extra: { exchange } };
}

/** A request as the SDK's adapter takes it, its body already read. */
function readRequest({ method, url, headers }: IncomingMessage, body: Buffer, auth: Caller) {
  return {
    ...(method !== undefined && { method }),
    ...(url !== undefined && { url }),
    headers,
    auth,
    async *[Symbol.asyncIterator]() {
      yield body;
    },
  };
}

interface Watching {
  readonly calls: Calls;
  readonly limit: CallLimit | undefined;
  readonly sessions: Sessions;
}

function createWatched(
  { createServer, log }: McpHostOptions,
  { calls, limit, sessions }: Watching,
  { era, authInfo }: McpRequestContext,
): McpServer {
  const { exchange } = (authInfo as Caller).extra;
  const { principal, over } = exchange;
  const call: McpCall = { principal, era };
  try {
    const server = calls.watch(withoutListChanged(createServer(call)), call);
    if (era === 'legacy') sessions.watch(server, exchange);
    limit?.guard(server, principal);
    over.addEventListener('abort', () => void server.close().catch((error: unknown) => log.debug({ err: error }, 'closing failed')));
    return server;
  } catch (error) {
    log.error({ err: error }, 'the MCP server could not be built');
    throw error;
  }
}

/**
 * Servers live for one request and cannot announce changes. The SDK would promise it for them, and a client that subscribes would keep a
 * request in flight for ever; so it is told at once that there is nothing to wait for.
 */
function withoutListChanged(server: McpServer): McpServer {
  const { tools, prompts, resources } = server.server.getCapabilities();
  server.server.registerCapabilities({
    ...(tools && { tools: { ...tools, listChanged: false } }),
    ...(prompts && { prompts: { ...prompts, listChanged: false } }),
    ...(resources && { resources: { ...resources, listChanged: false } }),
  });
  return server;
}

function refuse(res: ServerResponse, status: number, message: string, headers: Record<string, string> = {}): void {
  answerJson(res, status, { jsonrpc: '2.0', error: { code: -32000, message }, id: null }, headers);
}
