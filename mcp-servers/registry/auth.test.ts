import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { decodeJwt, SignJWT, type JWK } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ed25519Key } from '../../lib/registry-api/token.ts';
import { documentOf, pathOf, SEED, send, startTestRegistry, tokenFor, type TestRegistry } from './testing.ts';

let registry: TestRegistry;
/** The registry's clock, milliseconds; tests move it. */
let clock = Date.UTC(2027, 0, 1);
let published = 0;

beforeAll(async () => {
  registry = await startTestRegistry({}, { now: () => clock });
});

afterAll(() => registry.close());

const soon = (): number => clock / 1000 + 60;

function signed(claims: Readonly<Record<string, unknown>>, { seed = SEED, alg = 'EdDSA' } = {}): Promise<string> {
  const permissions = [{ action: 'publish', resource: '*' }];
  const jwt = new SignJWT({ permissions, ...claims }).setProtectedHeader({ alg });
  return jwt.sign(alg === 'EdDSA' ? ed25519Key(seed) : Buffer.from(seed, 'hex'));
}

async function publishWith(
  headers: Readonly<Record<string, string>>,
  name = `a.b/n${(published += 1)}`,
): Promise<{ status: number; body: unknown }> {
  return registry.ask('POST', '/v0/publish', { body: documentOf(name), token: null, headers });
}

async function statusFor(token: string, name?: string): Promise<number> {
  return (await publishWith({ authorization: `Bearer ${token}` }, name)).status;
}

test('a request without token is a fault of its shape, listed with those of the body', async () => {
  const missing = { message: 'required header parameter is missing', location: 'header.Authorization', value: '' };
  expect(await publishWith({})).toMatchObject({ status: 422, body: { detail: 'validation failed', errors: [missing] } });
  expect(await publishWith({ authorization: '' })).toMatchObject({ status: 422, body: { errors: [missing] } });
  const both = await registry.ask('POST', '/v0/publish', { body: '{"version":5}', token: null });
  const locations = (both.body as { errors: { location: string }[] }).errors.map(({ location }) => location);
  expect(locations).toEqual(['header.Authorization', 'body', 'body', 'body', 'body.version']);
  const broken = await registry.ask('POST', '/v0/publish', { body: '{', token: null });
  expect(broken).toMatchObject({ status: 400, body: { errors: [missing, { location: 'body' }] } });
});

test.each(['Token x', 'Bearer', 'x', 'Basic eDp5'])('"%s" is no bearer token', async (authorization) => {
  expect(await publishWith({ authorization })).toMatchObject({
    status: 401,
    body: { detail: "Invalid Authorization header format. Expected 'Bearer <token>'" },
  });
});

test('bearer counts in any case', async () => {
  expect((await publishWith({ authorization: `bEaReR ${await signed({ exp: soon() })}` })).status).toBe(200);
});

test('a token is good by signature, end and beginning, and nothing else', async () => {
  expect(await statusFor(await signed({ exp: soon(), iss: 'x', aud: ['y'], iat: soon() + 600, nbf: clock / 1000 }))).toBe(200);
  expect(await statusFor(await signed({ exp: soon() + 365 * 86_400 }))).toBe(200);
  const unsigned = [{ alg: 'none' }, { exp: soon(), permissions: [] }].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  );
  const refused = [
    await signed({ exp: clock / 1000 }),
    await signed({}),
    await signed({ exp: soon(), nbf: clock / 1000 + 1 }),
    await signed({ exp: soon() }, { seed: 'b'.repeat(64) }),
    await signed({ exp: soon() }, { alg: 'HS256' }),
    `${unsigned.join('.')}.`,
    await signed({ exp: soon(), permissions: 'everything' }),
    'x',
  ];
  for (const token of refused)
    expect(await publishWith({ authorization: `Bearer ${token}` })).toMatchObject({
      status: 401,
      body: { detail: 'Invalid or expired Registry JWT token' },
    });
});

test('the public key signs nothing, and a key that comes with its token counts for nothing', async () => {
  const publicKey = createPublicKey(ed25519Key(SEED));
  const secrets = [
    publicKey.export({ type: 'spki', format: 'der' }),
    Buffer.from(publicKey.export({ type: 'spki', format: 'pem' })),
    Buffer.from(String(publicKey.export({ format: 'jwk' }).x), 'base64url'),
    Buffer.from(SEED),
  ];
  const claims = () => new SignJWT({ permissions: [{ action: 'publish', resource: '*' }], exp: soon() });
  for (const secret of secrets) expect(await statusFor(await claims().setProtectedHeader({ alg: 'HS256' }).sign(secret))).toBe(401);
  const other = generateKeyPairSync('ed25519');
  const jwk = other.publicKey.export({ format: 'jwk' }) as JWK;
  for (const header of [{ jwk }, { kid: '../../seed' }, { jku: `${registry.url}/keys` }, { x5u: `${registry.url}/keys` }]) {
    expect(
      await statusFor(
        await claims()
          .setProtectedHeader({ alg: 'EdDSA', ...header })
          .sign(other.privateKey),
      ),
    ).toBe(401);
  }
});

test('a token is written in base64url and nothing else', async () => {
  const token = await signed({ exp: soon() });
  expect(await statusFor(token)).toBe(200);
  const middle = token.lastIndexOf('.') + 5;
  const rewritten = [
    `${token}=`,
    `${token}.`,
    ...[' ', '+', '/', '=', ','].map((odd) => token.slice(0, middle) + odd + token.slice(middle)),
  ];
  for (const other of rewritten) expect([other, await statusFor(other)]).toEqual([other, 401]);
});

test('a token that was verified before ends when it says so', async () => {
  const token = await signed({ exp: soon() });
  expect(await statusFor(token)).toBe(200);
  clock += 59_000;
  expect(await statusFor(token)).toBe(200);
  clock += 1000;
  expect(await statusFor(token)).toBe(401);
});

test.each([
  ['*', 200],
  ['perm.b/*', 200],
  ['perm.b/ex*', 200],
  ['perm.b/exact', 200],
  ['perm.b/Exact', 403],
  ['perm.b/exac', 403],
  ['perm.c/*', 403],
  ['', 403],
])('a permission on "%s" for perm.b/exact: %i', async (resource, status) => {
  published += 1;
  const token = await signed({ exp: soon(), permissions: [{ action: 'publish', resource }] });
  const answer = await registry.ask('POST', '/v0/publish', { body: documentOf('perm.b/exact', { version: `1.0.${published}` }), token });
  expect(answer.status).toBe(status);
});

test('a refusal lists what the token would allow, before the document is judged', async () => {
  const token = await signed({
    exp: soon(),
    permissions: [
      { action: 'publish', resource: 'x/*' },
      { action: 'publish', resource: 'y/z' },
    ],
  });
  const body = documentOf('a.b/foreign', { version: 'latest' });
  expect(await registry.ask('POST', '/v0/publish', { body, token })).toMatchObject({
    status: 403,
    body: {
      detail:
        'You do not have permission to publish this server. You have permission to publish: x/*, y/z. Attempting to publish: a.b/foreign',
    },
  });
  const none = await signed({ exp: soon(), permissions: null });
  expect((await registry.ask('POST', '/v0/publish', { body, token: none })).body).toMatchObject({
    detail:
      'You do not have permission to publish this server. You do not have any publish permissions. Attempting to publish: a.b/foreign',
  });
});

test('editing needs edit, a status either, publishing publish', async () => {
  const admin = await signed({ exp: soon() });
  await registry.ask('POST', '/v0/publish', { body: documentOf('roles.b/xa'), token: admin });
  const [publishOnly, editOnly, neither] = await Promise.all(
    [
      ['publish', '*'],
      ['edit', '*'],
      ['edit', 'other/*'],
    ].map(([action, resource]) => signed({ exp: soon(), permissions: [{ action, resource }] })),
  );
  const put = async (token = '') =>
    (await registry.ask('PUT', pathOf('roles.b/xa', '1.0.0'), { body: documentOf('roles.b/xa'), token })).status;
  const patch = async (token = '', status = 'deprecated') =>
    (await registry.ask('PATCH', `${pathOf('roles.b/xa')}/status`, { body: JSON.stringify({ status }), token })).status;
  expect(await put(publishOnly)).toBe(403);
  expect(await put(editOnly)).toBe(200);
  expect(await patch(neither)).toBe(403);
  expect(await patch(editOnly)).toBe(200);
  expect(await patch(publishOnly, 'active')).toBe(200);
  expect(await statusFor(editOnly ?? '')).toBe(403);
});

test('no anonymous token unless asked for', async () => {
  const { status, body } = await registry.ask('POST', '/v0/auth/none', { token: null });
  expect([status, (body as { detail: string }).detail]).toEqual([404, 'Endpoint not found. See /docs for the API documentation.']);
});

test('an anonymous token is good for five minutes and one namespace', async () => {
  const open = await startTestRegistry({ ENABLE_ANONYMOUS_AUTH: 'true' });
  try {
    const { status, body } = await send(open.url, 'POST', '/v0.1/auth/none', { body: 'ignored' });
    const { registry_token: token, expires_at: expiresAt } = body as { registry_token: string; expires_at: number };
    const { iat = 0, exp } = decodeJwt(token);
    expect([status, expiresAt, exp]).toEqual([200, iat + 300, iat + 300]);
    const own = await open.ask('POST', '/v0/publish', { body: documentOf('io.modelcontextprotocol.anonymous/xa'), token });
    const foreign = await open.ask('POST', '/v0/publish', { body: documentOf('a.b/xa'), token });
    expect([own.status, foreign.status]).toEqual([200, 403]);
    expect((await open.ask('POST', '/v0/publish', { body: documentOf('a.b/xa'), token: await tokenFor() })).status).toBe(200);
  } finally {
    await open.close();
  }
});
