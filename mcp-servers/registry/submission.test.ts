import { afterAll, beforeAll, expect, test } from 'vitest';
import { PUBLISHER_META, SCHEMA_URL } from '../../lib/registry-api/server-json.ts';
import { documentOf, pathOf, startTestRegistry, type TestRegistry } from './testing.ts';

// The rules themselves are tested beside the validator in lib/registry-api; here is what the registry makes of its verdicts.

let registry: TestRegistry;
let names = 0;

beforeAll(async () => {
  registry = await startTestRegistry();
});

afterAll(() => registry.close());

function freshName(): string {
  names += 1;
  return `doc.b/n${names}`;
}

function publish(changes: Readonly<Record<string, unknown>>) {
  return registry.ask('POST', '/v0.1/publish', { body: documentOf(freshName(), changes) });
}

test('faults of the shape come all at once, each with its place', async () => {
  const { status, body } = await publish({
    description: '',
    version: 5,
    packages: [{ registry_type: 'npm', identifier: 'x', transport: { type: 'stdio' } }],
    extra: true,
  });
  expect(status).toBe(422);
  const { detail, errors } = body as { detail: string; errors: { message: string; location: string }[] };
  expect(detail).toBe('validation failed');
  expect(errors.map(({ message, location }) => `${location}: ${message}`).toSorted()).toEqual([
    'body.description: expected length >= 1',
    'body.extra: unexpected property',
    'body.packages[0].registry_type: unexpected property',
    'body.packages[0]: expected required property registryType to be present',
    'body.version: expected string',
  ]);
});

test.each([
  [{ $schema: SCHEMA_URL.replace('2025-12-11', 'draft') }],
  [{ version: 'latest' }],
  [{ version: '^1.0.0' }],
  [{ remotes: [{ type: 'streamable-http', url: 'http://a.example/mcp' }] }],
  [{ remotes: [{ type: 'streamable-http', url: 'https://localhost/mcp' }] }],
  [{ remotes: [{ type: 'stdio' }] }],
  [{ repository: { url: 'https://ghe.example/a/b', source: 'github' } }],
  [{ websiteUrl: 'https://a.example/"' }],
  [{ name: 'a/b' }],
])('a breach of the rules in code is not spelled out: %j', async (changes) => {
  const { status, body } = await publish(changes);
  expect(status).toBe(422);
  expect(body).toEqual({
    title: 'Unprocessable Entity',
    status: 422,
    detail: 'Failed to publish server, invalid schema: call /validate for details',
  });
});

test('a fault shows the value it is about, unless that is null', async () => {
  const { body } = await registry.ask('POST', '/v0/publish', { body: documentOf('a.b/values', { version: 5, description: null }) });
  expect((body as { errors: unknown[] }).errors).toEqual([
    { message: 'expected string', location: 'body.description' },
    { message: 'expected string', location: 'body.version', value: 5 },
  ]);
});

test('an older schema is accepted', async () => {
  expect((await publish({ $schema: SCHEMA_URL.replace('2025-12-11', '2025-10-17') })).status).toBe(200);
});

test('lengths are code points', async () => {
  expect((await publish({ description: '\u{1F600}'.repeat(100) })).status).toBe(200);
  expect((await publish({ description: '\u{1F600}'.repeat(101) })).status).toBe(422);
});

test('the publisher’s own metadata has 4096 bytes, as Go would write them', async () => {
  const provided = (bytes: number, filler: string, each: number) => ({
    _meta: { [PUBLISHER_META]: { a: filler.repeat((bytes - 8) / each) } },
  });
  expect((await publish(provided(4096, 'x', 1))).status).toBe(200);
  const { status, body } = await publish(provided(4097, 'x', 1));
  expect(status).toBe(400);
  expect(body).toMatchObject({
    detail: 'Failed to publish server',
    errors: [{ message: `_meta.${PUBLISHER_META} extension exceeds 4KB limit (4097 bytes)` }],
  });
  expect((await publish(provided(4100, '<', 6))).status).toBe(400);
  expect((await publish(provided(4094, '<', 6))).status).toBe(200);
  expect((await publish(provided(4096, 'é', 2))).status).toBe(200);
});

test.each([{ version: '   ' }, { description: 'a\u0000b' }])('what the official database cannot hold is refused: %j', async (changes) => {
  expect(await publish(changes)).toMatchObject({ status: 400, body: { detail: 'Failed to publish server' } });
});

test('odd text is kept, a lone surrogate replaced', async () => {
  const { body } = await publish({ description: '\u202Eabc\u200B', title: '\uD800' });
  expect(body).toMatchObject({ server: { description: '\u202Eabc\u200B', title: '\uFFFD' } });
});

test('what is stored is the normal form: empties, nulls and false gone, numbers as float64, explicit empty arguments kept', async () => {
  const name = freshName();
  const body = `{"$schema":"${SCHEMA_URL}","NAME":"${name}","description":"d","version":"1.0.0","title":null,"icons":[],
    "packages":[{"registryType":"npm","identifier":"x","transport":{"type":"stdio","url":""},
      "packageArguments":[{"type":"named","name":"--a","value":"","isRequired":false,"isSecret":true}]}],
    "_meta":{"${PUBLISHER_META}":{"big":9007199254740993,"one":1.0,"none":null}}}`;
  const answer = await registry.ask('POST', '/v0.1/publish', { body });
  const server = {
    $schema: SCHEMA_URL,
    name,
    description: 'd',
    version: '1.0.0',
    packages: [
      {
        registryType: 'npm',
        identifier: 'x',
        transport: { type: 'stdio' },
        packageArguments: [{ type: 'named', name: '--a', value: '', isSecret: true }],
      },
    ],
    _meta: { [PUBLISHER_META]: { big: 9_007_199_254_740_992, one: 1, none: null } },
  };
  expect(answer.body).toMatchObject({ server });
  expect(((await registry.ask('GET', pathOf(name, '1.0.0'))).body as { server: unknown }).server).toEqual(server);
});

test('/validate lists every breach, and never refuses for one', async () => {
  const body = documentOf('doc.b/valid', {
    version: 'latest',
    remotes: [{ type: 'streamable-http', url: 'http://a.example' }],
    icons: [{ src: 'https://a.example/i.png', sizes: ['48x48', 'big'] }],
    _meta: { [PUBLISHER_META]: { a: 'x'.repeat(5000) } },
  });
  const { status, body: verdict } = await registry.ask('POST', '/v0.1/validate', { body, token: null });
  expect(status).toBe(200);
  const { valid, issues } = verdict as { valid: boolean; issues: { type: string; path: string; severity: string }[] };
  expect(valid).toBe(false);
  expect(issues.map(({ type, path, severity }) => [type, path, severity])).toEqual([
    ['schema', 'icons[0].sizes[1]', 'error'],
    ['semantic', 'version', 'error'],
    ['semantic', 'remotes[0].url', 'error'],
  ]);
});

test('/validate: a clean document has no issues, an older schema is a warning, a wrong shape a refusal', async () => {
  const validate = (text: string) => registry.ask('POST', '/v0.1/validate', { body: text, token: null });
  expect(await validate(documentOf('doc.b/valid'))).toMatchObject({ status: 200, body: { valid: true, issues: [] } });
  const older = await validate(documentOf('doc.b/valid', { $schema: SCHEMA_URL.replace('2025-12-11', '2025-07-09') }));
  expect(older.body).toMatchObject({
    valid: true,
    issues: [{ severity: 'warning', path: 'schema', reference: 'schema-version-deprecated' }],
  });
  expect((await validate('{}')).status).toBe(422);
});

test('local remotes are accepted only where that is switched on', async () => {
  const local = await startTestRegistry({ ALLOW_LOCAL_REMOTES: 'true' });
  try {
    for (const url of ['http://127.0.0.1:8001/mcp', 'https://localhost/mcp']) {
      const remotes = [{ type: 'streamable-http', url }];
      expect((await local.publish(freshName(), '1.0.0', { remotes })).status).toBe(200);
      expect((await publish({ remotes })).status).toBe(422);
    }
  } finally {
    await local.close();
  }
});
