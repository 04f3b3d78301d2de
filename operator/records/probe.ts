import { createHash } from 'node:crypto';
import { Client, SSEClientTransport, StreamableHTTPClientTransport, type FetchLike } from '@modelcontextprotocol/client';
import { fetch as undiciFetch, type Dispatcher, type Response as UndiciResponse } from 'undici';
import { z } from 'zod';
import { version } from '../../lib/version.ts';
import type { ToolInventory, Verdict } from './answers.ts';
import type { Address } from './target.ts';
import { classify, type Facts } from './verdict.ts';

/** Sent with a probe to one origin only. */
export interface Credentials {
  readonly authorization: string;
  readonly origin: string;
}

export interface ProbeOptions {
  /** what vets every address that is dialled */
  readonly dispatcher: Dispatcher;
  /** for everything together, ms */
  readonly timeoutMs: number;
  readonly credentials?: Credentials;
  /** ends the probe early; it then throws the signal's reason */
  readonly signal: AbortSignal;
}

/** No client shows a model more tools than a few hundred; a list beyond this is a fault, or an attack on those who read it. */
export const MAX_TOOLS = 2000;
const MAX_PAGES = 100;
/** All answers of one probe together, decompressed: hundreds of probes may run at once. */
export const MAX_PROBE_BYTES = 4 * 1024 * 1024;
/** One for each page, and some for the handshake and for what a server asks back: each of its words could cost a request otherwise. */
const MAX_REQUESTS = MAX_PAGES + 50;
/** A session that is not ended costs the server memory, so it gets this long even when the probe's own time is used up. */
const GOODBYE_MS = 1000;

/** What is needed of a page; tools may carry whatever they like. */
const toolPage = z.looseObject({
  tools: z.array(z.looseObject({ name: z.string() })),
  nextCursor: z.string().optional(),
});

type Tool = z.infer<typeof toolPage>['tools'][number];

/**
 * A fresh MCP handshake and `tools/list`, as any client would do them: 2026-07-28 where the server speaks it, else 2025-11-25 and before.
 * Follows no redirect, ends a 2025 session. Never throws for anything that the other side does.
 */
export async function probe(address: Address, options: ProbeOptions): Promise<Verdict> {
  const deadline = AbortSignal.timeout(options.timeoutMs);
  const bounded = { ...options, signal: AbortSignal.any([options.signal, deadline]) };
  const modern = await attempt(address, bounded, address.transport === 'sse' ? 'legacy' : 'auto');
  options.signal.throwIfAborted();
  if (deadline.aborted || address.transport === 'sse' || !mayBeOfOldEra(modern)) return modern.verdict;
  const legacy = await attempt(address, bounded, 'legacy');
  options.signal.throwIfAborted();
  return legacy.verdict;
}

interface Attempted {
  readonly verdict: Verdict;
  readonly stage: Facts['stage'];
}

/** Some servers of the 2025 era break on the first request of the new one, or keep silent, instead of refusing it. */
function mayBeOfOldEra({ verdict, stage }: Attempted): boolean {
  const inconclusive = ['HttpError', 'NotMcp', 'InvalidAnswer', 'TimedOut', 'ConnectionLost'];
  return stage === 'handshake' && verdict.is === 'fails' && inconclusive.includes(verdict.reason);
}

async function attempt(address: Address, options: ProbeOptions, mode: 'auto' | 'legacy'): Promise<Attempted> {
  const { timeoutMs } = options;
  const flood = new AbortController();
  const signal = AbortSignal.any([options.signal, flood.signal]);
  const facts: Facts = { timeoutMs, stage: 'handshake' };
  const url = new URL(address.url);
  const fetch = observedFetch(address, { ...options, signal }, facts, flood);
  const transport =
    address.transport === 'sse'
      ? new SSEClientTransport(url, { fetch, redirectPolicy: 'follow' })
      : new StreamableHTTPClientTransport(url, { fetch, redirectPolicy: 'follow', reconnectionOptions: neverReconnect });
  // a server that does not even answer the first request of the new era leaves half of the time for the old one
  const client = new Client({ name: 'toolyard-operator', version }, { versionNegotiation: { mode, probe: { timeoutMs: timeoutMs / 2 } } });
  try {
    const verdict = await Promise.race([converse(client, transport, { ...options, signal }, facts), aborted(signal)]);
    return { verdict, stage: facts.stage };
  } catch (error) {
    return { verdict: classify(error, facts), stage: facts.stage };
  } finally {
    await goodbye(client, transport);
  }
}

async function converse(client: Client, transport: ProbeTransport, { signal, timeoutMs }: ProbeOptions, facts: Facts): Promise<Verdict> {
  const limits = { signal, timeout: timeoutMs };
  await client.connect(transport, limits);
  facts.stage = 'tools';
  const tools = client.getServerCapabilities()?.tools === undefined ? [] : await listTools(client, limits, facts);
  return { is: 'answers', protocol: client.getNegotiatedProtocolVersion() ?? 'unknown', tools: inventory(tools) };
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const abort = () => reject(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
  });
}

type ProbeTransport = SSEClientTransport | StreamableHTTPClientTransport;

const neverReconnect = { maxRetries: 0, initialReconnectionDelay: 1, maxReconnectionDelay: 1, reconnectionDelayGrowFactor: 1 };

/** Page by page, since one malformed tool must not hide the others and an endless list must end. */
async function listTools(client: Client, limits: { signal: AbortSignal; timeout: number }, facts: Facts): Promise<Tool[]> {
  const tools: Tool[] = [];
  let cursor: string | undefined;
  for (let page = 1; page <= MAX_PAGES; page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const result = await client.request({ method: 'tools/list', params }, toolPage, limits);
    tools.push(...result.tools);
    if (tools.length > MAX_TOOLS) break;
    if (result.nextCursor === undefined) return tools;
    cursor = result.nextCursor;
  }
  facts.overflow = `lists more than ${tools.length > MAX_TOOLS ? `${MAX_TOOLS} tools` : `${MAX_PAGES} pages of tools`}`;
  throw new Error(facts.overflow);
}

function inventory(tools: readonly Tool[]): ToolInventory {
  const described = tools.map((tool) => canonical([tool.name, tool['description'], tool['inputSchema'], tool['outputSchema']]));
  const digest = createHash('sha256').update(described.toSorted().join('\n')).digest('hex');
  return { count: tools.length, digest: `sha256:${digest}`, names: tools.map(({ name }) => name).toSorted() };
}

/** JSON with sorted keys: servers that build their schemas anew each time need not keep an order. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) =>
    typeof item === 'object' && item !== null && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  );
}

async function goodbye(client: Client, transport: ProbeTransport): Promise<void> {
  try {
    if (transport instanceof StreamableHTTPClientTransport && transport.sessionId !== undefined) await transport.terminateSession();
  } catch {
    // a server may refuse to end sessions (405), or be gone: there is nothing to do about it
  }
  await client.close().catch(() => {});
}

/**
 * The fetch that the SDK's transports use. Notes what decides a verdict, since the SDK's errors carry the other side's words; bounds what is
 * read; adds headers; dials through the guard.
 */
function observedFetch(address: Address, options: ProbeOptions, facts: Facts, flood: AbortController): FetchLike {
  const budget = { bytesLeft: MAX_PROBE_BYTES, requestsLeft: MAX_REQUESTS };
  const send = (url: URL, init: RequestInit, signal: AbortSignal): Promise<UndiciResponse> =>
    undiciFetch(url, {
      method: init.method ?? 'GET',
      headers: headersFor(url, init, address, options),
      body: typeof init.body === 'string' ? init.body : null,
      redirect: 'manual',
      dispatcher: options.dispatcher,
      signal: init.signal ? AbortSignal.any([init.signal, signal]) : signal,
    });
  return async (url, init = {}) => {
    if (init.method === 'DELETE') return emptied(await send(new URL(url), init, AbortSignal.timeout(GOODBYE_MS)));
    // the stream for notifications is of no use to a probe, and some servers keep it open for ever
    if (init.method !== 'POST' && address.transport !== 'sse') return new Response(null, { status: 405 });
    budget.requestsLeft -= 1;
    if (budget.requestsLeft < 0) {
      facts.flooded = true;
      flood.abort(new Error('it asks back without end'));
    }
    try {
      const response = await send(new URL(url), init, options.signal);
      facts.status = response.status;
      facts.challenged = response.headers.has('www-authenticate');
      return bounded(response, budget, facts);
    } catch (error) {
      facts.network = error;
      throw error;
    }
  };
}

function headersFor(url: URL, init: RequestInit, address: Address, { credentials }: ProbeOptions): Record<string, string> {
  const own = Object.fromEntries(new Headers(init.headers));
  const secret = credentials?.origin === url.origin ? { authorization: credentials.authorization } : {};
  return { ...address.headers, ...own, ...secret };
}

async function emptied(response: UndiciResponse): Promise<Response> {
  await response.body?.cancel();
  return new Response(null, { status: response.status });
}

function bounded(response: UndiciResponse, budget: { bytesLeft: number }, facts: Facts): Response {
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      budget.bytesLeft -= chunk.byteLength;
      if (budget.bytesLeft >= 0) return controller.enqueue(chunk);
      facts.tooLarge = true;
      return controller.error(new Error('the answers are too large'));
    },
  });
  const body = response.body as ReadableStream<Uint8Array> | null;
  return new Response(body === null ? null : body.pipeThrough(counted), { status: response.status, headers: [...response.headers] });
}
