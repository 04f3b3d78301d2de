import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { dial } from './pods/dial.ts';
import { api, apply, eventually, kubectl, type KubeObject } from './testing/cluster.ts';
import { impostor } from './testing/impostor.ts';
import { clientPod, INSTALL, namespace, published, REGISTRY, type ClientPod, type Pod } from './testing/yard.ts';

const FRIEND = 'client-in-network';
const STRANGER = 'stranger';
let friend: ClientPod;
let stranger: ClientPod;

beforeAll(async () => {
  await apply(namespace(FRIEND, { 'toolyard.dev/client': 'true' }), namespace(STRANGER));
  const { data } = await api.get({ kind: 'ConfigMap', namespace: INSTALL, name: 'toolyard-ca' });
  await apply(
    ...[FRIEND, STRANGER].map((name): KubeObject => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'toolyard-ca', namespace: name },
      data,
    })),
  );
  [friend, stranger] = await Promise.all([clientPod(FRIEND, 'toolyard-ca'), clientPod(STRANGER, 'toolyard-ca')]);
  await published('dev.toolyard/fetch');
});
afterAll(async () => {
  await kubectl('delete', 'namespace', FRIEND, STRANGER, '--wait=false');
});

const podIp = async (part: string): Promise<string> => {
  const [pod] = await api.list<Pod>({ kind: 'Pod', namespace: INSTALL, selector: `app.kubernetes.io/name=${part}` });
  return pod?.status.podIP ?? '';
};
const serviceIp = async (name: string): Promise<string> => {
  const { spec } = await api.get<KubeObject & { spec: { clusterIP: string } }>({ kind: 'Service', namespace: INSTALL, name });
  return spec.clusterIP;
};
const places = async () => [
  { host: `registry.${INSTALL}.svc`, port: 8080, open: true },
  { host: `fetch.${INSTALL}.svc`, port: 8443, open: true },
  { host: `postgresql.${INSTALL}.svc`, port: 5432, open: false },
  { host: `operator.${INSTALL}.svc`, port: 9090, open: false },
  { host: await podIp('operator'), port: 8000, open: false },
  { host: await podIp('postgresql'), port: 5432, open: false },
  { host: await podIp('fetch'), port: 9090, open: false },
];

describe('network policies', () => {
  test('let pods of client namespaces reach the registry and the servers, and nothing else', async () => {
    const tried = await places();
    const outcomes = await Promise.all(tried.map(({ host, port }) => friend.run({ do: 'connect', host, port })));
    expect(tried.map(({ host, port }, index) => [host, port, outcomes[index]?.is])).toEqual(
      tried.map(({ host, port, open }) => [host, port, open ? 'connected' : 'failed']),
    );
  });

  test('let other pods reach nothing', async () => {
    const tried = await places();
    const outcomes = await Promise.all(tried.map(({ host, port }) => stranger.run({ do: 'connect', host, port })));
    expect(tried.map(({ host, port }, index) => [host, port, outcomes[index]?.is])).toEqual(
      tried.map(({ host, port }) => [host, port, 'failed']),
    );
  });
});

describe('fetch', () => {
  const get = (url: string) => friend.run({ do: 'call', registry: REGISTRY, server: 'dev.toolyard/fetch', tool: 'fetch', args: { url } });

  test('gets pages of public addresses', async () => {
    expect(await get('http://site.test/')).toMatchObject({ is: 'called', isError: false });
  });

  test.each([
    'http://registry.toolyard.svc:8080/v0.1/servers',
    'https://api.test/version',
    'http://10.200.0.1:10250/',
    'http://site.test/to-the-cluster',
  ])('refuses %s by itself', async (url) => {
    const outcome = await get(url);
    expect(outcome).toMatchObject({ is: 'called', isError: true });
    expect(outcome.is === 'called' && outcome.text).toMatch(/refus|private|not allowed|may not/i);
  });

  test('is kept from addresses of the cluster by policy too, were its own check off', async () => {
    // the tests' client in the place of fetch: it checks nothing
    const unchecked = await impostor({ namespace: INSTALL, part: 'fetch' });
    try {
      await eventually('a page', async () => {
        const page = await unchecked.run({ do: 'get', url: 'http://site.test/' });
        return page.is === 'answered' && page.status === 200;
      });
      for (const [host, port] of [
        [await serviceIp('registry'), 8080],
        ['10.96.0.1', 443],
        ['10.200.0.1', 6443],
        ['169.254.169.254', 80],
        [await podIp('operator'), 8000],
      ] as const) {
        // somebody listens there, so that it is the policy which a connection fails by, as a refusal or in silence
        expect([host, await dial(host, port)]).toEqual([host, { is: 'connected' }]);
        // a policy holds for a new pod some seconds after its start
        await expect.poll(() => unchecked.run({ do: 'connect', host, port }), { timeout: 60_000 }).toMatchObject({ is: 'failed' });
      }
    } finally {
      await unchecked.remove();
    }
  });
});

describe('the admission policy', () => {
  const as = ['--as', 'system:serviceaccount:toolyard:operator'];
  const patch = (name: string, change: object, where: string = INSTALL) =>
    kubectl(...as, '-n', where, 'patch', 'configmap', name, '--type=merge', '-p', JSON.stringify(change));

  beforeAll(async () => {
    await apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'of-a-team', namespace: 'team-a' }, data: { key: 'value' } });
  });

  test('lets the operator write its own labels and annotations on declarations', async () => {
    await patch('fetch', { metadata: { annotations: { 'toolyard.dev/tried': 'yes' } } });
    await patch('fetch', { metadata: { annotations: { 'toolyard.dev/tried': null } } });
    expect((await api.get({ kind: 'ConfigMap', namespace: INSTALL, name: 'fetch' })).metadata.annotations).not.toHaveProperty([
      'toolyard.dev/tried',
    ]);
  });

  test.each([
    ['the data of a declaration', 'fetch', INSTALL, { data: { 'server.json': '{}' } }],
    ['foreign annotations of a declaration', 'fetch', INSTALL, { metadata: { annotations: { other: 'x' } } }],
    ['the label that makes it a declaration', 'fetch', INSTALL, { metadata: { labels: { 'toolyard.dev/kind': null } } }],
    ['ConfigMaps that are no declarations', 'of-a-team', 'team-a', { metadata: { annotations: { 'toolyard.dev/status': 'x' } } }],
    ['making a declaration of any ConfigMap', 'of-a-team', 'team-a', { metadata: { labels: { 'toolyard.dev/kind': 'server.json' } } }],
  ])('keeps it from %s', async (_, name, where, change) => {
    await expect(patch(name, change, where)).rejects.toThrow(/operator of toolyard/);
  });
});
