import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDatabase } from './database.ts';
import { Store } from './store.ts';
import { documentOf, pathOf, send, startTestRegistry, type TestRegistry } from './testing.ts';

const MIB = 1024 * 1024;
const VERSIONS = 31;

let directory: string;
let registry: TestRegistry;

const packagesOf = (bytes: number) => [{ registryType: 'npm', identifier: 'x'.repeat(bytes), transport: { type: 'stdio' } }];

/** A registry in which one name has 31 MiB of versions. */
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'toolyard-large-'));
  const file = join(directory, 'registry.sqlite');
  const opened = openDatabase(file);
  await new Store(opened.database, () => {}).write((records) => {
    for (let version = 0; version < VERSIONS; version += 1) {
      const times = { statusChangedAt: version, publishedAt: version, updatedAt: version };
      const key = { name: 'large.b/xa', version: `1.0.${version}` };
      const document = documentOf(key.name, { version: key.version, packages: packagesOf(MIB) });
      records.insert({ ...key, ...times, status: 'active', statusMessage: null, isLatest: version === VERSIONS - 1 }, document);
    }
  });
  opened.close();
  registry = await startTestRegistry({ DATABASE_FILE: file });
});

afterAll(async () => {
  await registry.close();
  await rm(directory, { recursive: true });
});

test('a page of large records ends early, and the walk still sees each of them once', async () => {
  const found: string[] = [];
  for (let cursor: string | undefined = ''; cursor !== undefined;) {
    const page = await registry.list(`limit=100&cursor=${encodeURIComponent(cursor)}`);
    expect(page.count).toBeLessThanOrEqual(4);
    found.push(...page.servers.map(({ server }) => server.version));
    cursor = page.nextCursor;
  }
  expect(found.toSorted()).toEqual(Array.from({ length: VERSIONS }, (_, version) => `1.0.${version}`).toSorted());
});

test('the page for people does not grow with them', async () => {
  const { status, body } = await send(registry.url, 'GET', '/');
  expect(status).toBe(200);
  expect((body as string).length).toBeLessThan(100_000);
});

test('all versions of a name must fit into one answer: what goes beyond is refused, in other names and in small it is not', async () => {
  const large = { packages: packagesOf(900_000) };
  expect((await registry.publish('large.b/xa', '2.0.0', large)).status).toBe(200);
  const refused = await registry.publish('large.b/xa', '2.0.1', large);
  expect(refused).toMatchObject({
    status: 400,
    body: { detail: 'Failed to publish server', errors: [{ message: expect.stringContaining('maximum size of all versions') }] },
  });
  expect((await registry.publish('large.b/xa', '2.0.2')).status).toBe(200);
  const body = documentOf('large.b/xa', { version: '2.0.2', ...large });
  expect(await registry.ask('PUT', pathOf('large.b/xa', '2.0.2'), { body })).toMatchObject({
    status: 400,
    body: { detail: 'Failed to edit server' },
  });
  expect((await registry.publish('large.b/other', '1.0.0', large)).status).toBe(200);
});
