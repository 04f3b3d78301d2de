import { afterAll, beforeAll, expect, test } from 'vitest';
import { documentOf, pathOf, seen, send, startTestRegistry, type TestRegistry } from './testing.ts';

let registry: TestRegistry;

beforeAll(async () => {
  registry = await startTestRegistry();
  for (const version of ['1.0.0', '1.0.0+b', '1 2', '50%', 'a/b', 'a?b#c', 'é', 'a\nb', '..', 'end/'])
    await registry.publish('a.b/xa', version);
});

afterAll(() => registry.close());

const versionAt = async (target: string): Promise<unknown> => {
  const { status, body } = await registry.ask('GET', target);
  return status === 200 ? seen(body).server.version : status;
};

test.each(['%2F', '%2f', '%252F', '%252f', '/'])('a name is found with its slash as %s', async (slash) => {
  expect(await versionAt(`/v0.1/servers/a.b${slash}xa/versions/1.0.0`)).toBe('1.0.0');
  expect((await registry.ask('GET', `/v0/servers/a.b${slash}xa/versions`)).status).toBe(200);
});

test('a name with its slash unescaped can be written too', async () => {
  await registry.publish('a.b/plain', '1.0.0');
  const body = documentOf('a.b/plain', { title: 'Edited' });
  expect((await registry.ask('PUT', '/v0/servers/a.b/plain/versions/1.0.0', { body })).status).toBe(200);
  expect((await registry.setStatus('/v0/servers/a.b/plain/versions/1.0.0', 'deprecated')).status).toBe(200);
  expect((await registry.setStatus('/v0/servers/a.b/plain', 'active')).status).toBe(200);
});

test.each([
  ['1.0.0+b', '1.0.0+b'],
  ['1.0.0%2Bb', '1.0.0+b'],
  ['1%202', '1 2'],
  ['1+2', 404],
  ['50%25', 400],
  ['50%2525', '50%'],
  ['a%2Fb', 'a/b'],
  ['a%3Fb%23c', 'a?b#c'],
  ['%C3%A9', 'é'],
  ['a%0Ab', 'a\nb'],
  ['%2E%2E', '..'],
  ['end%2F', 'end/'],
])('a version is decoded twice: %s', async (escaped, found) => {
  expect(await versionAt(`${pathOf('a.b/xa')}/versions/${escaped}`)).toBe(found);
});

test('an unknown server and an unknown route differ in their body only', async () => {
  const server = await registry.ask('GET', pathOf('no.b/x', '1.0.0'));
  const route = await registry.ask('GET', '/v0.1/servers/no.b%2Fx');
  const outside = await registry.ask('GET', '/servers');
  for (const { status, headers } of [server, route, outside])
    expect([status, headers['content-type']]).toEqual([404, 'application/problem+json']);
  expect(server.body).toEqual({ title: 'Not Found', status: 404, detail: 'Server not found' });
  expect(route.body).toMatchObject({ detail: 'Endpoint not found. See /docs for the API documentation.' });
  expect(outside.body).toMatchObject({
    detail: "Endpoint not found. Did you mean '/v0.1/servers' or '/v0/servers'? See /docs for the API documentation.",
  });
});

test.each(['POST', 'PUT', 'PATCH', 'DELETE'])('%s on a reading route is no route', async (method) => {
  expect((await registry.ask(method, '/v0.1/servers', { body: '{}' })).body).toMatchObject({
    detail: 'Endpoint not found. See /docs for the API documentation.',
  });
});

test('both prefixes answer alike', async () => {
  for (const path of [
    '/servers',
    '/servers?version=latest&limit=1',
    '/servers/a.b%2Fxa/versions',
    '/servers/a.b%2Fxa/versions/latest',
    '/health',
    '/ping',
    '/version',
    '/servers?limit=0',
  ]) {
    const [old, current] = await Promise.all([registry.ask('GET', `/v0${path}`), registry.ask('GET', `/v0.1${path}`)]);
    expect(old.body).toEqual(current.body);
  }
});

test('health, ping and version', async () => {
  expect((await registry.ask('GET', '/v0/health')).body).toEqual({ status: 'ok' });
  expect((await registry.ask('GET', '/v0/ping')).body).toEqual({ pong: true });
  const { body } = await registry.ask('GET', '/v0/version');
  expect(Object.keys(body as object)).toEqual(['version', 'git_commit', 'build_time']);
});

test('HEAD answers like GET, without the body', async () => {
  for (const target of ['/v0.1/servers', pathOf('a.b/xa', '1.0.0'), '/v0.1/servers?limit=0', '/nothing']) {
    const [head, get] = [await registry.ask('HEAD', target), await registry.ask('GET', target)];
    expect([head.status, head.headers['content-length'], head.body]).toEqual([get.status, get.headers['content-length'], '']);
  }
});

test('every answer may be read from any origin, every OPTIONS is 204', async () => {
  for (const target of ['/v0.1/servers', '/v0.1/servers', '/nothing', '/v0.1/servers?limit=0']) {
    const { headers } = await registry.ask('GET', target);
    expect(headers).toMatchObject({ 'access-control-allow-origin': '*', 'access-control-expose-headers': 'Content-Type, Content-Length' });
    expect(headers['access-control-allow-headers']).toBe('Authorization, Content-Type');
  }
  const plain = await registry.ask('OPTIONS', '/v0.1/servers');
  expect([plain.status, plain.body]).toEqual([204, '']);
  const preflight = {
    origin: 'vscode-file://vscode-app',
    'access-control-request-method': 'PATCH',
    'access-control-request-headers': 'authorization,x-mine',
  };
  const { status, headers } = await registry.ask('OPTIONS', '/v0.1/servers', { headers: preflight });
  expect(status).toBe(204);
  expect(headers['access-control-allow-methods']).toContain('PATCH');
  expect(headers).toMatchObject({ 'access-control-allow-headers': 'authorization,x-mine', 'access-control-max-age': '86400' });
});

test.each([
  [308, '/v0.1/servers/', '/v0.1/servers'],
  [308, '/v0.1/servers/?limit=1', '/v0.1/servers?limit=1'],
  [308, '/v0.1/servers/a.b%2Fxa/versions/', '/v0.1/servers/a.b%2Fxa/versions'],
  [308, '//evil.example/', '/evil.example'],
  [308, '/\\evil.example/', '/%5Cevil.example'],
  [307, '//evil.example', '/evil.example'],
  [307, '/\\evil.example//x', '/%5Cevil.example/x'],
  [307, '/v0.1//servers', '/v0.1/servers'],
  [307, '/v0.1//servers?', '/v0.1/servers'],
  [307, '/v0.1/x/../servers?a=b', '/v0.1/servers?a=b'],
])('%i for %s leads to %s, on this host', async (status, target, location) => {
  const answer = await registry.ask('GET', target);
  expect([answer.status, answer.headers.location]).toEqual([status, location]);
});

test.each(['/v0.1/servers?cursor=%00', '/v0.1/servers/%00/versions', '/v0.1/servers/%2500/versions', '/x%00/'])(
  '%s is refused for its NUL',
  async (target) => {
    const { status, headers, body } = await registry.ask('GET', target);
    expect([status, headers['content-type']]).toEqual([400, 'application/json']);
    expect((body as { detail: string }).detail).toMatch(/^Invalid request: (URL path contains|query parameters contain) null bytes$/);
  },
);

test('broken escapes and bad UTF-8 are refused', async () => {
  expect(await registry.ask('GET', '/v0.1/servers/%zz/versions')).toMatchObject({ status: 400, body: '400 Bad Request' });
  expect((await registry.ask('GET', '/v0.1/servers/%25zz/versions')).body).toMatchObject({ detail: 'Invalid server name encoding' });
  expect((await registry.ask('GET', `${pathOf('a.b/xa')}/versions/50%25`)).body).toMatchObject({ detail: 'Invalid version encoding' });
  expect((await registry.ask('GET', '/v0.1/servers/%FF/versions')).status).toBe(400);
  expect((await registry.ask('GET', '/v0.1/servers?search=%FF%FF%FF')).status).toBe(400);
  expect((await registry.ask('GET', '/v0.1/servers?search=%zz')).status).toBe(200);
});

test('an answer is never older than the last write', async () => {
  const latest = pathOf('fresh.b/xa', 'latest');
  for (let minor = 1; minor <= 20; minor += 1) {
    await registry.publish('fresh.b/xa', `1.${minor}.0`);
    expect(seen((await registry.ask('GET', latest)).body).server.version).toBe(`1.${minor}.0`);
    expect((await registry.list('search=fresh.b&limit=100')).count).toBe(minor);
  }
});

test('readers beside a writer always see whole records, and no version twice', async () => {
  const writes = Array.from({ length: 30 }, (_, minor) => () => registry.publish('beside.b/xa', `1.${minor}.0`));
  const writer = writes.reduce<Promise<unknown>>((before, write) => before.then(write), Promise.resolve());
  const progress = { done: false };
  void writer.finally(() => (progress.done = true));
  let last = 0;
  while (!progress.done) {
    const { servers, count } = await registry.list('search=beside.b&limit=100');
    expect(servers.filter(({ isLatest }) => isLatest).length).toBe(Math.min(count, 1));
    expect(count).toBeGreaterThanOrEqual(last);
    last = count;
  }
  expect((await registry.list('search=beside.b&limit=100')).count).toBe(30);
});

test('metrics count what happened, on the same port', async () => {
  const { status, body } = await send(registry.url, 'GET', '/metrics');
  expect(status).toBe(200);
  expect(body).toMatch(/toolyard_registry_records\{status="active"\} [1-9]/);
  expect(body).toMatch(/toolyard_registry_writes_total [1-9]/);
  expect(body).toMatch(/toolyard_registry_operation_seconds_count\{operation="cached page"\} [1-9]/);
  expect(body).toMatch(/toolyard_http_requests_total\{status="404"\} [1-9]/);
});
