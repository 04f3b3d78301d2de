import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import type { UnreadableRecord } from './answers.ts';
import { RegistryClient, type RegistryClientOptions } from './client.ts';
import { RegistryError } from './errors.ts';
import { SCHEMA_URL, type ServerJson } from './server-json.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const open: Server[] = [];

afterEach(() => {
  for (const server of open.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** A registry that gives these answers, one per request, the last one for ever, and what it was asked. */
async function registryThat(...answers: Answer[]) {
  const asked: { method: string; url: string; authorization: string | undefined }[] = [];
  const server = createServer((request, response) => {
    const answer = answers[Math.min(asked.length, answers.length - 1)];
    asked.push({ method: request.method ?? '', url: request.url ?? '', authorization: request.headers.authorization });
    answer?.(request, response);
  });
  open.push(server);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Answer =>
  (_, response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));

const document: ServerJson = { $schema: SCHEMA_URL, name: 'io.example/a', description: 'd', version: '1.0.0' };
const official = { status: 'active', statusChangedAt: 't', publishedAt: 't', updatedAt: 't', isLatest: true };
const record = (name = document.name) => ({
  server: { ...document, name },
  _meta: { 'io.modelcontextprotocol.registry/official': official },
});
const page = (names: readonly string[], nextCursor?: string) => ({
  servers: names.map(record),
  metadata: { count: names.length, ...(nextCursor === undefined ? {} : { nextCursor }) },
});

/** A client that does not really wait between tries, and the waits that it asked for. */
function clientOf(url: string, options: Partial<RegistryClientOptions> = {}) {
  const waits: number[] = [];
  const sleep = async (ms: number) => {
    waits.push(ms);
  };
  const tokens = { token: async () => 'first', renew: async () => 'second' };
  return { client: new RegistryClient({ url, sleep, tokens, ...options }), waits };
}

async function failureOf(call: Promise<unknown>): Promise<RegistryError> {
  const failure: unknown = await call.then(
    () => new Error('the call succeeded'),
    (error: unknown) => error,
  );
  if (failure instanceof RegistryError) return failure;
  throw failure;
}

test('a list follows the cursors, escaped, to the last page', async () => {
  const { url, asked } = await registryThat(
    json(200, page(['a/aa', 'b/bb'], 'b/bb:1+x y')),
    json(200, page(['c/cc'], 'c')),
    json(200, page([])),
  );
  const records = await clientOf(url).client.listAll({ search: 'abc', includeDeleted: true, version: 'latest' });
  expect(records.map(({ server }) => server.name)).toEqual(['a/aa', 'b/bb', 'c/cc']);
  expect(asked.map((one) => new URL(one.url, url).searchParams.get('cursor'))).toEqual([null, 'b/bb:1+x y', 'c']);
  expect(asked[0]?.url).toBe('/v0.1/servers?limit=100&include_deleted=true&search=abc&version=latest');
});

test('a list that never ends is refused', async () => {
  const { url } = await registryThat(json(200, page(['a/aa'], 'x')));
  expect(await failureOf(clientOf(url).client.listAll())).toMatchObject({ code: 'protocol' });
});

test('a list of empty pages that never ends is refused, whatever its cursors', async () => {
  let cursor = 0;
  const { url } = await registryThat((request, response) => json(200, page([], `${(cursor += 1)}`))(request, response));
  expect(await failureOf(clientOf(url).client.listAll())).toMatchObject({ code: 'protocol' });
});

test('a cursor that no registry makes is not sent back to it', async () => {
  const { url, asked } = await registryThat(json(200, page(['io.example/a'], 'c'.repeat(5000))));
  await expect(clientOf(url).client.listAll()).rejects.toMatchObject({ code: 'protocol', message: expect.stringContaining('nextCursor') });
  expect(asked).toHaveLength(1);
});

test('an address that holds a secret is refused, since addresses go into messages', () => {
  const construct = () => new RegistryClient({ url: 'https://user:hunter2@registry.example' });
  expect(construct).toThrow(/^a registry's address may hold no user name or password$/);
});

test('a page that is too large to read is asked for again in smaller parts', async () => {
  const huge: Answer = (_, response) => {
    response.writeHead(200);
    response.end(Buffer.alloc(17 * 1024 * 1024, 32));
  };
  const { url, asked } = await registryThat(huge, json(200, page(['a/aa'], 'a')), json(200, page(['b/bb'])));
  expect(await clientOf(url).client.listAll()).toHaveLength(2);
  expect(asked.map((one) => new URL(one.url, url).searchParams.get('limit'))).toEqual(['100', '10', '100']);
  const always = await registryThat(huge);
  expect(await failureOf(clientOf(always.url).client.listAll())).toMatchObject({ code: 'protocol' });
  expect(always.asked).toHaveLength(3);
});

test('a read is tried three times after a 5xx, with growing pauses', async () => {
  const { url, asked } = await registryThat(json(503, {}), json(500, { detail: 'Failed to get registry list' }), json(200, page([])));
  const { client, waits } = clientOf(url);
  expect(await client.listAll()).toEqual([]);
  expect(waits).toEqual([200, 400]);
  const down = await registryThat(json(503, {}));
  expect(await failureOf(clientOf(down.url).client.listAll())).toMatchObject({ code: 'unavailable', status: 503 });
  expect([asked.length, down.asked.length]).toEqual([3, 3]);
});

test('a 429 is waited for as long as it asks, unless that is long: then the caller is told', async () => {
  const { url } = await registryThat(json(429, {}, { 'retry-after': '2' }), json(200, page([])));
  const { client, waits } = clientOf(url);
  await client.listAll();
  expect(waits).toEqual([2000]);
  const busy = await registryThat(json(429, {}, { 'retry-after': '60' }));
  expect(await failureOf(clientOf(busy.url).client.listAll())).toMatchObject({ code: 'rate-limited', retryAfterMs: 60_000 });
  expect(busy.asked).toHaveLength(1);
});

test('a refusal is not tried again', async () => {
  const { url, asked } = await registryThat(json(400, { detail: 'Invalid updated_since format' }));
  expect(await failureOf(clientOf(url).client.listAll())).toMatchObject({ code: 'refused' });
  expect(asked).toHaveLength(1);
});

test('a write is sent once, whatever happens to it', async () => {
  const cut: Answer = (request) => request.socket.destroy();
  for (const answer of [json(503, {}), json(429, {}), cut]) {
    const { url, asked } = await registryThat(answer);
    const { client } = clientOf(url);
    const calls = [
      () => client.publish(document),
      () => client.edit(document),
      () => client.setStatus({ name: 'a/b', version: '1', status: 'deleted' }),
    ];
    for (const call of calls) await failureOf(call());
    expect(asked.map(({ method }) => method)).toEqual(['POST', 'PUT', 'PATCH']);
  }
});

test('a token that is refused is renewed once', async () => {
  const { url, asked } = await registryThat(json(401, {}), json(200, record()));
  await clientOf(url).client.publish(document);
  expect(asked.map(({ authorization }) => authorization)).toEqual(['Bearer first', 'Bearer second']);
  const strict = await registryThat(json(401, {}));
  expect(await failureOf(clientOf(strict.url).client.publish(document))).toMatchObject({ code: 'unauthorized' });
  expect(strict.asked).toHaveLength(2);
});

test('reads carry no token, and a write without a source of tokens is not sent', async () => {
  const { url, asked } = await registryThat(json(200, page([])));
  await clientOf(url).client.listAll();
  expect(asked[0]?.authorization).toBeUndefined();
  expect(await failureOf(new RegistryClient({ url }).publish(document))).toMatchObject({ code: 'unauthorized' });
  expect(asked).toHaveLength(1);
});

test('a token that cannot be made ends the write before it is sent', async () => {
  const { url, asked } = await registryThat(json(200, record()));
  const broken = async () => Promise.reject(new Error('no such file'));
  const failure = await failureOf(clientOf(url, { tokens: { token: broken, renew: broken } }).client.publish(document));
  expect(failure).toMatchObject({ code: 'unauthorized', message: expect.stringContaining('no such file') });
  expect(asked).toHaveLength(0);
});

test('a registry that nobody runs is unavailable', async () => {
  const { url } = await registryThat(json(200, {}));
  open.splice(0).forEach((server) => server.close());
  const { client, waits } = clientOf(url);
  const failure = await failureOf(client.health());
  expect(failure).toMatchObject({ code: 'unavailable' });
  expect(failure.message).toContain(url);
  expect(waits).toHaveLength(2);
});

test('a registry that does not answer in time is a timeout, before and inside the answer', async () => {
  const silent: Answer = () => undefined;
  const stuck: Answer = (_, response) => response.writeHead(200).write('{"servers":');
  for (const answer of [silent, stuck]) {
    const { url, asked } = await registryThat(answer);
    expect(await failureOf(clientOf(url, { timeoutMs: 100 }).client.listAll())).toMatchObject({ code: 'timeout' });
    expect(asked).toHaveLength(1);
  }
});

test('an aborted call ends with the caller’s own reason', async () => {
  const reason = new Error('the lease is lost');
  const controller = new AbortController();
  const { url } = await registryThat(() => controller.abort(reason));
  await expect(clientOf(url).client.publish(document, { signal: controller.signal })).rejects.toBe(reason);
  const down = await registryThat(json(503, {}));
  const client = new RegistryClient({ url: down.url });
  const waiting = new AbortController();
  const call = client.listAll({ signal: waiting.signal });
  await expect.poll(() => down.asked.length).toBeGreaterThan(0);
  waiting.abort(reason);
  await expect(call).rejects.toBe(reason);
});

const wrongs: readonly [string, Answer][] = [
  ['no JSON', (_, response) => response.writeHead(200).end('<html>')],
  ['truncated JSON', (_, response) => response.writeHead(200).end('{"servers":[')],
  ['an empty answer', (_, response) => response.writeHead(200).end()],
  ['another shape', json(200, [])],
  ['no metadata', json(200, { servers: [] })],
  ['servers that are no list', json(200, { servers: {}, metadata: {} })],
  ['a cursor that is no text', json(200, { servers: [], metadata: { nextCursor: 5 } })],
  ['a redirect', (_, response) => response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end()],
  ['no content', (_, response) => response.writeHead(204).end()],
];

test.each(wrongs)('%s is no answer of a registry', async (_, answer) => {
  const { url } = await registryThat(answer);
  expect(await failureOf(clientOf(url).client.listAll())).toMatchObject({ code: 'protocol' });
});

const nestedMeta = `{"io.modelcontextprotocol.registry/publisher-provided":{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}}`;
const nested = `{"server":${JSON.stringify(document).slice(0, -1)},"_meta":${nestedMeta}}}`;
const named = { name: document.name, version: document.version };

const oddities: readonly [string, string, object][] = [
  ['null', 'null', {}],
  ['a list', '[]', {}],
  ['without a server', '{}', {}],
  ['with a server that is a text', '{"server":"x"}', {}],
  ['of wrong types', JSON.stringify({ server: { ...document, remotes: 'x' }, _meta: {} }), named],
  ['without a version', JSON.stringify({ server: { ...document, version: undefined } }), { name: document.name }],
  ['of an unknown status', JSON.stringify(record()).replace('"active"', '"suspended"'), named],
  [
    'with its name in other letters',
    JSON.stringify({ server: { Name: document.name, VERSION: '2', remotes: 1 } }),
    { name: document.name },
  ],
  ['nested without end', nested, named],
  ['of endless many values', JSON.stringify({ server: { ...document, icons: Array.from({ length: 30_000 }, () => 1) } }), named],
  ['whose name is an attack', JSON.stringify({ server: { name: `\u001b[2J${'x'.repeat(100_000)}` } }), {}],
];

test.each(oddities)('a record %s is left out of lists and told, and hides no other', async (_, odd, told) => {
  const body = `{"servers":[${JSON.stringify(record())},${odd},${JSON.stringify(record())}],"metadata":{}}`;
  const { url } = await registryThat((_request, response) => response.writeHead(200).end(body));
  const { client } = clientOf(url);
  for (const read of [client.listAll.bind(client), client.versions.bind(client, document.name)]) {
    const unreadable: UnreadableRecord[] = [];
    expect(await read({ onUnreadable: (one) => unreadable.push(one) })).toHaveLength(2);
    expect(unreadable).toMatchObject([{ ...told, fault: expect.any(String) as string }]);
    expect(JSON.stringify(unreadable).length).toBeLessThan(1_000);
    expect(unreadable[0]?.name ?? '').not.toMatch(/\p{C}/u);
  }
});

test('a record of another name is none of those that were asked for', async () => {
  const { url } = await registryThat(json(200, page([document.name, 'io.example/other'])));
  const unreadable: UnreadableRecord[] = [];
  const versions = await clientOf(url).client.versions(document.name, { onUnreadable: (one) => unreadable.push(one) });
  expect(versions.map(({ server }) => server.name)).toEqual([document.name]);
  expect(unreadable).toMatchObject([{ name: 'io.example/other' }]);
});

test('one record that cannot be read is no answer when it alone was asked for', async () => {
  const { url } = await registryThat(json(200, { server: { ...document, remotes: 'x' } }));
  expect(await failureOf(clientOf(url).client.getVersion('a/b', '1'))).toMatchObject({ code: 'protocol' });
});

test('a document that breaks a rule of today, and fields of tomorrow, can still be read', async () => {
  const server = { ...document, description: '', tomorrow: 1, remotes: [{ type: 'carrier-pigeon', url: 'x', tomorrow: {} }] };
  const answer = { server, _meta: { 'io.modelcontextprotocol.registry/official': { ...official, tomorrow: 1 }, other: 1 }, tomorrow: 1 };
  const { url } = await registryThat(json(200, answer));
  expect(await clientOf(url).client.getVersion('a/b', '1')).toEqual({
    server: { ...document, description: '', remotes: [{ type: 'carrier-pigeon', url: 'x' }] },
    _meta: { 'io.modelcontextprotocol.registry/official': official },
  });
});

test('a record that is not there is undefined, and an address without a registry an error', async () => {
  const absent = await registryThat(json(404, { detail: 'Server not found' }));
  expect(await clientOf(absent.url).client.getVersion('a/b', 'latest')).toBeUndefined();
  expect(await clientOf(absent.url).client.versions('a/b')).toEqual([]);
  const elsewhere = await registryThat((_, response) => response.writeHead(404).end('<html>not found'));
  expect(await failureOf(clientOf(elsewhere.url).client.getVersion('a/b', 'latest'))).toMatchObject({ code: 'protocol' });
});

test('names and versions are escaped into one segment each', async () => {
  const { url, asked } = await registryThat(json(200, record()));
  const { client } = clientOf(`${url}/base/`);
  await client.getVersion('io.example/a b', '1+2/3%4', { includeDeleted: true });
  await client.getVersion('a/b', '..');
  expect(asked.map((one) => one.url)).toEqual([
    '/base/v0.1/servers/io.example%2Fa%20b/versions/1%2B2%2F3%254?include_deleted=true'.replace('%254', '%25254'),
    '/base/v0.1/servers/a%2Fb/versions/%252E%252E',
  ]);
});

test('a refused document comes back with the faults that /validate knows', async () => {
  const issues = [
    { type: 'semantic', path: 'version', message: 'no range', severity: 'error', reference: 'r' },
    { type: 'semantic', path: 'schema', message: 'old', severity: 'warning', reference: 'w' },
  ];
  const { url, asked } = await registryThat(
    json(422, { detail: 'invalid schema: call /validate for details' }),
    json(200, { valid: false, issues }),
  );
  const failure = await failureOf(clientOf(url).client.publish(document));
  expect(failure).toMatchObject({ code: 'invalid', status: 422, faults: [{ path: 'version', message: 'no range', reference: 'r' }] });
  expect(failure.message).toContain('version: no range');
  expect(asked.map((one) => one.url)).toEqual(['/v0.1/publish', '/v0.1/validate']);
});

test('a judgement can be shown, whatever the registry writes into it', async () => {
  const words = `\u001b[2J${'x'.repeat(5000)}`;
  const issue = { type: words, path: words, message: words, severity: 'error', reference: words };
  const { url } = await registryThat(json(200, { valid: false, issues: Array.from({ length: 600 }, () => issue) }));
  const { issues } = await clientOf(url).client.validate(document);
  expect(issues.length).toBe(500);
  expect(issues.flatMap(Object.values).filter((text) => /\p{C}/u.test(text) || text.length > 2000)).toEqual([]);
});

test('a judgement comes back the same way whether the registry gives it with 200 or 422', async () => {
  const { url } = await registryThat(
    json(200, { valid: true, issues: [] }),
    json(422, { detail: 'validation failed', errors: [{ message: 'expected string', location: 'body.title' }] }),
  );
  const { client } = clientOf(url);
  expect(await client.validate(document)).toEqual({ valid: true, issues: [] });
  expect(await client.validate(document)).toMatchObject({ valid: false, issues: [{ path: 'title', message: 'expected string' }] });
});
