import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { McpServer as V1Server } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { generate } from 'selfsigned';
import { afterEach, describe, expect, test } from 'vitest';
import { guardedAgent } from '../../lib/address-guard/guard.ts';
import { anythingButLinkLocal, publicOnly } from '../../lib/address-guard/policy.ts';
import { parseJson } from '../../lib/json.ts';
import type { Verdict } from '../../operator/records/answers.ts';
import { MAX_PROBE_BYTES, MAX_TOOLS, probe, type ProbeOptions } from '../../operator/records/probe.ts';
import type { Address } from '../../operator/records/target.ts';
import { startServer } from './bench.ts';

/** Milliseconds: for servers that answer, however busy this machine is; and for those that never do. */
const PATIENT = 10_000;
const BRIEF = 1_500;

const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

type Answer = (req: IncomingMessage, res: ServerResponse, body: unknown) => unknown;

/** An HTTP server that answers as told; counts what it is asked. */
async function serve(answer: Answer): Promise<{ url: string; requests: IncomingMessage[] }> {
  const requests: IncomingMessage[] = [];
  const server = createServer((req, res) => {
    requests.push(req);
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => void answer(req, res, parseJson(Buffer.concat(chunks).toString('utf8'))));
  });
  return { url: `${await listen(server)}/mcp`, requests };
}

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function address(url: string, fields: Partial<Address> = {}): Address {
  return { is: 'address', url, transport: 'streamable-http', headers: {}, namespace: 'directory', ...fields };
}

async function ask(url: string | Address, options: Partial<ProbeOptions> = {}): Promise<Verdict> {
  const dispatcher = guardedAgent(anythingButLinkLocal());
  closers.push(() => dispatcher.destroy());
  const target = typeof url === 'string' ? address(url) : url;
  return probe(target, { dispatcher, timeoutMs: PATIENT, signal: new AbortController().signal, ...options });
}

interface Rpc {
  readonly id?: number;
  readonly method: string;
  readonly params?: { cursor?: string };
}

/** A server of the 2025 era as short as it can be: `pages` answers tools/list. */
function legacy(pages: (cursor: string | undefined) => unknown): Answer {
  return (_req, res, body) => {
    const { id, method, params } = body as Rpc;
    if (id === undefined) return res.writeHead(202).end();
    const result =
      method === 'initialize'
        ? { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } }
        : method === 'tools/list'
          ? pages(params?.cursor)
          : undefined;
    const error = { code: -32601, message: 'SECRET of the other side' };
    const answer = result === undefined ? { jsonrpc: '2.0', id, error } : { jsonrpc: '2.0', id, result };
    return res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  };
}

const JSON_TYPE = { 'content-type': 'application/json' };
const good = legacy(() => ({ tools: [] }));

/** A tool whose schema is nested too deeply for anybody who walks it by recursion. */
function abyss(res: ServerResponse, { id }: Rpc): unknown {
  const schema = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  const result = `{"tools":[{"name":"x","inputSchema":${schema}}]}`;
  return res.writeHead(200, JSON_TYPE).end(`{"jsonrpc":"2.0","id":${id},"result":${result}}`);
}

function tool(name: string) {
  return { name, inputSchema: { type: 'object' } };
}

function reasonOf(verdict: Verdict): string {
  return verdict.is === 'fails' ? verdict.reason : verdict.is;
}

describe('servers that answer', () => {
  test('one of the new era, with its tools by name', async () => {
    const server = await startServer(['b', 'a']);
    closers.push(() => server.close());
    const verdict = await ask(`${server.url}/mcp`);
    expect(verdict).toMatchObject({ is: 'answers', protocol: '2026-07-28', tools: { count: 2, names: ['a', 'b'] } });
  });

  test('one of the old era with sessions: its session is ended, its stream of notifications never opened', async () => {
    const sessions: string[] = [];
    const transports = new Map<string, StreamableHTTPServerTransport>();
    const { url, requests } = await serve(async (req, res, body) => {
      const known = transports.get(String(req.headers['mcp-session-id']));
      if (known !== undefined) return known.handleRequest(req, res, body);
      const transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => crypto.randomUUID(),
        onsessioninitialized: (id) => void transports.set(id, transport),
        onsessionclosed: (id) => void sessions.push(id),
      });
      const server = new V1Server({ name: 'old', version: '1.0.0' });
      server.registerTool('old', { description: 'old' }, () => ({ content: [] }));
      await server.connect(transport);
      return transport.handleRequest(req, res, body);
    });
    const verdict = await ask(url);
    expect(verdict).toMatchObject({ is: 'answers', protocol: '2025-11-25', tools: { count: 1 } });
    expect(sessions).toHaveLength(1);
    expect(requests.map(({ method }) => method)).not.toContain('GET');
  });

  test('one of the old era that breaks on the first request of the new one', async () => {
    const old = legacy(() => ({ tools: [tool('x')] }));
    const { url } = await serve((req, res, body) =>
      (body as Rpc).method === 'server/discover' ? res.writeHead(500).end() : old(req, res, body),
    );
    expect(await ask(url)).toMatchObject({ is: 'answers', protocol: '2025-11-25' });
  });

  test('one of the old era that never answers the first request of the new one', async () => {
    const old = legacy(() => ({ tools: [] }));
    const { url } = await serve((req, res, body) => ((body as Rpc).method === 'server/discover' ? undefined : old(req, res, body)));
    expect(await ask(url, { timeoutMs: BRIEF })).toMatchObject({ is: 'answers', protocol: '2025-11-25' });
  });

  test('one that still speaks HTTP with SSE', async () => {
    const transports = new Map<string, SSEServerTransport>();
    const { url } = await serve(async (req, res, body) => {
      if (req.method === 'GET') {
        const transport = new SSEServerTransport('/messages', res);
        transports.set(transport.sessionId, transport);
        const server = new V1Server({ name: 'sse', version: '1.0.0' });
        server.registerTool('streamed', {}, () => ({ content: [] }));
        return server.connect(transport);
      }
      const id = new URL(req.url ?? '', 'http://x').searchParams.get('sessionId') ?? '';
      return transports.get(id)?.handlePostMessage(req, res, body);
    });
    expect(await ask(address(url, { transport: 'sse' }))).toMatchObject({ is: 'answers', tools: { names: ['streamed'] } });
  });

  test('one whose tools come in pages, one of them malformed beyond its name', async () => {
    const { url } = await serve(
      legacy((cursor) => (cursor === undefined ? { tools: [tool('one')], nextCursor: '2' } : { tools: [{ name: 'two', inputSchema: 7 }] })),
    );
    expect(await ask(url)).toMatchObject({ is: 'answers', tools: { count: 2, names: ['one', 'two'] } });
  });

  test('one without tools at all', async () => {
    const { url } = await serve((_req, res, body) => {
      const { id } = body as Rpc;
      if (id === undefined) return res.writeHead(202).end();
      const result = { protocolVersion: '2025-06-18', capabilities: { resources: {} }, serverInfo: { name: 'x', version: '1' } };
      return res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    });
    expect(await ask(url)).toMatchObject({ is: 'answers', tools: { count: 0 } });
  });

  test('the same tools in another order and with other spelling of their schemas have the same digest', async () => {
    const schema = { type: 'object', properties: { a: {}, b: {} } };
    const turned = { properties: { b: {}, a: {} }, type: 'object' };
    const first = await serve(legacy(() => ({ tools: [{ ...tool('x'), inputSchema: schema }, tool('y')] })));
    const second = await serve(legacy(() => ({ tools: [tool('y'), { inputSchema: turned, name: 'x' }] })));
    const third = await serve(legacy(() => ({ tools: [tool('y'), { ...tool('x'), description: 'changed' }] })));
    const digests = await Promise.all([first, second, third].map(async ({ url }) => ask(url)));
    const [a, b, c] = digests.map((verdict) => (verdict.is === 'answers' ? verdict.tools.digest : reasonOf(verdict)));
    expect(a).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(b).toBe(a);
    expect(c).not.toBe(a);
  });
});

describe('servers that ask who is there', () => {
  test.each([401, 403] as const)('HTTP %i with a challenge is an answer', async (status) => {
    const { url } = await serve((_req, res) => res.writeHead(status, { 'www-authenticate': 'Bearer' }).end('SECRET'));
    expect(await ask(url)).toEqual({ is: 'auth-required', status });
  });

  test('HTTP 401 without a challenge is none', async () => {
    const { url } = await serve((_req, res) => res.writeHead(401).end());
    expect(reasonOf(await ask(url))).toBe('HttpError');
  });

  test('credentials go to their own origin only', async () => {
    const { url, requests } = await serve((_req, res) => res.writeHead(401, { 'www-authenticate': 'Bearer' }).end());
    await ask(url, { credentials: { authorization: 'Bearer mine', origin: new URL(url).origin } });
    await ask(url, { credentials: { authorization: 'Bearer other', origin: 'https://other.example' } });
    const sent = new Set(requests.map(({ headers }) => headers.authorization));
    expect(sent).toEqual(new Set(['Bearer mine', undefined]));
  });

  test('headers that the record gives every client are sent, and none that belong to the protocol', async () => {
    const { url, requests } = await serve((_req, res) => res.writeHead(404).end());
    await ask(address(url, { headers: { 'x-region': 'eu' } }));
    expect(requests[0]?.headers).toMatchObject({ 'x-region': 'eu', 'content-type': 'application/json' });
  });
});

describe('servers that fail', () => {
  const cases: [string, string, Answer][] = [
    ['hangs', 'TimedOut', () => undefined],
    [
      'starts to answer and stops',
      'TimedOut',
      (_req, res) => res.writeHead(200, { 'content-type': 'text/event-stream' }).write(': wait\n\n'),
    ],
    ['answers HTTP, but not MCP', 'NotMcp', (_req, res) => res.writeHead(200, { 'content-type': 'text/html' }).end('<h1>hello</h1>')],
    ['answers garbage', 'NotMcp', (_req, res) => res.writeHead(200, { 'content-type': 'application/json' }).end('{{{')],
    ['answers other JSON', 'NotMcp', (_req, res) => res.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}')],
    ['is not found', 'HttpError', (_req, res) => res.writeHead(404).end()],
    ['is broken', 'HttpError', (_req, res) => res.writeHead(503).end()],
    ['redirects', 'Redirected', (_req, res) => res.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()],
    ['hangs up', 'ConnectionLost', (req) => req.socket.destroy()],
    ['lists something that is no list', 'InvalidAnswer', legacy(() => ({ tools: 'all' }))],
    ['lists tools without names', 'InvalidAnswer', legacy(() => ({ tools: [{}] }))],
    ['refuses to list', 'InvalidAnswer', legacy(() => undefined)],
    ['lists without end', 'TooManyTools', legacy((cursor) => ({ tools: [tool('x')], nextCursor: `${Number(cursor ?? 0) + 1}` }))],
    ['lists 10,000 tools', 'TooManyTools', legacy(() => ({ tools: Array.from({ length: 10_000 }, (_, index) => tool(`t${index}`)) }))],
    [
      'answers with more than can be read',
      'AnswerTooLarge',
      legacy(() => ({ tools: [{ ...tool('x'), description: 'x'.repeat(MAX_PROBE_BYTES) }] })),
    ],
  ];

  const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, ' '));
  cases.push(
    ['answers with a bomb', 'AnswerTooLarge', (_req, res) => res.writeHead(200, { ...JSON_TYPE, 'content-encoding': 'gzip' }).end(bomb)],
    [
      'nests without end',
      'InvalidAnswer',
      (req, res, body) => ((body as Rpc).method === 'tools/list' ? abyss(res, body as Rpc) : good(req, res, body)),
    ],
  );

  test('one that asks back without end makes the operator send only so much', async () => {
    const { url, requests } = await serve((req, res, body) => {
      const { id, method } = (body ?? {}) as Rpc;
      if (method !== 'tools/list') return good(req, res, body);
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      for (let ping = 0; ping < 5_000; ping += 1) res.write(`data: {"jsonrpc":"2.0","id":"p${ping}","method":"ping"}\n\n`);
      return res.end(`data: {"jsonrpc":"2.0","id":${id},"result":{"tools":[]}}\n\n`);
    });
    expect(reasonOf(await ask(url))).toBe('InvalidAnswer');
    expect(requests.length).toBeLessThan(250);
  });

  test.each(cases)('one that %s: %s', async (_what, reason, answer) => {
    const { url } = await serve(answer);
    const start = performance.now();
    const verdict = await ask(url, { timeoutMs: reason === 'TimedOut' ? BRIEF : PATIENT });
    expect(reasonOf(verdict)).toBe(reason);
    expect(performance.now() - start, 'bounded in time').toBeLessThan(PATIENT);
    expect(JSON.stringify(verdict), 'shows nothing of what the other side wrote').not.toMatch(/SECRET|hello|127\.0\.0\.1/);
  });

  test('10,000 tools: the reason says how many are too many', async () => {
    const { url } = await serve(legacy(() => ({ tools: Array.from({ length: MAX_TOOLS + 1 }, (_, index) => tool(`t${index}`)) })));
    expect(await ask(url)).toMatchObject({ message: expect.stringContaining(`more than ${MAX_TOOLS} tools`) as string });
  });

  test('one at an address where nothing listens', async () => {
    const { url } = await serve(() => undefined);
    await closers.pop()?.();
    expect(reasonOf(await ask(url))).toBe('ConnectionRefused');
  });

  test('one at a port that no web client would use', async () => {
    expect(await ask('http://127.0.0.1:25/mcp')).toMatchObject({
      reason: 'AddressRefused',
      message: expect.stringContaining('port') as string,
    });
  });

  test('one whose name nobody knows', async () => {
    const resolve = () => Promise.reject(Object.assign(new Error('not found'), { code: 'ENOTFOUND' }));
    const dispatcher = guardedAgent(anythingButLinkLocal(), { resolve });
    closers.push(() => dispatcher.destroy());
    expect(reasonOf(await ask('http://nowhere.example/mcp', { dispatcher }))).toBe('NameNotResolved');
  });

  test('one that speaks something else than HTTP', async () => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => {});
      socket.end('220 mail.example ESMTP\r\n');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    closers.push(() => server.close());
    expect(reasonOf(await ask(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`))).toBe('NotMcp');
  });

  test('one at an address that declarations may not reach is not dialled', async () => {
    const { url, requests } = await serve((_req, res) => res.end());
    const dispatcher = guardedAgent(publicOnly());
    closers.push(() => dispatcher.destroy());
    const verdict = await ask(url, { dispatcher });
    expect(reasonOf(verdict)).toBe('AddressRefused');
    expect(requests).toHaveLength(0);
    expect(reasonOf(await ask('http://169.254.169.254/mcp'))).toBe('AddressRefused');
  });

  test('one whose certificate nobody vouches for, until its authority is known', async () => {
    const pems = await generate([{ name: 'commonName', value: '127.0.0.1' }], {
      extensions: [{ name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] }],
    });
    const server = createTlsServer({ key: pems.private, cert: pems.cert }, (_req, res) => res.writeHead(404).end());
    const url = (await listen(server)).replace('http:', 'https:');
    expect(reasonOf(await ask(`${url}/mcp`))).toBe('TlsFailed');
    const dispatcher = guardedAgent(anythingButLinkLocal(), { ca: [pems.cert] });
    closers.push(() => dispatcher.destroy());
    expect(reasonOf(await ask(`${url}/mcp`, { dispatcher }))).toBe('HttpError');
  });
});

test('a probe that is no longer wanted ends at once', async () => {
  const { url } = await serve(() => undefined);
  const controller = new AbortController();
  const reason = new Error('no longer wanted');
  const asked = ask(url, { signal: controller.signal, timeoutMs: 10_000 });
  setImmediate(() => controller.abort(reason));
  await expect(asked).rejects.toBe(reason);
});
