import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ServerJson } from '../../lib/registry-api/server-json.ts';
import { objectPath, paths, type ConfigMap } from '../../lib/kube/objects.ts';
import { record, until } from '../operator/bench.ts';
import { quietPort } from '../port.ts';
import { grantSecret } from './rights.ts';
import { pathOf, Site, type RunningProcess } from './site.ts';

let site: Site;
let operator: RunningProcess;
let endpoint: string;

beforeAll(async () => {
  site = await Site.start();
  for (const name of ['team-a', 'team-b']) await site.namespace(name);
  operator = await site.operator();
  endpoint = `${(await site.bench.server(['forecast', 'alerts'])).url}/mcp`;
  await site.untilReady(operator);
});

afterAll(async () => {
  await site.close();
});

/** A record as a registry of the world takes it, and where its server is here. */
function declared(name: string, fields: Partial<ServerJson> = {}) {
  return record(name, `https://${name.split('/')[1] ?? ''}.example.com/mcp`, fields);
}

const here = () => ({ 'toolyard.dev/endpoint': endpoint });

test('a ConfigMap is published, and says so', async () => {
  await site.declare('team-a/weather', declared('com.example/weather'), here());
  await site.untilState('team-a/weather', 'Published');
  expect(await site.bench.statusOf('com.example/weather')).toBe('active');
  const status = await site.statusOf('team-a/weather');
  expect(status).toMatchObject({ name: 'com.example/weather', version: '1.0.0', state: 'Published', tools: { count: 2 } });
  expect(status?.conditions.map(({ type, status }) => `${type} ${status}`)).toEqual([
    'Accepted True',
    'Reachable True',
    'Advertised Unknown',
    'Published True',
  ]);
  const events = await until('the Event is there', async () => {
    const found = await site.events('team-a', 'weather');
    return found.some(({ reason }) => reason === 'Published') && found;
  });
  expect(events.map(({ reason, type }) => `${type} ${reason}`)).toContain('Normal Published');
  const [published] = await site.bench.records('com.example/weather');
  expect(published?.stamp).toEqual({ install: 'toolyard', source: 'team-a/weather' });
});

test('a change of the ConfigMap is published, and one of its status alone is undone', async () => {
  const before = await site.statusOf('team-a/weather');
  await site.declare('team-a/weather', declared('com.example/weather', { description: 'a better server' }), here());
  await until(
    'the edit is published',
    async () => (await site.bench.records('com.example/weather'))[0]?.document.description === 'a better server',
  );
  const status = await until('the status is about it', async () => {
    const status = await site.statusOf('team-a/weather');
    return status?.state === 'Published' && status.digest !== before?.digest && status;
  });
  await site.admin.merge(pathOf('team-a/weather'), {
    metadata: { annotations: { 'toolyard.dev/status': null }, labels: { 'toolyard.dev/state': null } },
  });
  await site.untilState('team-a/weather', 'Published');
  expect(await site.statusOf('team-a/weather')).toEqual(status);
});

test('an invalid document says every fault, in its status and in one Event, and is repaired', async () => {
  await site.declare('team-a/broken', { ...declared('com.example/broken'), description: '', title: '', vesion: 1 });
  await site.untilState('team-a/broken', 'Refused');
  const status = await site.statusOf('team-a/broken');
  expect(status?.faults?.map(({ path }) => path).toSorted()).toEqual(['description', 'title', 'vesion']);
  const [event] = await until('the Event is there', async () => {
    const found = await site.events('team-a', 'broken');
    return found.length > 0 && found;
  });
  expect(event).toMatchObject({ type: 'Warning', reason: 'InvalidRecord' });
  for (const path of ['description', 'title', 'vesion']) expect(event?.note).toContain(path);
  await site.declare('team-a/broken', declared('com.example/broken'), { ...here(), 'toolyard.dev/prob': 'off' });
  await until('a misspelt annotation is named', async () =>
    (await site.statusOf('team-a/broken'))?.faults?.some(({ path }) => path === 'annotation toolyard.dev/prob'),
  );
  await site.declare('team-a/broken', declared('com.example/broken'), here());
  await site.untilState('team-a/broken', 'Published');
});

test('a document in the wrong place is told where it belongs', async () => {
  await site.apply('team-a/misplaced', { data: { 'weather.json': '{}' } });
  await site.apply('team-a/binary', { binaryData: { 'server.json': 'e30=' } });
  await site.apply('team-a/several', { data: { 'server.json': '{}', 'other.json': '{}' } });
  const messageOf = async (name: string) => (await site.statusOf(`team-a/${name}`))?.conditions[0]?.message;
  await until('the missing key', async () =>
    (await messageOf('misplaced'))?.includes('there is no data["server.json"]: the ConfigMap has weather.json'),
  );
  await until('binary data', async () => (await messageOf('binary'))?.includes('under binaryData'));
  await until('further keys', async () => (await messageOf('several'))?.includes('other.json'));
  expect(await site.stateOf('team-a/several')).toBe('Refused');
});

test('of two namespaces that claim one name the older has it, and the other takes over when it goes', async () => {
  await site.declare('team-a/first', declared('com.example/shared'), here());
  await site.untilState('team-a/first', 'Published');
  await site.declare('team-b/second', declared('com.example/shared', { version: '2.0.0' }), here());
  await site.untilState('team-b/second', 'Refused');
  expect(await site.conditionOf('team-b/second', 'Accepted')).toBe('False NameTaken');
  await site.remove('team-a/first');
  await site.untilState('team-b/second', 'Published');
  await site.bench.untilStatus('com.example/shared', 'deleted', '1.0.0');
});

test('deleted and made again within the time for a return, it is only edited; without its label it is withdrawn and shows nothing', async () => {
  await site.declare('team-a/again', declared('com.example/again'), here());
  await site.untilState('team-a/again', 'Published');
  const before = await site.configMap('team-a/again');
  await site.remove('team-a/again');
  await site.declare('team-a/again', declared('com.example/again', { description: 'made again' }), here());
  await site.untilState('team-a/again', 'Published');
  expect((await site.configMap('team-a/again'))?.metadata.uid).not.toBe(before?.metadata.uid);
  expect(await site.bench.statusOf('com.example/again')).toBe('active');
  await site.admin.merge(pathOf('team-a/again'), { metadata: { labels: { 'toolyard.dev/kind': null } } });
  await site.bench.untilStatus('com.example/again', 'deleted');
  await site.untilState('team-a/again', undefined);
  expect(await site.statusOf('team-a/again')).toBeUndefined();
  await site.admin.merge(pathOf('team-a/again'), { metadata: { labels: { 'toolyard.dev/kind': 'server.json' } } });
  await site.bench.untilStatus('com.example/again', 'active');
  await site.untilState('team-a/again', 'Published');
});

test('a deleted ConfigMap stays deleted', async () => {
  await site.declare('team-a/brief', declared('com.example/brief'), here());
  await site.remove('team-a/brief');
  await site.declare('team-a/marker', declared('com.example/marker'), here());
  await site.untilState('team-a/marker', 'Published');
  expect(await site.configMap('team-a/brief')).toBeUndefined();
});

test('a status that another manager owns is left alone, and that is told once', async () => {
  await site.declare('team-b/foreign', declared('com.example/foreign'), { ...here(), 'toolyard.dev/status': 'mine' });
  await site.untilState('team-b/foreign', 'Published');
  expect((await site.configMap('team-b/foreign'))?.metadata.annotations?.['toolyard.dev/status']).toBe('mine');
  const told = async () => (await site.events('team-b', 'foreign')).filter(({ reason }) => reason === 'StatusNotOurs');
  const [event] = await until('it is told', async () => {
    const found = await told();
    return found.length > 0 && found;
  });
  expect(event?.note).toContain('toolyard.dev/status (team)');
  await site.declare('team-b/foreign', declared('com.example/foreign', { description: 'changed' }), {
    ...here(),
    'toolyard.dev/status': 'mine',
  });
  await until(
    'the edit is published',
    async () => (await site.bench.records('com.example/foreign'))[0]?.document.description === 'changed',
  );
  await site.declare('team-b/foreign', declared('com.example/foreign', { description: 'changed' }), here());
  await until('it is shown once nobody else owns it', async () => (await site.statusOf('team-b/foreign'))?.state === 'Published');
  const events = await told();
  expect(events.map(({ series }) => series?.count ?? 1)).toEqual([1]);
});

test('a manifest that says annotations: {} owns all annotations, and that is told', async () => {
  const fields = { apiVersion: 'v1', kind: 'ConfigMap', data: { 'server.json': JSON.stringify(declared('com.example/empty')) } };
  const labels = { 'toolyard.dev/kind': 'server.json' };
  const metadata = { name: 'empty', namespace: 'team-b', labels, annotations: {} };
  await site.admin.apply<ConfigMap>(pathOf('team-b/empty'), { ...fields, metadata }, { fieldManager: 'gitops' });
  await until('it is told', async () =>
    (await site.events('team-b', 'empty')).some(({ note }) => note.includes('toolyard.dev/status (gitops)')),
  );
  await until('the label is not', async () => (await site.stateOf('team-b/empty')) !== undefined);
  expect(await site.statusOf('team-b/empty')).toBeUndefined();
});

test('a server that is down, and one at an address that no declaration may use, are told apart; neither makes writes while it is asked again', async () => {
  await site.declare('team-b/down', declared('com.example/down'), { 'toolyard.dev/endpoint': `http://127.0.0.1:${await quietPort()}/mcp` });
  await site.declare('team-b/inward', declared('com.example/inward'), { 'toolyard.dev/endpoint': 'http://10.96.0.1:443/mcp' });
  await site.declare('team-b/service', declared('com.example/service'), {
    'toolyard.dev/endpoint': 'http://kubernetes.default.svc:443/mcp',
  });
  const reach = (name: string) => site.conditionOf(`team-b/${name}`, 'Reachable');
  await until('one is down', async () => (await reach('down')) === 'False ConnectionRefused');
  await until('one is refused', async () => (await reach('inward')) === 'False AddressRefused');
  await until("a Service of somebody else's namespace is refused", async () => (await reach('service')) === 'False AddressRefused');
  const failures = async () =>
    /toolyard_probes_total\{outcome="ConnectionRefused"\} (\d+)/.exec(await (await fetch(operator.metricsUrl)).text())?.[1];
  const before = { versions: await versionsOf('down', 'inward', 'service'), failures: Number(await failures()) };
  await until('it was asked five times more', async () => Number(await failures()) >= before.failures + 5);
  expect(await versionsOf('down', 'inward', 'service')).toEqual(before.versions);
});

function versionsOf(...names: readonly string[]): Promise<readonly (string | undefined)[]> {
  return Promise.all(names.map(async (name) => (await site.configMap(`team-b/${name}`))?.metadata.resourceVersion));
}

test('credentials come from a Secret that its namespace lets the operator read, and that says what it is for', async () => {
  const tokens = join(site.bench.root, 'tokens.json');
  await writeFile(tokens, JSON.stringify({ operator: createHash('sha256').update('open-sesame').digest('hex') }));
  const guarded = await site.bench.server(['secret_tool'], 0, { AUTH: 'tokens', AUTH_TOKENS_FILE: tokens });
  const annotations = { 'toolyard.dev/endpoint': `${guarded.url}/mcp`, 'toolyard.dev/probe-auth': 'guarded' };
  await site.declare('team-b/guarded', declared('com.example/guarded'), annotations);
  const words = async () => (await site.statusOf('team-b/guarded'))?.conditions.find(({ type }) => type === 'Reachable')?.message;
  await until('the operator may not read it', async () => (await words())?.includes('a Role in this namespace has to let'));
  expect(await site.bench.statusOf('com.example/guarded')).toBe('active');
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const data = { authorization: base64('Bearer open-barley'), origin: base64(guarded.url) };
  const labels = { 'toolyard.dev/probe-auth': 'true' };
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'guarded', namespace: 'team-b', labels }, data };
  await site.admin.create(paths.secrets('team-b'), secret);
  await grantSecret(site.admin, 'operator', 'team-b', 'guarded');
  await until('they are refused', async () => (await words())?.includes('are not accepted'), 20_000);
  // what was read is kept for a minute, but not once it was refused
  await site.admin.merge(objectPath(paths.secrets('team-b'), 'guarded'), { data: { authorization: base64('Bearer open-sesame') } });
  await until('it is checked', async () => (await site.statusOf('team-b/guarded'))?.tools?.names[0] === 'secret_tool', 10_000);
  expect(operator.output()).not.toContain('sesame');
});
