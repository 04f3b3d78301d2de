import { afterEach, beforeEach, expect, test } from 'vitest';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { publisherMeta } from '../../operator/records/record.ts';
import type { OperatorView } from '../../operator/records/status.ts';
import { Bench, SEED, conditionOf, declarationOf, record, until } from './bench.ts';

const NAME = 'com.example/weather';
let bench: Bench;

beforeEach(async () => {
  bench = await Bench.start();
});

afterEach(async () => {
  await bench.close();
});

async function descriptionOf(name = NAME, version = '1.0.0'): Promise<string | undefined> {
  return (await bench.records(name)).find((record) => record.version === version)?.document.description;
}

test('a file that is dropped in appears, marked with who keeps it', async () => {
  const server = await bench.server(['forecast', 'alerts']);
  const operator = await bench.operator();
  await until('the registry was read', () => operator.ready().ready);
  await bench.declare('weather', record(NAME, `${server.url}/mcp`));
  await bench.untilStatus(NAME, 'active');
  const [published] = await bench.records(NAME);
  const mark = { install: 'toolyard', source: 'catalog/weather/server.json' };
  expect(published && publisherMeta(published.document)).toEqual({ 'toolyard.dev': mark });
  await until('the status says so', () => declarationOf(operator, 'weather')?.state === 'Published');
  expect(declarationOf(operator, 'weather')?.tools).toMatchObject({ count: 2, names: ['alerts', 'forecast'] });
  expect(conditionOf(operator, 'weather', 'Reachable')).toBe('True Answers');
});

test('a server that comes up after its file is published at its first answer', async () => {
  const operator = await bench.operator();
  const placeholder = await bench.server();
  const port = Number(new URL(placeholder.url).port);
  await placeholder.close();
  await bench.declare('weather', record(NAME, `http://127.0.0.1:${port}/mcp`));
  await until('it is waited for', () => conditionOf(operator, 'weather', 'Reachable') === 'False ConnectionRefused');
  expect(await bench.statusOf(NAME)).toBe('absent');
  expect(declarationOf(operator, 'weather')?.state).toBe('Pending');
  await bench.server(['forecast'], port);
  await bench.untilStatus(NAME, 'active');
});

test('an edit edits the record, a broken file keeps the last good one and shows every fault, a repair is published', async () => {
  const server = await bench.server();
  const operator = await bench.operator();
  await bench.declare('weather', record(NAME, `${server.url}/mcp`));
  await bench.untilStatus(NAME, 'active');
  await bench.declare('weather', record(NAME, `${server.url}/mcp`, { description: 'a better server' }));
  await until('the edit is published', async () => (await descriptionOf()) === 'a better server');

  await bench.declare('weather', { ...record(NAME, `${server.url}/mcp`), description: '', title: '', unknown: 1, version: 'latest' });
  await until('it is refused', () => declarationOf(operator, 'weather')?.state === 'Refused');
  const faults = declarationOf(operator, 'weather')?.faults?.map(({ path }) => path);
  expect(faults?.toSorted()).toEqual(['description', 'title', 'unknown', 'version']);
  expect(await descriptionOf()).toBe('a better server');
  expect(await bench.statusOf(NAME)).toBe('active');

  await bench.declare('weather', '{"name": ');
  await until('it is no JSON', () => conditionOf(operator, 'weather', 'Accepted') === 'False InvalidJson');
  expect(await bench.statusOf(NAME)).toBe('active');

  await bench.declare('weather', record(NAME, `${server.url}/mcp`, { description: 'repaired' }));
  await until('the repair is published', async () => (await descriptionOf()) === 'repaired');
});

test('a server that stops deprecates its record with the reason, its return makes it active again', async () => {
  const server = await bench.server();
  const port = Number(new URL(server.url).port);
  const operator = await bench.operator();
  await bench.declare('weather', record(NAME, `${server.url}/mcp`));
  await bench.untilStatus(NAME, 'active');
  await server.close();
  await bench.untilStatus(NAME, 'deprecated');
  const [deprecated] = await bench.records(NAME);
  expect(deprecated?.statusMessage).toContain('nothing listens at its address');
  await until('the status says so', () => declarationOf(operator, 'weather')?.state === 'Deprecated');
  await bench.server(['forecast'], port);
  await bench.untilStatus(NAME, 'active');
});

test('a new version is there before the old one goes, and a revert makes the old one latest again', async () => {
  const server = await bench.server();
  await bench.operator();
  await bench.declare('weather', record(NAME, `${server.url}/mcp`));
  await bench.untilStatus(NAME, 'active');
  await bench.declare('weather', record(NAME, `${server.url}/mcp`, { version: '1.1.0' }));
  await bench.untilStatus(NAME, 'deleted', '1.0.0');
  expect((await bench.client().getVersion(NAME, 'latest'))?.server.version).toBe('1.1.0');
  await bench.declare('weather', record(NAME, `${server.url}/mcp`, { description: 'as before, nearly' }));
  await bench.untilStatus(NAME, 'deleted', '1.1.0');
  const latest = await bench.client().getVersion(NAME, 'latest');
  expect(latest?.server).toMatchObject({ version: '1.0.0', description: 'as before, nearly' });
});

test('a file that vanishes is withdrawn after its time for a return, and a return within it is only an edit', async () => {
  const server = await bench.server();
  const operator = await bench.operator({ WITHDRAW_AFTER_SECONDS: '2' });
  await bench.declare('weather', record(NAME, `${server.url}/mcp`));
  await bench.untilStatus(NAME, 'active');
  await bench.remove('weather');
  await until('it is being withdrawn', () => declarationOf(operator, 'weather')?.state === 'Withdrawing');
  await bench.declare('weather', record(NAME, `${server.url}/mcp`, { description: 'back' }));
  await until('it is edited', async () => (await descriptionOf()) === 'back');
  expect(await bench.statusOf(NAME)).toBe('active');
  await bench.remove('weather');
  await bench.untilStatus(NAME, 'deleted');
  await until('nothing is left of it', () => declarationOf(operator, 'weather') === undefined);
  await bench.declare('weather', record(NAME, `${server.url}/mcp`, { description: 'again' }));
  await bench.untilStatus(NAME, 'active');
  await until('it is edited', async () => (await descriptionOf()) === 'again');
});

test('an operator that was away catches up', async () => {
  const server = await bench.server();
  const first = await bench.operator();
  await bench.declare('weather', record(NAME, `${server.url}/mcp`));
  await bench.declare('news', record('com.example/news', `${server.url}/mcp`));
  await bench.untilStatus(NAME, 'active');
  await bench.untilStatus('com.example/news', 'active');
  await bench.stopOperator(first);
  await bench.remove('news');
  await bench.declare('weather', record(NAME, `${server.url}/mcp`, { description: 'changed meanwhile' }));
  await bench.operator();
  await bench.untilStatus('com.example/news', 'deleted');
  await until('the edit is published', async () => (await descriptionOf()) === 'changed meanwhile');
  expect(await bench.statusOf(NAME)).toBe('active');
});

test('an operator with nothing to do writes nothing, also after a restart, and its status stays as it was', async () => {
  const server = await bench.server();
  const proxy = await bench.proxy();
  const first = await bench.operator({ REGISTRY_URL: proxy.url });
  await bench.declare('weather', record(NAME, `${server.url}/mcp`));
  await bench.declare('silent', record('com.example/silent', 'http://127.0.0.1:1/mcp'));
  await until('both are judged', () =>
    ['Published', 'Pending'].every((state) => first.view().declarations.some((one) => one.state === state)),
  );
  await bench.stopOperator(first);
  const timesOf = (view: OperatorView): unknown => view.declarations.map(({ state, conditions }) => ({ state, conditions }));
  const before = timesOf(await bench.readStatusFile());
  proxy.writes = 0;
  const second = await bench.operator({ REGISTRY_URL: proxy.url, REGISTRY_RESYNC_SECONDS: '0.2' });
  const lists = proxy.lists;
  await until('the registry was read again and again', () => proxy.lists > lists + 5);
  await until('all is as it was', () => isDeepStrictEqual(timesOf(second.view()), before));
  expect(proxy.writes).toBe(0);
});

test('a write whose answer is lost is not done twice', async () => {
  const server = await bench.server();
  const proxy = await bench.proxy();
  const operator = await bench.operator({ REGISTRY_URL: proxy.url });
  await until('the registry was read', () => operator.ready().ready);
  proxy.lose = 1;
  await bench.declare('weather', record(NAME, `${server.url}/mcp`));
  await until('it is published', () => declarationOf(operator, 'weather')?.state === 'Published');
  expect(proxy.writes).toBe(1);
});

test('the registry goes down and comes back: what was declared meanwhile is published', async () => {
  const server = await bench.server();
  const operator = await bench.operator();
  await until('the registry was read', () => operator.ready().ready);
  await bench.stopRegistry();
  await bench.declare('weather', record(NAME, `${server.url}/mcp`));
  await until('it waits for the registry', () => conditionOf(operator, 'weather', 'Published') === 'False RegistryDown');
  expect(operator.view().registry.state).toBe('down');
  expect(operator.ready()).toMatchObject({ ready: false });
  await bench.startRegistry();
  await bench.untilStatus(NAME, 'active');
});

test('a registry that lost everything is filled again', async () => {
  const server = await bench.server();
  await bench.operator();
  await bench.declare('weather', record(NAME, `${server.url}/mcp`));
  await bench.untilStatus(NAME, 'active');
  await bench.emptyRegistry();
  await bench.untilStatus(NAME, 'active');
  expect(await descriptionOf()).toBe('a server');
});

test('two files with one name and version: the newer wins, the other says who has it, and takes over when that goes', async () => {
  const server = await bench.server();
  const operator = await bench.operator();
  await bench.declare('weather', record(NAME, `${server.url}/mcp`));
  await bench.untilStatus(NAME, 'active');
  await bench.declare('copy', record(NAME, `${server.url}/mcp`, { description: 'the copy' }));
  await until('the newer one is published', async () => (await descriptionOf()) === 'the copy');
  await until('the older one is refused', () => conditionOf(operator, 'weather', 'Accepted') === 'False DuplicateVersion');
  expect(declarationOf(operator, 'weather')?.conditions[0]?.message).toContain('catalog/copy/server.json');
  await bench.remove('copy');
  await until('the older one is published again', async () => (await descriptionOf()) === 'a server');
  expect(await bench.statusOf(NAME)).toBe('active');
});

test('a record that somebody else published is not touched until adopt says so', async () => {
  const server = await bench.server();
  const foreign = record(NAME, 'https://weather.example/mcp', { description: 'by hand' });
  await bench.client().publish(foreign);
  const operator = await bench.operator();
  await bench.declare('weather', record(NAME, `${server.url}/mcp`));
  await until('it is refused', () => conditionOf(operator, 'weather', 'Accepted') === 'False NameTaken');
  expect(await descriptionOf()).toBe('by hand');
  await bench.declare('weather', record(NAME, `${server.url}/mcp`), { adopt: true });
  await until('it is taken over', async () => (await descriptionOf()) === 'a server');
});

test('two installs on one registry: the second is refused the name, and neither touches what the other keeps', async () => {
  const server = await bench.server();
  await bench.operator();
  await bench.declare('weather', record(NAME, `${server.url}/mcp`));
  await bench.untilStatus(NAME, 'active');
  const other = await Bench.start();
  try {
    const operator = await other.operator({ REGISTRY_URL: bench.registryUrl, INSTALL: 'other' });
    await other.declare('mine', record(NAME, `${server.url}/mcp`, { version: '2.0.0' }));
    await until('it is refused', () => conditionOf(operator, 'mine', 'Accepted') === 'False NameTaken');
    expect(declarationOf(operator, 'mine')?.conditions[0]?.message).toContain('the install toolyard');
    expect(await bench.statusOf(NAME, '2.0.0')).toBe('absent');
    await bench.remove('weather');
    await bench.untilStatus(NAME, 'deleted');
    await bench.untilStatus(NAME, 'active', '2.0.0');
  } finally {
    await other.close();
  }
});

test('a registry that refuses says why in the status, and other records go on', async () => {
  const server = await bench.server();
  const seed = join(bench.root, 'another-seed');
  await writeFile(seed, 'cd'.repeat(32));
  const operator = await bench.operator({ REGISTRY_JWT_SEED_FILE: seed });
  await bench.declare('weather', record(NAME, `${server.url}/mcp`));
  await until('it is refused', () => conditionOf(operator, 'weather', 'Published') === 'False RegistryRefused');
  const messages = declarationOf(operator, 'weather')
    ?.conditions.map(({ message }) => message)
    .join();
  expect(messages).toContain('REGISTRY_JWT_SEED_FILE');
  expect(declarationOf(operator, 'weather')?.state).toBe('Refused');
  expect(operator.view().registry.state).toBe('up');
  await writeFile(seed, SEED);
  await bench.untilStatus(NAME, 'active', '1.0.0', 15_000);
});

test('an endpoint is probed in place of the remote, and the status says that the remote was not', async () => {
  const server = await bench.server();
  const operator = await bench.operator({ PUBLISH_ENDPOINT: 'false' });
  await bench.declare('news', record('com.example/news', 'https://news.example/mcp'), { endpoint: `${server.url}/mcp` });
  await bench.untilStatus('com.example/news', 'active');
  const [published] = await bench.records('com.example/news');
  expect(published?.document.remotes?.[0]?.url).toBe('https://news.example/mcp');
  await until('the status says so', () => conditionOf(operator, 'news', 'Advertised') === 'Unknown Unverified');
  expect(declarationOf(operator, 'news')?.endpoint).toBe(`${server.url}/mcp`);
});

test('a server that asks for credentials is published unchecked, and checked once it gets them', async () => {
  const tokens = join(bench.root, 'tokens.json');
  await writeFile(tokens, JSON.stringify({ operator: createHash('sha256').update('open-sesame').digest('hex') }));
  const server = await bench.server(['secret_tool'], 0, { AUTH: 'tokens', AUTH_TOKENS_FILE: tokens });
  const auth = join(bench.root, 'auth');
  const operator = await bench.operator({ PROBE_AUTH_DIRECTORY: auth });
  await bench.declare('guarded', record(NAME, `${server.url}/mcp`));
  await bench.untilStatus(NAME, 'active');
  await until('it is unchecked', () => conditionOf(operator, 'guarded', 'Reachable') === 'Unknown AuthRequired');
  await bench.declare('guarded', record(NAME, `${server.url}/mcp`), { 'probe-auth': 'guarded' });
  const words = () => declarationOf(operator, 'guarded')?.conditions.find(({ type }) => type === 'Reachable')?.message;
  await until('credentials are missing', () => words()?.includes('not there'));
  await mkdir(auth);
  await writeFile(join(auth, 'guarded.json'), JSON.stringify({ authorization: 'Bearer wrong', origin: server.url }));
  await until('they are wrong', () => words()?.includes('not accepted'));
  expect(await bench.statusOf(NAME)).toBe('active');
  await writeFile(join(auth, 'guarded.json'), JSON.stringify({ authorization: 'Bearer open-sesame', origin: server.url }));
  await until('it is checked', () => declarationOf(operator, 'guarded')?.tools?.names[0] === 'secret_tool');
  expect(JSON.stringify(operator.view())).not.toContain('sesame');
});

test('a server that hangs, one that lists 10,000 tools and one at a foreign http address are told apart, and delay nobody', async () => {
  const hanging = createServer(() => {}).listen(0, '127.0.0.1');
  await once(hanging, 'listening');
  try {
    const port = (hanging.address() as AddressInfo).port;
    const [good, huge] = [await bench.server(), await bench.server(Array.from({ length: 10_000 }, (_, index) => `tool_${index}`))];
    const operator = await bench.operator({ PROBE_TIMEOUT_SECONDS: '6' });
    await bench.declare('a-hanging', record('com.example/hanging', `http://127.0.0.1:${port}/mcp`));
    await bench.declare('b-huge', record('com.example/huge', `${huge.url}/mcp`));
    await bench.declare('c-foreign', record('com.example/foreign', 'http://weather.example/mcp'));
    await bench.declare('d-metadata', record('com.example/metadata', 'https://169.254.169.254/mcp'));
    await bench.declare('weather', record(NAME, `${good.url}/mcp`));
    await bench.untilStatus(NAME, 'active', '1.0.0', 5_000);
    await until('the hanging one is told', () => conditionOf(operator, 'a-hanging', 'Reachable') === 'False TimedOut', 20_000);
    await until('the huge one is told', () => conditionOf(operator, 'b-huge', 'Reachable') === 'False TooManyTools', 20_000);
    await until('the forbidden one is told', () => conditionOf(operator, 'd-metadata', 'Reachable') === 'False AddressRefused');
    expect(declarationOf(operator, 'c-foreign')?.faults?.map(({ path }) => path)).toEqual(['remotes[0].url']);
    expect((await bench.client().listAll()).map(({ server }) => server.name)).toEqual([NAME]);
  } finally {
    hanging.closeAllConnections();
    hanging.close();
  }
});

test('records that cannot be asked are published all the same, as unknown', async () => {
  const operator = await bench.operator();
  await bench.declare('package', {
    ...record('com.example/package', ''),
    remotes: [],
    packages: [{ registryType: 'npm', identifier: 'x', version: '1.0.0', transport: { type: 'stdio' } }],
  });
  await bench.declare('unasked', record('com.example/unasked', 'https://unasked.example/mcp'), { probe: 'off' });
  await bench.declare('tenants', {
    ...record('com.example/tenants', ''),
    remotes: [{ type: 'streamable-http', url: 'https://{tenant}.example/mcp', variables: { tenant: { description: 'yours' } } }],
  });
  for (const name of ['package', 'unasked', 'tenants']) await bench.untilStatus(`com.example/${name}`, 'active');
  await until('the status says so', () => declarationOf(operator, 'tenants')?.state === 'Published');
  expect(['package', 'unasked', 'tenants'].map((folder) => conditionOf(operator, folder, 'Reachable'))).toEqual([
    'Unknown NoRemote',
    'Unknown ProbeOff',
    'Unknown Variables',
  ]);
});

test('a catalog that cannot be read withdraws nothing', async () => {
  const server = await bench.server();
  const operator = await bench.operator({ WITHDRAW_AFTER_SECONDS: '0' });
  await bench.declare('weather', record(NAME, `${server.url}/mcp`));
  await bench.untilStatus(NAME, 'active');
  await rename(bench.catalog, `${bench.catalog}-away`);
  await until('the view says so', () => operator.view().source?.message.includes('cannot be read'), 15_000);
  await bench.stopOperator(operator);
  const second = await bench.operator({ WITHDRAW_AFTER_SECONDS: '0' });
  await until('it read the registry', () => second.view().registry.state === 'up');
  expect(await bench.statusOf(NAME)).toBe('active');
  await rename(`${bench.catalog}-away`, bench.catalog);
  await until(
    'all is well again',
    () => second.view().source === undefined && declarationOf(second, 'weather')?.state === 'Published',
    15_000,
  );
});
