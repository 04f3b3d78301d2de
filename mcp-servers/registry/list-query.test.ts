import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { pathOf, seen, startTestRegistry, type TestRegistry } from './testing.ts';

let registry: TestRegistry;
/** Names of which one begins another, in an order that only bytes make. */
const names = ['a.b/xa', 'a.b/xa-y', 'a.b/xa.y', 'a.b/xa1', 'a.b/xaX', 'a.b/xa_y', 'a.b/xax'];
const versions = ['1.0.0+b:c', '1.10.0', '1.9.0'];

beforeAll(async () => {
  registry = await startTestRegistry();
  for (const name of names.toReversed()) for (const version of versions) await registry.publish(name, version);
  await registry.publish('gone.b/deleted', '1.0.0');
  await registry.setStatus(pathOf('gone.b/deleted', '1.0.0'), 'deleted');
});

afterAll(() => registry.close());

function keys(servers: readonly { server: { name: string; version: string } }[]): string[] {
  return servers.map(({ server }) => `${server.name}@${server.version}`);
}

const inOrder = names.flatMap((name) => versions.map((version) => `${name}@${version}`));

async function walk(limit: number, query = ''): Promise<string[]> {
  const walked: string[] = [];
  let cursor: string | undefined = '';
  while (cursor !== undefined) {
    const page = await registry.list(`limit=${limit}&cursor=${encodeURIComponent(cursor)}${query}`);
    expect(page.count).toBe(page.servers.length);
    walked.push(...keys(page.servers));
    cursor = page.nextCursor;
  }
  return walked;
}

test('an empty registry lists no servers and no cursor', async () => {
  const empty = await startTestRegistry();
  try {
    expect((await empty.ask('GET', '/v0.1/servers')).body).toEqual({ servers: [], metadata: { count: 0 } });
  } finally {
    await empty.close();
  }
});

test('a walk sees every record once, in the bytewise order of name and version, whatever the page size', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 100 }), async (limit) => {
      expect(await walk(limit)).toEqual(inOrder);
    }),
    { numRuns: 12 },
  );
});

test('a full last page has a cursor, whose page is empty and has none', async () => {
  const full = await registry.list(`limit=${inOrder.length}`);
  expect([full.count, full.nextCursor]).toEqual([inOrder.length, 'a.b/xax:1.9.0']);
  const after = await registry.ask('GET', `/v0.1/servers?limit=${inOrder.length}&cursor=${encodeURIComponent(full.nextCursor ?? '')}`);
  expect(after.body).toEqual({ servers: [], metadata: { count: 0 } });
});

test('any text is a cursor, and continues after the place it names', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 40 }), async (text) => {
      fc.pre(!text.includes('\0') && text.isWellFormed() && text !== '');
      const { servers } = await registry.list(`limit=100&cursor=${encodeURIComponent(text)}`);
      const [name = '', ...version] = text.split(':');
      const after = inOrder.filter((key) => {
        const [itsName = '', itsVersion = ''] = key.split('@');
        return version.length === 0 || itsName !== name ? bytewise(itsName, name) > 0 : bytewise(itsVersion, version.join(':')) > 0;
      });
      expect(keys(servers)).toEqual(after);
    }),
    { numRuns: 60 },
  );
});

function bytewise(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

test.each(['0', '-1', '101', 'abc', '1.5', '9999999999999999999'])('limit=%s is refused with its location', async (limit) => {
  const { status, body } = await registry.ask('GET', `/v0.1/servers?limit=${limit}`);
  expect(status).toBe(422);
  expect(body).toMatchObject({ title: 'Unprocessable Entity', detail: 'validation failed', errors: [{ location: 'query.limit' }] });
});

test('an empty limit is the default of 30', async () => {
  for (const extra of Array.from({ length: 10 }, (_, index) => `z.z/more-${index}`)) await registry.publish(extra, '1.0.0');
  expect((await registry.list('limit=')).count).toBe(30);
  for (const extra of Array.from({ length: 10 }, (_, index) => `z.z/more-${index}`)) await registry.setStatus(pathOf(extra), 'deleted');
});

test('a search is a substring of the name in any case, its wildcards literal', async () => {
  const found = async (search: string) =>
    (await registry.list(`search=${encodeURIComponent(search)}&version=latest`)).servers.map(({ server }) => server.name);
  expect(await found('B/XA-')).toEqual(['a.b/xa-y']);
  expect(await found('.b/')).toEqual(names);
  for (const literal of ['%%%', '___', '\\\\\\', ' a.b/xa ', 'a server', 'Кир', 'x_y_']) expect(await found(literal)).toEqual([]);
});

test.each(['ab', '%F0%9F%98%80%F0%9F%98%80', '+++', '%20ab%20'])('search=%s is too short', async (search) => {
  const { status, body } = await registry.ask('GET', `/v0.1/servers?search=${search}`);
  expect(status).toBe(422);
  expect(body).toEqual({
    title: 'Unprocessable Entity',
    status: 422,
    detail: 'search must contain at least 3 characters after trimming surrounding whitespace',
  });
});

test('version=latest shows one record per name, another value that very version', async () => {
  expect(keys((await registry.list('version=latest&limit=100')).servers)).toEqual(names.map((name) => `${name}@1.10.0`));
  expect(keys((await registry.list('version=1.9.0&search=a.b/xa1')).servers)).toEqual(['a.b/xa1@1.9.0']);
  expect(await walk(2, '&version=latest')).toEqual(names.map((name) => `${name}@1.10.0`));
  expect((await registry.list('version=unknown')).servers).toEqual([]);
});

test('deleted records are listed only when asked for, or when syncing', async () => {
  const listed = async (query: string) => (await registry.list(`search=gone.b&${query}`)).count;
  expect(await listed('')).toBe(0);
  expect(await listed('include_deleted=')).toBe(0);
  expect(await listed('include_deleted=false')).toBe(0);
  expect(await listed('include_deleted=true')).toBe(1);
  expect(await listed('include_deleted=T')).toBe(1);
  expect(await listed('updated_since=2020-01-01T00:00:00Z')).toBe(1);
  expect(await listed('updated_since=2020-01-01T00:00:00Z&include_deleted=1')).toBe(1);
});

test('syncing refuses to leave deleted records out', async () => {
  const { status, body } = await registry.ask('GET', '/v0.1/servers?updated_since=2020-01-01T00:00:00Z&include_deleted=false');
  expect(status).toBe(400);
  expect(body).toMatchObject({
    detail: 'Cannot set include_deleted=false when using updated_since (incremental sync requires deleted servers)',
  });
  expect((await registry.ask('GET', '/v0.1/servers?include_deleted=maybe')).body).toMatchObject({
    errors: [{ message: 'invalid boolean' }],
  });
});

test('updated_since shows strictly later records only', async () => {
  const { updatedAt } = seen((await registry.ask('GET', pathOf('a.b/xa', '1.9.0'))).body);
  const listed = async (since: string) => keys((await registry.list(`updated_since=${encodeURIComponent(since)}&limit=100`)).servers);
  expect(await listed(updatedAt)).not.toContain('a.b/xa@1.9.0');
  const microsecondBefore = updatedAt.replace(
    /(?:\.(\d+))?Z$/,
    (_, fraction = '') => `.${String(Number(String(fraction).padEnd(6, '0')) - 1).padStart(6, '0')}Z`,
  );
  expect(await listed(microsecondBefore)).toContain('a.b/xa@1.9.0');
  expect(await listed('2999-01-01T00:00:00+02:00')).toEqual([]);
});

test.each(['2025-08-07', '2025-08-07T13:15:04', '2025-08-07T13:15:04+02:00', 'x'])('updated_since=%s is no time', async (time) => {
  const { status, body } = await registry.ask('GET', `/v0.1/servers?updated_since=${time}`);
  expect(status).toBe(400);
  expect(body).toMatchObject({ detail: 'Invalid updated_since format: expected RFC3339 timestamp (e.g., 2025-08-07T13:15:04.280Z)' });
});

test('every malformed parameter is reported at once', async () => {
  const { body } = await registry.ask('GET', '/v0.1/servers?limit=0&include_deleted=maybe&updated_since=x');
  expect((body as { errors: { location: string }[] }).errors.map(({ location }) => location)).toEqual([
    'query.limit',
    'query.include_deleted',
  ]);
});

test('the versions of a server come with the newest publication first, all at once', async () => {
  const { body } = await registry.ask('GET', `${pathOf('a.b/xa')}/versions?limit=1`);
  const { servers, metadata } = body as { servers: unknown[]; metadata: unknown };
  expect(keys(servers.map(seen))).toEqual(versions.toReversed().map((version) => `a.b/xa@${version}`));
  expect(metadata).toEqual({ count: 3 });
});
