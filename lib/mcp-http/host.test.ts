import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { McpServer } from '@modelcontextprotocol/server';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { HttpHost } from '../http-host/host.ts';
import { mcpHostSettings, type McpHostSettings } from './config.ts';
import { startMcpHost, type McpCall, type McpHostOptions } from './host.ts';

const text = (said: string) => ({ content: [{ type: 'text' as const, text: said }] });
const echoInput = z.object({ text: z.string() });
const sizeInput = z.object({ bytes: z.number() });
const noInput = z.object({});
const PARENT_OF_TESTS = 'toolyard-mcp-http-';

/** What the tool `wait` saw of its abort signal. */
let begun: PromiseWithResolvers<void>;
let aborted: PromiseWithResolvers<void>;
let released: PromiseWithResolvers<void>;

function createServer(call: McpCall): McpServer {
  const server = new McpServer({ name: 'test', version: '1.0.0' });
  server.registerTool('echo', { description: 'says it back', inputSchema: echoInput }, (input) => text(input.text));
  server.registerTool('who', { description: 'who asks', inputSchema: noInput }, () => text(`${call.principal} ${call.era}`));
  server.registerTool('large', { description: 'a large result', inputSchema: sizeInput }, ({ bytes }) => text('x'.repeat(bytes)));
  server.registerTool('fail', { description: 'fails', inputSchema: noInput }, () => ({ ...text('try again later'), isError: true }));
  server.registerTool('wait', { description: 'waits', inputSchema: noInput }, async (_input, { mcpReq }) => {
    begun.resolve();
    mcpReq.signal.addEventListener('abort', () => aborted.resolve());
    await Promise.race([released.promise, aborted.promise]);
    return text('waited');
  });
  server.registerResource('large', 'test://large', { mimeType: 'text/plain' }, ({ href }) => ({
    contents: [{ uri: href, text: 'x'.repeat(3000) }],
  }));
  return server;
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const hosts: HttpHost[] = [];
const clients: Client[] = [];
let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), PARENT_OF_TESTS));
  [begun, aborted, released] = [Promise.withResolvers(), Promise.withResolvers(), Promise.withResolvers()];
});

afterEach(async () => {
  released.resolve();
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await Promise.all(hosts.splice(0).map((host) => host.close()));
  rmSync(directory, { recursive: true });
});

async function start(changed: Record<string, unknown> = {}, options: Partial<McpHostOptions> = {}): Promise<HttpHost> {
  const settings: McpHostSettings = z
    .object(mcpHostSettings)
    .parse({ PORT: 0, METRICS_PORT: 'off', DRAIN_SECONDS: 0, MAX_RESULT_BYTES: 2048, ...changed });
  const log = pino({ level: 'silent' });
  const host = await startMcpHost({ part: 'test', settings, createServer, ready: () => ({ ready: true }), log, ...options });
  hosts.push(host);
  return host;
}

async function connect({ url }: HttpHost, era: McpCall['era'], token?: string, path = '/mcp'): Promise<Client> {
  const client = new Client(
    { name: 't', version: '1' },
    { versionNegotiation: { mode: era === 'legacy' ? 'legacy' : { pin: '2026-07-28' } } },
  );
  clients.push(client);
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}${path}`), { requestInit: { headers } }));
  return client;
}

const call = (client: Client, name: string, args: Record<string, unknown> = {}) => client.callTool({ name, arguments: args });

/** One POST as it goes over the wire; fetch would not let a test choose Host. */
async function post(
  { url }: HttpHost,
  body: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: string; challenge: string }> {
  const defaults = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const req = request(`${url}/mcp`, { method: 'POST', headers: { ...defaults, ...headers } });
  req.end(body);
  const [[res]] = await Promise.all([once(req, 'response'), once(req, 'finish')]);
  let received = '';
  for await (const chunk of res) received += chunk;
  return { status: res.statusCode, body: received, challenge: String(res.headers['www-authenticate'] ?? '') };
}

const LIST = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });

test("a message that cancels ends the call of its own session, and closes its response; nobody else's", async () => {
  const host = await start();
  const send = (body: object, session?: string) =>
    post(host, JSON.stringify({ jsonrpc: '2.0', ...body }), session === undefined ? {} : { 'mcp-session-id': session });
  const running = send({ id: 7, method: 'tools/call', params: { name: 'wait', arguments: {} } }, 'mine');
  await begun.promise;
  for (const [session, requestId] of [
    ['other', 7],
    [undefined, 7],
    ['mine', 8],
    ['mine', '7'],
  ] as const) {
    expect((await send({ method: 'notifications/cancelled', params: { requestId } }, session)).status).toBe(202);
  }
  expect(await Promise.race([aborted.promise.then(() => 'aborted'), setImmediate('running')])).toBe('running');
  expect((await send({ method: 'notifications/cancelled', params: { requestId: 7 } }, 'mine')).status).toBe(202);
  await aborted.promise;
  expect((await running).body).not.toContain('waited');
});

describe.each(['legacy', 'modern'] as const)('a client of the %s era', (era) => {
  test('lists and calls tools, and is told apart from the other era', async () => {
    const client = await connect(await start(), era);
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('echo');
    expect((await call(client, 'who')).content).toEqual([{ type: 'text', text: `anonymous ${era}` }]);
  });

  test('gets an error in place of a result over the limit, telling what to do', async () => {
    const client = await connect(await start(), era);
    expect((await call(client, 'large', { bytes: 1000 })).isError).toBeUndefined();
    const result = await call(client, 'large', { bytes: 5000 });
    expect(result.isError).toBe(true);
    expect(JSON.stringify(result.content)).toMatch(
      /result is 5\d\d\d bytes; this server sends at most 2048 \(MAX_RESULT_BYTES\). Ask for less/,
    );
    await expect(client.readResource({ uri: 'test://large' })).rejects.toThrow('MAX_RESULT_BYTES');
  });

  test('that leaves during a call aborts its tool', async () => {
    const host = await start();
    const client = await connect(host, era);
    void call(client, 'wait').catch(() => {});
    await begun.promise;
    // what a long call meets: a Request follows its signal by weak references only
    for (let turn = 0; turn < 5; turn += 1) {
      await setImmediate();
      collectGarbage();
    }
    await client.close();
    await expect(aborted.promise).resolves.toBeUndefined();
  });

  test('that cancels a call ends its tool; it is not left hanging, nor is the connection', async () => {
    const host = await start();
    const client = await connect(host, era);
    const cancelling = new AbortController();
    const cancelled = client.callTool({ name: 'wait', arguments: {} }, { signal: cancelling.signal });
    await begun.promise;
    cancelling.abort('enough');
    await expect(cancelled).rejects.toThrow('enough');
    await expect(aborted.promise).resolves.toBeUndefined();
    released.resolve();
    expect((await call(client, 'echo', { text: 'still here' })).content).toEqual([{ type: 'text', text: 'still here' }]);
  });

  test('has its calls counted by tool and outcome; names that clients invent are counted as unknown', async () => {
    const metrics = new Registry();
    const client = await connect(await start({}, { metrics }), era);
    await call(client, 'echo', { text: 'hi' });
    await call(client, 'echo', { text: 7 });
    await call(client, 'fail');
    await call(client, 'large', { bytes: 5000 });
    for (const invented of ['nope', 'constructor', '__proto__', 'toString']) await call(client, invented).catch(() => {});
    const counts = (await metrics.getSingleMetric('toolyard_tool_calls_total')?.get())?.values.map(({ labels, value }) => [
      labels['tool'],
      labels['outcome'],
      value,
    ]);
    expect(counts?.toSorted()).toEqual([
      ['echo', 'error', 1],
      ['echo', 'ok', 1],
      ['fail', 'error', 1],
      ['large', 'oversized', 1],
      ['unknown', 'refused', 4],
    ]);
  });

  test('that has made the calls of its minute is told when to try again, by result or error', async () => {
    const metrics = new Registry();
    const client = await connect(await start({ CALLS_PER_MINUTE: 2 }, { metrics }), era);
    for (const said of ['one', 'two']) expect((await call(client, 'echo', { text: said })).isError).toBeUndefined();
    const result = await call(client, 'echo', { text: 'three' });
    expect(result.isError).toBe(true);
    expect(result.content).toEqual([
      {
        type: 'text',
        text: expect.stringMatching(/^This server takes 2 calls a minute from one caller \(CALLS_PER_MINUTE\)\. Try again in (29|30) s\.$/),
      },
    ]);
    await expect(client.readResource({ uri: 'test://large' })).rejects.toThrow('Try again in');
    expect((await client.listTools()).tools.length).toBeGreaterThan(0);
    expect((await metrics.getSingleMetric('toolyard_calls_limited_total')?.get())?.values[0]?.value).toBe(2);
  });

  test('has its calls logged without their arguments', async () => {
    const lines: string[] = [];
    const client = await connect(await start({}, { log: pino({ level: 'debug' }, { write: (line) => lines.push(line) }) }), era);
    await call(client, 'echo', { text: 'confidential' });
    const entry = lines.map((line) => JSON.parse(line) as Record<string, unknown>).find(({ msg }) => msg === 'tool call');
    expect(entry).toMatchObject({ tool: 'echo', outcome: 'ok', principal: 'anonymous', era });
    expect(lines.join('')).not.toContain('confidential');
  });
});

test('a Host or Origin that is not this server is refused, naming the setting that admits it', async () => {
  const host = await start({ PUBLIC_HOSTS: 'tools.example.com, Other.Example.com' });
  const refused = [
    { host: 'evil.example.com' },
    { host: 'localhost.evil.example.com' },
    { origin: 'https://evil.example.com' },
    { origin: 'null' },
  ];
  for (const headers of refused) {
    const answer = await post(host, LIST, headers);
    expect(answer.status).toBe(403);
    expect(answer.body).toContain('PUBLIC_HOSTS');
  }
  const admitted = ['localhost', 'LOCALHOST:9', '127.0.0.1:1', '[::1]', 'tools.example.com', 'tools.example.com:8443', 'other.example.com'];
  for (const name of admitted)
    expect([name, (await post(host, LIST, { host: name, origin: `https://${name}` })).status]).toEqual([name, 200]);
});

test('health is answered under any Host, since probes come by address', async () => {
  const { url } = await start();
  const req = request(`${url}/readyz`, { headers: { host: '10.1.2.3:8000' } }).end();
  const [res] = await once(req, 'response');
  expect(res.statusCode).toBe(200);
  res.resume();
});

test('the address listened on is a name of this server', async () => {
  const host = await start({ HOST: '127.0.0.2' });
  expect((await post(host, LIST)).status).toBe(200);
});

test('what is not MCP is refused with the reason, and the server stays up', async () => {
  const host = await start({ MAX_BODY_BYTES: 4096 });
  const nested = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":${'['.repeat(1900)}${']'.repeat(1900)}}}`;
  const faults: [body: string, headers: Record<string, string>, status: number, says: string][] = [
    ['{not json', {}, 400, 'Invalid JSON'],
    ['', {}, 400, 'Invalid JSON'],
    ['"text"', {}, 400, 'not a valid JSON-RPC message'],
    ['[]', {}, 400, 'empty JSON-RPC batch'],
    ['[1, 2]', {}, 400, 'batch contains an invalid message'],
    [JSON.stringify({ jsonrpc: '2.0', id: {}, method: 'tools/list' }), {}, 400, 'not a valid JSON-RPC message'],
    [LIST, { 'content-type': 'text/plain' }, 415, 'Content-Type must be application/json'],
    [LIST, { accept: 'text/html' }, 406, 'must accept'],
    [LIST, { 'mcp-protocol-version': '1999-01-01' }, 400, 'Unsupported protocol version'],
    [LIST, { 'mcp-protocol-version': '2026-07-28' }, 400, '_meta'],
    [nested, {}, 200, 'error'],
    ['x'.repeat(5000), {}, 413, 'MAX_BODY_BYTES'],
    ['x'.repeat(5000), { 'transfer-encoding': 'chunked' }, 413, 'MAX_BODY_BYTES'],
  ];
  for (const [body, headers, status, says] of faults) {
    const answer = await post(host, body, headers);
    expect([body.slice(0, 40), headers, answer.status]).toEqual([body.slice(0, 40), headers, status]);
    expect(answer.body).toContain(says);
  }
  const batch = JSON.stringify([{ jsonrpc: '2.0', id: 1, method: 'ping' }, JSON.parse(LIST)]);
  expect((await post(host, batch)).status).toBe(200);
});

test('a body far over the limit is refused while it is still being sent, and the refusal arrives', async () => {
  const host = await start();
  const answer = await post(host, 'x'.repeat(20_000_000), { 'transfer-encoding': 'chunked' });
  expect(answer.status).toBe(413);
});

test('large bodies that are too many at once are turned away, and taken again once the others are answered', async () => {
  const host = await start({ MAX_BODY_BYTES: 1024 });
  const held = Array.from({ length: 16 }, () => {
    const req = request(`${host.url}/mcp`, { method: 'POST', headers: { 'content-type': 'application/json' } });
    req.on('error', () => {});
    req.write('x'.repeat(1024));
    return req;
  });
  await expect.poll(async () => (await post(host, LIST)).status).toBe(503);
  for (const req of held) req.destroy();
  await expect.poll(async () => (await post(host, LIST)).status).toBe(200);
});

test('a batch gets no result over the limit by asking twice with one id', async () => {
  const host = await start();
  const large = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'large', arguments: { bytes: 50_000 } } };
  expect((await post(host, JSON.stringify([large, large]))).body.length).toBeLessThan(5000);
});

test('other paths say where MCP is; GET and DELETE, which sessions would need, are not allowed', async () => {
  const { url } = await start();
  expect(await (await fetch(`${url}/sse`)).json()).toEqual({ error: 'nothing here; test serves MCP at /mcp' });
  for (const method of ['GET', 'DELETE']) expect((await fetch(`${url}/mcp`, { method })).status).toBe(405);
});

test.each(['/mcp', '/tools/mcp'])('with PUBLIC_PATH=/tools/mcp, clients are served at %s', async (path) => {
  const client = await connect(await start({ PUBLIC_PATH: '/tools/mcp' }), 'modern', undefined, path);
  expect((await call(client, 'who')).content).toEqual([{ type: 'text', text: 'anonymous modern' }]);
});

test('a server that cannot be built is answered 500 without its reason, which is logged', async () => {
  const lines: string[] = [];
  const log = pino({ level: 'error' }, { write: (line) => lines.push(line) });
  const broken = () => {
    throw new Error('no such schema');
  };
  const answer = await post(await start({}, { createServer: broken, log }), LIST);
  expect(answer.status).toBe(500);
  expect(answer.body).not.toContain('no such schema');
  expect(lines.join('')).toContain('no such schema');
});

test('a client that subscribes to changes keeps no request in flight, since none will come', async () => {
  const metrics = new Registry();
  const client = await connect(await start({}, { metrics }), 'modern');
  await client.listen({ toolsListChanged: true });
  await expect.poll(async () => (await metrics.getSingleMetric('toolyard_http_requests_in_flight')?.get())?.values[0]?.value).toBe(0);
});

test('stopping lets a call finish', async () => {
  const host = await start();
  const waiting = call(await connect(host, 'modern'), 'wait');
  await begun.promise;
  const closed = host.close();
  released.resolve();
  expect((await waiting).content).toEqual([{ type: 'text', text: 'waited' }]);
  await closed;
});

describe('with AUTH=tokens', () => {
  const sha256 = (token: string) => createHash('sha256').update(token).digest('hex');
  const file = () => join(directory, 'tokens.json');
  const write = (tokens: unknown) => writeFileSync(file(), JSON.stringify(tokens));
  const startWithTokens = () => start({ AUTH: 'tokens', AUTH_TOKENS_FILE: file() });

  test('a caller is the name of its token; everybody else is challenged', async () => {
    write({ alice: sha256('token-a'), bob: sha256('token-b').toUpperCase() });
    const host = await startWithTokens();
    for (const era of ['legacy', 'modern'] as const) {
      expect((await call(await connect(host, era, 'token-b'), 'who')).content).toEqual([{ type: 'text', text: `bob ${era}` }]);
    }
    const none = await post(host, LIST);
    expect([none.status, none.challenge]).toEqual([401, 'Bearer realm="toolyard"']);
    for (const authorization of ['Bearer token-c', `Bearer ${sha256('token-a')}`]) {
      const answer = await post(host, LIST, { authorization });
      expect([answer.status, answer.challenge]).toEqual([401, 'Bearer realm="toolyard", error="invalid_token"']);
    }
    for (const authorization of ['Basic token-a', 'Bearer', 'token-a'])
      expect((await post(host, LIST, { authorization })).status).toBe(401);
  });

  test('each caller has a minute of its own', async () => {
    write({ alice: sha256('token-a'), bob: sha256('token-b') });
    const host = await start({ AUTH: 'tokens', AUTH_TOKENS_FILE: file(), CALLS_PER_MINUTE: 1 });
    const told = async (token: string) => (await call(await connect(host, 'modern', token), 'who')).content;
    expect([await told('token-a'), await told('token-b'), await told('token-a')]).toEqual([
      [{ type: 'text', text: 'alice modern' }],
      [{ type: 'text', text: 'bob modern' }],
      [{ type: 'text', text: expect.stringContaining('Try again in') }],
    ]);
  });

  test('tokens follow their file; an unusable file leaves the last good ones in use', async () => {
    write({ alice: sha256('old') });
    const host = await startWithTokens();
    const status = async (token: string) => (await post(host, LIST, { authorization: `Bearer ${token}` })).status;
    writeFileSync(file(), '{"alice"');
    expect(await status('old')).toBe(200);
    write({ alice: sha256('replaced') });
    await expect.poll(() => status('replaced'), { timeout: 8000 }).toBe(200);
    expect(await status('old')).toBe(401);
  });

  test('a file that is missing, not set or malformed stops the start, naming the setting and no content', async () => {
    await expect(start({ AUTH: 'tokens' })).rejects.toThrow('AUTH_TOKENS_FILE: got (not set)');
    await expect(startWithTokens()).rejects.toThrow(/AUTH_TOKENS_FILE: got ".*tokens.json", accepts a readable file/);
    write({ alice: 'the-token-itself' });
    const refusal = startWithTokens();
    await expect(refusal).rejects.toThrow('a SHA-256 of 64 hexadecimal digits');
    await expect(refusal).rejects.not.toThrow('the-token-itself');
    writeFileSync(file(), 'the-token-itself');
    await expect(startWithTokens()).rejects.not.toThrow('the-token-itself');
  });
});
