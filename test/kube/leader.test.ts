import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Lease } from '../../operator/kube/lease-plan.ts';
import { objectPath, paths, type Secret } from '../../lib/kube/objects.ts';
import { record, until } from '../operator/bench.ts';
import { Link } from './link.ts';
import { INSTALL, Site, type RunningProcess } from './site.ts';

let site: Site;
let endpoint: string;

beforeEach(async () => {
  site = await Site.start();
  await site.namespace('team');
  endpoint = `${(await site.bench.server()).url}/mcp`;
});

afterEach(async () => {
  await site.close();
});

async function declare(name: string, description = 'a server'): Promise<void> {
  const document = record(`com.example/${name}`, `https://${name}.example.com/mcp`, { description });
  await site.declare(`team/${name}`, document, { 'toolyard.dev/endpoint': endpoint });
}

async function holder(): Promise<string> {
  const lease = await site.admin.find<Lease>(objectPath(paths.leases(INSTALL), 'toolyard-operator'));
  return lease?.spec?.holderIdentity ?? '';
}

async function writesOf({ metricsUrl }: RunningProcess): Promise<number> {
  const text = await (await fetch(metricsUrl)).text();
  const counts = [...text.matchAll(/^toolyard_registry_writes_total\{.*\} (\d+)$/gm)].map(([, count]) => Number(count));
  return counts.reduce((sum, count) => sum + count, 0);
}

test('of two operators one works; when it is killed the other goes on, and nothing is published twice', async () => {
  const first = await site.operator({ POD_NAME: 'first' });
  await site.untilReady(first);
  const second = await site.operator({ POD_NAME: 'second' });
  await site.untilReady(second, true);
  await declare('one');
  await site.untilState('team/one', 'Published');
  const proxy = await site.bench.proxy();
  await site.stop(first, 'SIGKILL');
  const killedAt = performance.now();
  await declare('two');
  await site.untilState('team/two', 'Published', 40_000);
  expect(performance.now() - killedAt).toBeLessThan(30_000);
  expect(await holder()).toMatch(/^second_/);
  expect(await site.bench.records('com.example/one')).toHaveLength(1);
  // the new one found the first record as it has to be
  expect(await writesOf(second)).toBe(1);
  await proxy.close();
  // told to stop, it gives the Lease back: the next one need not wait for its end
  const third = await site.operator({ POD_NAME: 'third' });
  await site.untilReady(third, true);
  const stoppedAt = performance.now();
  expect(await site.stop(second)).toBe(0);
  await until('the third works', async () => (await holder()).startsWith('third_'), 10_000);
  expect(performance.now() - stoppedAt).toBeLessThan(10_000);
});

test('a leader that the API server does not hear any more stops writing, stands by, and works again', async () => {
  const link = await Link.start(site.api.port);
  try {
    const environment = await site.environment(link.port);
    const cutOff = await site.operator({ ...environment, POD_NAME: 'cut-off' });
    await site.untilReady(cutOff);
    const other = await site.operator({ POD_NAME: 'other' });
    await site.untilReady(other, true);
    await declare('one');
    await site.untilState('team/one', 'Published');
    link.shut();
    await until(
      'it knows that it does not lead',
      async () => /toolyard_leader 0/.test(await (await fetch(cutOff.metricsUrl)).text()),
      20_000,
    );
    await until('it is not ready', async () => (await site.readiness(cutOff))?.ready === false);
    const writes = await writesOf(cutOff);
    await until('the other works', async () => (await holder()).startsWith('other_'), 30_000);
    await declare('two');
    await site.untilState('team/two', 'Published');
    expect(await writesOf(cutOff)).toBe(writes);
    link.reopen();
    await site.untilReady(cutOff, true);
    await site.stop(other);
    await declare('three');
    await site.untilState('team/three', 'Published', 30_000);
    expect(await holder()).toMatch(/^cut-off_/);
  } finally {
    await link.close();
  }
});

test('a cut watch goes on where it was, and an API server that is killed and started again loses nothing', async () => {
  const link = await Link.start(site.api.port);
  try {
    const operator = await site.operator(await site.environment(link.port));
    await site.untilReady(operator);
    await declare('one');
    await site.untilState('team/one', 'Published');
    const listsOf = async () => (await site.requests(operator)).get('list configmaps') ?? 0;
    const lists = await listsOf();
    link.cut();
    await declare('one', 'changed while the watch was cut');
    await until('the change is published', async () => {
      return (await site.bench.records('com.example/one'))[0]?.document.description === 'changed while the watch was cut';
    });
    expect(await listsOf()).toBe(lists);
    await site.api.kill();
    await site.api.up();
    await declare('two');
    await site.remove('team/one');
    await site.untilState('team/two', 'Published', 60_000);
    await site.bench.untilStatus('com.example/one', 'deleted', '1.0.0', 30_000);
    // one that was started anew may have forgotten what changed before; and if it took long, the Lease was lost, and everything is read again
    const terms = [...operator.output().matchAll(/this process works/g)].length;
    expect(await listsOf()).toBeLessThanOrEqual(lists + terms);
  } finally {
    await link.close();
  }
});

test('what other parts wait for is made by the leader, once, and its seed signs', async () => {
  const generate = [
    { is: 'hex', secret: 'toolyard-registry', key: 'seed', bytes: 32 },
    { is: 'ca', secret: 'toolyard-ca', configMap: 'toolyard-ca' },
    { is: 'certificate', secret: 'toolyard-fetch-tls', hosts: ['fetch.toolyard.svc', 'fetch.toolyard.svc.cluster.local'] },
  ];
  const env = { GENERATE: JSON.stringify(generate), REGISTRY_JWT_SEED_FILE: '', REGISTRY_JWT_SEED_SECRET: 'toolyard-registry' };
  const operator = await site.operator(env);
  const secret = (name: string) => site.admin.find<Secret>(objectPath(paths.secrets(INSTALL), name));
  const tls = await until('the last of them is there', () => secret('toolyard-fetch-tls'), 40_000);
  expect(tls.type).toBe('kubernetes.io/tls');
  expect(Object.keys(tls.data ?? {}).toSorted()).toEqual(['tls.crt', 'tls.key']);
  expect(tls.metadata.labels).toBeUndefined();
  const seed = Buffer.from((await secret('toolyard-registry'))?.data?.['seed'] ?? '', 'base64').toString('utf8');
  expect(seed).toMatch(/^[0-9a-f]{64}$/);
  const configMap = await site.admin.get<{ metadata: { name: string }; data?: Record<string, string> }>(
    objectPath(paths.configMaps(INSTALL), 'toolyard-ca'),
  );
  expect(configMap.data?.['ca.crt']).toContain('BEGIN CERTIFICATE');
  await declare('one');
  // the registry has another seed
  await until('the registry refuses it', async () => (await site.conditionOf('team/one', 'Published')) === 'False RegistryRefused', 20_000);
  const versions = async () =>
    Promise.all(
      ['toolyard-registry', 'toolyard-ca', 'toolyard-fetch-tls'].map(async (name) => (await secret(name))?.metadata.resourceVersion),
    );
  const before = await versions();
  await site.stop(operator);
  const next = await site.operator(env);
  await site.untilReady(next);
  expect(await versions()).toEqual(before);
  for (const { output } of [operator, next]) expect(output()).not.toContain(seed);
});
