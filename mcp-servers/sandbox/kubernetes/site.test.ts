import { afterEach, expect, test } from 'vitest';
import { createLog } from '../../../lib/log.ts';
import { Site } from './site.ts';
import { collectionPath, FakeCluster, namespace } from './testing/fake-cluster.ts';

let cluster: FakeCluster;
afterEach(() => cluster.close());

async function look(prepare: (cluster: FakeCluster) => void, warmpool = 'default'): Promise<Site> {
  cluster = await FakeCluster.start();
  cluster.objects.set(collectionPath('sandboxtemplates', 'default'), {
    spec: { podTemplate: { spec: { runtimeClassName: 'gvisor', containers: [{}] } } },
  });
  prepare(cluster);
  const site = new Site({ client: cluster.client(), namespace, warmpool, log: createLog('test', 'silent') });
  await site.look();
  return site;
}

test('with rights, pool and template sandboxes can be made, and the template says what holds them', async () => {
  const site = await look(() => {});
  expect(site.ready()).toEqual({ ready: true });
  expect(site.facts?.isolation).toBe('gvisor');
});

test.each([
  ['agent-sandbox', (c: FakeCluster) => (c.installed = false), 'install agent-sandbox'],
  ['the pool', (c: FakeCluster) => c.objects.clear(), 'there is no SandboxWarmPool default in namespace toolyard-sandboxes: apply it'],
  [
    'the template',
    (c: FakeCluster) => c.objects.delete(collectionPath('sandboxtemplates', 'default')),
    'SandboxTemplate default, which SandboxWarmPool default names',
  ],
  [
    'the namespace',
    (c: FakeCluster) => {
      c.objects.clear();
      c.namespaceExists = false;
    },
    'there is no namespace toolyard-sandboxes: create it',
  ],
  ['a right', (c: FakeCluster) => (c.denied = ['watch', 'patch']), 'may not watch, patch sandboxclaims in namespace toolyard-sandboxes'],
])('without %s it is said what is missing and what to do', async (_what, prepare, words) => {
  const site = await look(prepare);
  expect(site.ready()).toMatchObject({ ready: false, reason: expect.stringContaining(words) as string });
});

test('an API server that does not answer is a reason too', async () => {
  const site = await look(() => {});
  await cluster.close();
  await site.look();
  expect(site.ready()).toMatchObject({ ready: false, reason: expect.stringContaining('cannot be asked') as string });
  cluster = await FakeCluster.start();
});

test('what was missing is found by itself when somebody asks later', async () => {
  cluster = await FakeCluster.start();
  let time = 0;
  const site = new Site({ client: cluster.client(), namespace, warmpool: 'default', log: createLog('test', 'silent'), clock: () => time });
  await site.look();
  expect(site.ready()).toMatchObject({ ready: false });
  cluster.objects.set(collectionPath('sandboxtemplates', 'default'), { spec: {} });
  expect(site.ready()).toMatchObject({ ready: false });
  time += 3_000;
  site.ready();
  await site.look();
  expect(site.ready()).toEqual({ ready: true });
});
