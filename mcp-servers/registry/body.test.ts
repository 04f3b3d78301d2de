import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { documentOf, pathOf, startTestRegistry, tokenFor, type TestRegistry } from './testing.ts';

let registry: TestRegistry;
let published = 0;

beforeAll(async () => {
  registry = await startTestRegistry({}, { limits: { bytes: 1024 * 1024, milliseconds: 300 } });
});

afterAll(() => registry.close());

function good(): string {
  published += 1;
  return documentOf(`a.b/n${published}`);
}

function post(body: string | Buffer, headers: Readonly<Record<string, string>> = {}) {
  return registry.ask('POST', '/v0.1/publish', { body, headers });
}

test('a body must be smaller than 1 MiB', async () => {
  expect((await post(good().padEnd(1_048_575))).status).toBe(200);
  for (const bytes of [1_048_576, 5_000_000]) {
    const { status, body } = await post(good().padEnd(bytes));
    expect(status).toBe(413);
    expect(body).toEqual({ title: 'Request Entity Too Large', status: 413, detail: 'request body is too large limit=1048576 bytes' });
  }
});

test('an empty body is named so', async () => {
  expect(await post('')).toMatchObject({ status: 400, body: { detail: 'request body is required' } });
});

test.each(['{', '\uFEFF{}', '{} x', "{'a':1}", '{"a":1e999}', '{"a":1,}', ' ', '['.repeat(500_000)])('%.20s is no JSON', async (body) => {
  expect(await post(body)).toMatchObject({ status: 400, body: { detail: 'validation failed', errors: [{ location: 'body' }] } });
});

test.each(['[]', '"x"', 'null', '1'])('%s is no object', async (body) => {
  for (const [method, target] of [
    ['POST', '/v0/publish'],
    ['PATCH', `${pathOf('a.b/x')}/status`],
    ['POST', '/v0/validate'],
  ] as const) {
    expect(await registry.ask(method, target, { body })).toMatchObject({
      status: 422,
      body: { errors: [{ message: 'expected object', location: 'body' }] },
    });
  }
});

const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;

test.each([deep, `{"e100":${deep}}`])('nesting that no reader survives is refused', async (nested) => {
  const document = good().replace(/\}$/, `,"_meta":{"io.modelcontextprotocol.registry/publisher-provided":{"a":${nested}}}}`);
  expect((await post(document)).status).toBe(422);
});

test.each([
  ['unknown keys', `{${Array.from({ length: 10_000 }, (_, index) => `"key${index}":1`).join()}}`],
  ['values', `{"status":[${'1,'.repeat(100_000)}1]}`],
  ['nesting', `{"status":${deep}}`],
  ['text', JSON.stringify({ status: 'deleted', statusMessage: 'x'.repeat(500_000) })],
])('a change of status with too much of %s is refused in few words, before its token is looked at', async (_, body) => {
  const answer = await registry.ask('PATCH', `${pathOf('a.b/x')}/status`, { body, token: null });
  expect(answer.status).toBe(422);
  expect(JSON.stringify(answer.body).length).toBeLessThan(100_000);
});

test('numbers that only just fit are taken, larger ones are not, however they are written', async () => {
  const of = (number: string) =>
    good().replace(/\}$/, `,"_meta":{"io.modelcontextprotocol.registry/publisher-provided":{"a":[${number}]}}}`);
  for (const number of ['1e308', `1${'0'.repeat(308)}`, '1e-400']) expect((await post(of(number))).status).toBe(200);
  for (const number of ['1e309', '-1E+309', `1${'0'.repeat(309)}`, `-9${'9'.repeat(400)}`])
    expect((await post(of(number))).status).toBe(400);
});

test.each(['application/json', 'APPLICATION/JSON', 'application/json; charset=utf-16', 'application/problem+json', ''])(
  '"%s" is JSON',
  async (type) => {
    expect((await post(good(), { 'content-type': type })).status).toBe(200);
  },
);

test.each(['text/plain', '*/*', 'application/x-www-form-urlencoded', 'application/yaml', 'application/cbor'])(
  '"%s" is not',
  async (type) => {
    expect(await post(good(), { 'content-type': type })).toMatchObject({
      status: 415,
      body: {
        title: 'Unsupported Media Type',
        detail: 'validation failed',
        errors: [{ message: `unknown content type: ${type}`, location: 'body' }],
      },
    });
  },
);

test('invalid UTF-8 becomes the replacement character', async () => {
  const [before = '', after = ''] = good().split('a server');
  const { status, body } = await post(Buffer.concat([Buffer.from(before), Buffer.from([0x61, 0xff]), Buffer.from(after)]));
  expect(status).toBe(200);
  expect(body).toMatchObject({ server: { description: 'a\uFFFD' } });
});

test('of duplicate keys, in whatever case, the last wins', async () => {
  const { body } = await post(
    good().replace('{', '{"Description":"first","DESCRIPTION":"second",').replace(/\}$/, ',"description":"third"}'),
  );
  expect(body).toMatchObject({ server: { description: 'third' } });
});

test('a body that does not arrive in time is answered, and its connection closed', async () => {
  const token = await tokenFor();
  const text = await new Promise<string>((resolve, reject) => {
    const socket = connect(Number(new URL(registry.url).port), '127.0.0.1');
    socket.write(`POST /v0/publish HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Length: 100\r\n\r\n{"a":`);
    let received = '';
    socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
    socket.on('close', () => resolve(received));
    socket.on('error', reject);
  });
  expect(text).toMatch(/^HTTP\/1\.1 408 /);
  expect(text).toContain('"detail":"request body read timeout"');
});

test('a client that leaves in the middle of its body harms nobody', async () => {
  const socket = connect(Number(new URL(registry.url).port), '127.0.0.1');
  await new Promise((resolve) => socket.write('POST /v0/publish HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"a":', resolve));
  socket.destroy();
  expect((await post(good())).status).toBe(200);
});
