import { beforeAll, expect, test } from 'vitest';
import { RegistryClient } from '../../lib/registry-api/client.ts';
import { RegistryError } from '../../lib/registry-api/errors.ts';
import { sameDocument } from '../../lib/registry-api/normal-form.ts';
import { SCHEMA_URL, officialMeta, type ServerJson } from '../../lib/registry-api/server-json.ts';
import { seedTokenSource, type TokenSource } from '../../lib/registry-api/token.ts';
import { officialRegistry } from './official-registry.ts';

const run = Date.now().toString(36);
let client: RegistryClient;

beforeAll(() => {
  client = new RegistryClient(officialRegistry());
});

function documentOf(name: string, version = '1.0.0'): ServerJson {
  return {
    $schema: SCHEMA_URL,
    name,
    description: 'for the client',
    version,
    remotes: [{ type: 'streamable-http', url: 'https://a.example/mcp' }],
  };
}

async function codeOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => 'nothing',
    (error: unknown) => (error instanceof RegistryError ? error.code : String(error)),
  );
}

test('a record of any version that the registry takes can be read, edited, withdrawn and restored', async () => {
  const versions = ['1.0.0', '1.0.0+b', '50%', '50%25', 'a/b', 'a?b#c', '.', '..', ' 1 ', 'a\nb', 'ä', 'a:b', 'a\\b', '%2F', '%2e%2e'];
  for (const [index, version] of versions.entries()) {
    const document = documentOf(`io.example.${run}/odd-${index}`, version);
    await client.publish(document);
    const { name } = document;
    expect(sameDocument((await client.getVersion(name, version))?.server, document)).toBe(true);
    expect((await client.edit({ ...document, description: 'edited' })).server.description).toBe('edited');
    await client.setStatus({ name, version, status: 'deleted', message: 'gone' });
    expect(await client.getVersion(name, version)).toBeUndefined();
    const deleted = await client.getVersion(name, version, { includeDeleted: true });
    expect(deleted && officialMeta(deleted)).toMatchObject({ status: 'deleted', statusMessage: 'gone' });
    await client.setStatus({ name, version, status: 'active' });
    expect((await client.versions(name)).map(({ server }) => server.version)).toEqual([version]);
  }
});

test('the registry’s refusals are told apart', async () => {
  const document = documentOf(`io.example.${run}/refused`);
  const { name, version } = document;
  await client.publish(document);
  expect(await codeOf(client.publish(document))).toBe('duplicate');
  expect(await codeOf(client.edit({ ...document, version: '2.0.0' }))).toBe('not-found');
  expect(await codeOf(client.setStatus({ name, version, status: 'active' }))).toBe('no-change');
  expect(await codeOf(client.setStatus({ name, version: '2.0.0', status: 'active' }))).toBe('not-found');
  expect(await codeOf(client.setStatus({ name, version, status: 'deprecated', message: 'm'.repeat(501) }))).toBe('invalid');
  expect(await codeOf(client.publish({ ...document, version: '   ' }))).toBe('refused');
  expect(await codeOf(new RegistryClient({ url: `${client.url}/deeper` }).listAll())).toBe('protocol');
  expect(await client.getVersion('io.example/nobody', 'latest')).toBeUndefined();
  expect(await client.versions('io.example/nobody')).toEqual([]);
});

test('a refused document comes back with the reasons, whether the publish gives them or only /validate does', async () => {
  const document = documentOf(`io.example.${run}/invalid`);
  const refusals = [
    { ...document, title: '' },
    { ...document, remotes: [{ type: 'sse', url: 'http://a.example' }] },
  ];
  const faults = await Promise.all(refusals.map((refused) => client.publish(refused).catch((error: RegistryError) => error.faults)));
  expect(faults).toMatchObject([
    [{ path: 'title', message: 'expected length >= 1' }],
    [{ path: 'remotes[0].url', message: 'invalid remote URL: http://a.example' }],
  ]);
});

test('a wrong token is unauthorized, one for another name forbidden, a stale one renewed', async () => {
  const { url, readSeed, tokens } = officialRegistry();
  const codeWith = (source: TokenSource, name: string) =>
    codeOf(new RegistryClient({ url, tokens: source }).publish(documentOf(`io.example.${run}/${name}`)));
  const stale = async () => 'e30.e30.e30';
  expect(await codeWith({ token: stale, renew: stale }, 'denied')).toBe('unauthorized');
  expect(await codeWith(seedTokenSource({ readSeed: async () => '0'.repeat(64) }), 'denied')).toBe('unauthorized');
  const permissions = [{ action: 'publish', resource: `io.example.${run}/mine*` }] as const;
  expect(await codeWith(seedTokenSource({ readSeed, permissions }), 'yours')).toBe('forbidden');
  expect(await codeWith(seedTokenSource({ readSeed, permissions }), 'mine')).toBe('nothing');
  expect(await codeWith({ token: stale, renew: () => tokens.token() }, 'renewed')).toBe('nothing');
});

test('a walk over all pages finds every record once, deleted ones when asked for', async () => {
  const since = new Date(Date.now() - 1000);
  const names = Array.from({ length: 130 }, (_, index) => `io.example.${run}/walk${index}`);
  for (const name of names) await client.publish(documentOf(name));
  await client.setStatus({ name: names[0] ?? '', version: '1.0.0', status: 'deleted' });
  const search = `${run}/walk`;
  const found = (await client.listAll({ search })).map(({ server }) => server.name);
  expect(found).toEqual([...new Set(found)]);
  expect(found.toSorted()).toEqual(names.slice(1).toSorted());
  expect(await client.listAll({ search, includeDeleted: true })).toHaveLength(130);
  expect(await client.listAll({ search, updatedSince: since, version: 'latest' })).toHaveLength(130);
});
