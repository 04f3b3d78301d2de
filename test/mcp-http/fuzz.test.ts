import { once } from 'node:events';
import { connect } from 'node:net';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startServer, type ServerProcess } from './server-process.ts';

/** Whatever arrives, it is answered within this time or the connection is closed. */
const ANSWER_MS = 5000;

let server: ServerProcess;

beforeAll(async () => {
  server = await startServer('test/mcp-http/fixture.ts');
});

afterAll(async () => {
  await server.close();
});

async function post(body: string, headers: Record<string, string>): Promise<{ status: number; text: string }> {
  const answer = await fetch(`${server.url}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body,
    signal: AbortSignal.timeout(ANSWER_MS),
  });
  return { status: answer.status, text: await answer.text() };
}

async function expectToServe(): Promise<void> {
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo', arguments: { text: 'still here' } } };
  expect((await post(JSON.stringify(call), {})).text).toContain('still here');
}

const methods = [
  'initialize',
  'ping',
  'tools/list',
  'tools/call',
  'prompts/get',
  'resources/read',
  'server/discover',
  'notifications/cancelled',
  '__proto__',
];
const meta = fc.record(
  {
    'io.modelcontextprotocol/protocolVersion': fc.oneof(fc.constantFrom('2026-07-28', '2025-11-25', ''), fc.jsonValue()),
    'io.modelcontextprotocol/clientCapabilities': fc.oneof(fc.constant({}), fc.jsonValue()),
    progressToken: fc.jsonValue(),
  },
  { requiredKeys: [] },
);
const parameters = fc.record(
  {
    name: fc.oneof(fc.constantFrom('echo', 'constructor', '__proto__'), fc.jsonValue()),
    arguments: fc.jsonValue(),
    uri: fc.string(),
    _meta: fc.oneof(meta, fc.jsonValue()),
  },
  { requiredKeys: [] },
);
/** Messages close enough to real ones to get past the first checks. */
const message = fc.record(
  {
    jsonrpc: fc.constantFrom('2.0', '1.0'),
    id: fc.oneof(fc.integer(), fc.string(), fc.jsonValue()),
    method: fc.oneof(fc.constantFrom(...methods), fc.string()),
    params: fc.oneof(parameters, fc.jsonValue()),
    result: fc.jsonValue(),
  },
  { requiredKeys: ['jsonrpc'] },
);
const headers = fc.record(
  {
    'mcp-protocol-version': fc.constantFrom('2026-07-28', '2025-11-25', '2024-11-05', 'x'),
    'mcp-method': fc.constantFrom(...methods),
    'mcp-name': fc.constantFrom('echo', ''),
  },
  { requiredKeys: [] },
);

test('any JSON is answered, and never as a fault of the server', async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.jsonValue(), message, fc.array(message, { maxLength: 4 })), headers, async (document, chosen) => {
      const { status } = await post(JSON.stringify(document), chosen);
      expect(status).toBeLessThan(500);
    }),
    { numRuns: 300 },
  );
  await expectToServe();
});

test('any bytes on a connection are answered or the connection is closed, and others are served', async () => {
  const line = fc.constantFrom(
    'POST /mcp HTTP/1.1\r\n',
    'Host: localhost\r\n',
    'Content-Length: 5\r\n',
    'Transfer-Encoding: chunked\r\n',
    '\r\n',
    'ffffffff\r\n',
    'GET / ',
  );
  const bytes = fc.array(
    fc.oneof(
      line,
      fc.string(),
      fc.uint8Array({ maxLength: 64 }).map((array) => Buffer.from(array).toString('latin1')),
    ),
    { maxLength: 12 },
  );
  await fc.assert(
    fc.asyncProperty(bytes, async (parts) => {
      const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
      socket.on('error', () => {});
      socket.resume();
      socket.setTimeout(ANSWER_MS, () => socket.destroy(new Error('neither answered nor closed')));
      socket.end(Buffer.from(parts.join(''), 'latin1'));
      const [failed] = await once(socket, 'close');
      expect([failed, socket.errored?.message]).not.toEqual([true, 'neither answered nor closed']);
    }),
    { numRuns: 200 },
  );
  await expectToServe();
});
