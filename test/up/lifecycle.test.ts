import { appendFileSync, statSync } from 'node:fs';
import { createServer as createHttpServer, type Server as HttpServer } from 'node:http';
import { createServer, type Server } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { RegistryClient } from '../../lib/registry-api/client.ts';
import { OFFICIAL_META, type ServerRecord } from '../../lib/registry-api/server-json.ts';
import { descendants, until, Up, weatherRecord, Weather, Yard } from './running.ts';

const yard = new Yard();
let up: Up;
let registry: RegistryClient;
/** events that were there before the test */
let seen = 0;
const opened: { close(): unknown }[] = [];
const weathers: Weather[] = [];

beforeAll(async () => {
  yard.declareShipped('fetch');
  up = new Up(yard, { env: { WITHDRAW_AFTER_SECONDS: '1', PROBE_INTERVAL_SECONDS: '1', PROBE_TIMEOUT_SECONDS: '2' } });
  registry = new RegistryClient({ url: await up.registry() });
});

afterAll(async () => {
  await up.stop();
  yard.remove();
});

beforeEach(() => void (seen = up.events.length));

afterEach(async () => {
  for (const one of opened.splice(0)) one.close();
  for (const one of weathers.splice(0)) await one.stop();
});

async function weather(port?: number): Promise<Weather> {
  const started = await Weather.start(port);
  weathers.push(started);
  return started;
}

function record(name: string, fits: (record: ServerRecord) => boolean = () => true): Promise<ServerRecord> {
  return until(async () => {
    const found = await registry.getVersion(name, 'latest');
    return found !== undefined && fits(found) ? found : undefined;
  });
}

function withdrawn(name: string): Promise<true> {
  return until(async () => ((await registry.getVersion(name, 'latest')) === undefined ? true : undefined));
}

const statusOf = ({ _meta }: ServerRecord) => _meta[OFFICIAL_META]?.status;

function change(about: string, what: string) {
  return up.change((event) => event.about?.startsWith(about) === true && event.what?.includes(what) === true, seen);
}

test('the life of a record: declared, answering, edited, broken, repaired, silent, back, withdrawn', { timeout: 90_000 }, async () => {
  const name = 'org.example/weather';
  const first = await weather();
  const port = first.port;
  await first.stop();

  yard.declare('weather', weatherRecord(first.url));
  await change(name, 'pending: it is published as soon as its server answers; so far nothing listens');
  expect(await registry.getVersion(name, 'latest')).toBeUndefined();

  const second = await weather(port);
  await change(name, 'published, 2 tools');
  expect((await record(name)).server.remotes?.[0]?.url).toBe(second.url);

  yard.declare('weather', weatherRecord(second.url, { description: 'Tells the weather of tomorrow.' }));
  await record(name, ({ server }) => server.description === 'Tells the weather of tomorrow.');
  await change(name, 'updated');

  yard.declare('weather', weatherRecord(second.url, { description: 'x'.repeat(101), colour: 'blue', packages: [{}] }));
  const broken = await change(name, 'faults in catalog/weather/server.json');
  const details = (broken.details ?? []).join('\n');
  for (const path of ['description: ', 'colour: ', 'packages[0]: ']) expect(details).toContain(path);
  expect(broken.what).toContain('the registry keeps the last good record');
  expect((await record(name)).server.description).toBe('Tells the weather of tomorrow.');

  yard.declare('weather', weatherRecord(second.url));
  await record(name, ({ server }) => server.description === 'Tells the weather.');

  yard.declare('weather', weatherRecord(new URL('/elsewhere', second.url).href));
  await change(name, 'pending: the registry keeps the last good record until the new address answers; so far it answers HTTP 404');
  expect((await record(name)).server.remotes?.[0]?.url).toBe(second.url);
  yard.declare('weather', weatherRecord(second.url));

  await second.stop();
  await change(name, 'deprecated');
  await record(name, (one) => statusOf(one) === 'deprecated');
  await weather(port);
  await change(name, 'active again');
  await record(name, (one) => statusOf(one) === 'active');

  yard.forget('weather');
  const leaving = await change(name, 'its file is gone; it is withdrawn at');
  expect(leaving.declaration?.withdrawAt).toBeDefined();
  await change(name, 'withdrawn from the registry');
  await withdrawn(name);
});

test('the log of a part, and that of the operator, is cut when it has grown past 10 MiB', async () => {
  for (const part of ['fetch', 'operator']) {
    const log = join(yard.state, 'logs', `${part}.log`);
    appendFileSync(log, `${'x'.repeat(10 * 1024 * 1024)}\n`);
    // something for the operator to tell
    yard.declare('loud', '{}');
    await until(() => (statSync(log).size < 1024 * 1024 ? true : undefined));
    expect(statSync(`${log}.1`).size).toBeGreaterThan(10 * 1024 * 1024);
    expect(statSync(log).mode & 0o777).toBe(0o600);
    yard.forget('loud');
    await change('catalog/loud/server.json', 'its file is gone');
    seen = up.events.length;
  }
});

describe('bad input gets a clear error, and nothing else is lost', () => {
  afterEach(async () => {
    if ((await registry.getVersion('dev.toolyard/fetch', 'latest')) === undefined) throw new Error('dev.toolyard/fetch is lost');
  });

  test.each([
    ['invalid JSON', '{ "name": "org.example/x", ', 'it is not JSON'],
    ['an empty file', '', 'it is empty'],
    ['a list', '[]', 'expected object'],
    ['a text that is not UTF-8', Buffer.from([0x22, 0xff, 0x22]), 'not in UTF-8'],
    ['a file of 5 MB', `"${'x'.repeat(5_000_000)}"`, '1048576'],
  ])('%s', async (_what, content, message) => {
    yard.declare('bad', content);
    const { declaration } = await up.change(({ about }) => about === 'catalog/bad/server.json', seen);
    expect(declaration?.faults?.[0]?.message).toContain(message);
    expect(declaration?.state).toBe('Refused');
    yard.forget('bad');
    await up.change(({ what }) => what === 'its file is gone', seen);
  });

  test.each([
    ['wrong types', { version: 5, remotes: 'none' }, ['remotes', 'version']],
    ['a name that the registry refuses', { name: 'a/b' }, ['name']],
    ['a remote over http to another machine', { remotes: [{ type: 'streamable-http', url: 'http://10.1.2.3/mcp' }] }, ['remotes[0].url']],
    ['a range for a version', { version: '^1.0.0' }, ['version']],
  ])('%s', async (_what, changed, paths) => {
    yard.declare('bad', weatherRecord('https://weather.example.org/mcp', changed));
    const { declaration } = await up.change(({ declaration: one }) => one?.source === 'catalog/bad/server.json', seen);
    expect(declaration?.faults?.map(({ path }) => path).toSorted()).toEqual(paths);
    yard.forget('bad');
    await up.change(({ what }) => what === 'its file is gone', seen);
  });

  test('of two files with one name and version, one is published and the other is told so', async () => {
    const server = await weather();
    yard.declare('one', weatherRecord(server.url, { name: 'org.example/twice' }));
    await record('org.example/twice');
    yard.declare('two', weatherRecord(server.url, { name: 'org.example/twice', description: 'Another one.' }));
    const { declaration } = await up.change(({ declaration: one }) => one?.state === 'Refused', seen);
    const accepted = declaration?.conditions.find(({ type }) => type === 'Accepted');
    expect(accepted?.reason).toBe('DuplicateVersion');
    expect(accepted?.message).toMatch(/catalog\/(one|two)\/server\.json/);
    const refused = up.events.slice(seen).find(({ what }) => what?.startsWith('refused: '));
    expect(refused?.what).toBe(`refused: ${accepted?.message}`);
    yard.forget('two');
    await change('org.example/twice', 'its file is gone; catalog/one/server.json declares it');
    yard.forget('one');
    await withdrawn('org.example/twice');
  });

  async function pendingBecause(url: string): Promise<string> {
    yard.declare('odd', weatherRecord(url, { name: 'org.example/odd' }));
    const { declaration } = await up.change(
      ({ declaration: one }) =>
        one?.name === 'org.example/odd' && one.conditions.some(({ type, status }) => type === 'Reachable' && status === 'False'),
      seen,
    );
    expect(await registry.getVersion('org.example/odd', 'latest')).toBeUndefined();
    yard.forget('odd');
    await up.change(({ about }) => about?.startsWith('org.example/odd') === true, up.events.length);
    return declaration?.conditions.find(({ type }) => type === 'Reachable')?.message ?? '';
  }

  async function tcp(onConnection: (socket: Socket) => void): Promise<string> {
    const sockets = new Set<Socket>();
    const server: Server = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined);
      onConnection(socket);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    opened.push({ close: () => (server.close(), sockets.forEach((socket) => socket.destroy())) });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  }

  async function http(answer: Parameters<typeof createHttpServer>[1] & {}): Promise<string> {
    const server: HttpServer = createHttpServer(answer);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    opened.push({ close: () => (server.close(), server.closeAllConnections()) });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  }

  test('a server that hangs', async () => {
    expect(await pendingBecause(await tcp(() => undefined))).toMatch(/within 2 s|2 seconds/);
  });

  test('a server that answers HTTP but not MCP', async () => {
    const url = await http((_request, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>hello</h1>'));
    const message = await pendingBecause(url);
    expect(message).toContain('MCP');
    expect(message).not.toContain('hello');
  });

  test('a server that answers garbage', async () => {
    expect(await pendingBecause(await tcp((socket) => socket.end(Buffer.alloc(4_096, 0xfe))))).not.toBe('');
  });

  test('a server that lists 10,000 tools', async () => {
    const tools = Array.from({ length: 10_000 }, (_, i) => ({ name: `tool-${i}`, inputSchema: { type: 'object' } }));
    const url = await http((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        const { id, method } = JSON.parse(body || '{}') as { id?: number; method?: string };
        if (id === undefined) return response.writeHead(202).end();
        const result =
          method === 'initialize'
            ? { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'many', version: '1' } }
            : method === 'tools/list'
              ? { tools }
              : undefined;
        const answer = result === undefined ? { error: { code: -32601, message: 'Method not found' } } : { result };
        return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
      });
    });
    yard.declare('many', weatherRecord(url, { name: 'org.example/many' }));
    const { declaration } = await up.change(
      ({ declaration: one }) =>
        one?.name === 'org.example/many' && one.conditions.some(({ type, status }) => type === 'Reachable' && status !== 'Unknown'),
      seen,
    );
    // published with the right number, or not because of it: it says which
    const reachable = declaration?.conditions.find(({ type }) => type === 'Reachable')?.message ?? '';
    expect(reachable).toMatch(/10000 tools|too many tools|lists more than/);
    expect(JSON.stringify(declaration).length).toBeLessThanOrEqual(8 * 1024);
    yard.forget('many');
    await withdrawn('org.example/many');
  });

  test('a registry that is down: what is declared meanwhile is published when it is back', async () => {
    const server = await weather();
    const part = descendants(up.pid).find(({ command }) => command.includes('mcp-servers/registry/main.ts'));
    process.kill(part?.pid ?? Number.NaN, 'SIGKILL');
    yard.declare('late', weatherRecord(server.url, { name: 'org.example/late' }));
    await up.event((event) => event.event === 'part' && event.name === 'registry' && event.is === 'restarting', seen);
    const late = await until(async () => registry.getVersion('org.example/late', 'latest').catch(() => undefined));
    expect(statusOf(late)).toBe('active');
    yard.forget('late');
    await withdrawn('org.example/late');
  });
});
