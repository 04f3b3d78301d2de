import { beforeAll, describe, expect, test } from 'vitest';
import { officialMeta } from '../../lib/registry-api/server-json.ts';
import { api, apply, kubectl, type KubeObject } from './testing/cluster.ts';
import { clientPod, INSTALL, namespace, published, REGISTRY, registry, SANDBOXES, statusOf, type ClientPod } from './testing/yard.ts';

/** Held by an address of the cluster's outside, which is public; served by `site.ts` there. */
const SITE = 'http://site.test/';
const CLIENT = 'client-in';
let client: ClientPod;

beforeAll(async () => {
  await apply(namespace(CLIENT, { 'toolyard.dev/client': 'true' }));
  // what a cluster's administrator hands to clients: the certificate of the installation's authority
  const { data } = await api.get({ kind: 'ConfigMap', namespace: INSTALL, name: 'toolyard-ca' });
  await apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'toolyard-ca', namespace: CLIENT }, data });
  client = await clientPod(CLIENT, 'toolyard-ca');
});

describe('an installation', () => {
  test('declares the servers that run in it, and no others', async () => {
    for (const name of ['dev.toolyard/fetch', 'dev.toolyard/sandbox'])
      await published(name, (record) => officialMeta(record)?.status === 'active');
    const records = await (await registry()).listAll();
    const own = records.map(({ server }) => server.name).filter((name) => name.startsWith('dev.toolyard/'));
    expect(own.toSorted()).toEqual(['dev.toolyard/fetch', 'dev.toolyard/sandbox']);
    const states = ['fetch', 'sandbox'].map(async (name) => (await statusOf({ name, namespace: INSTALL }))?.state);
    expect(await Promise.all(states)).toEqual(['Published', 'Published']);
  });

  test.each([
    ['legacy', '2025-11-25'],
    ['modern', '2026-07-28'],
  ] as const)('is used by a pod that knows its registry and its authority only (%s clients)', async (era, protocol) => {
    const outcome = await client.run({
      do: 'call',
      registry: REGISTRY,
      server: 'dev.toolyard/fetch',
      tool: 'fetch',
      args: { url: SITE },
      era,
    });
    expect(outcome).toMatchObject({
      is: 'called',
      url: 'https://fetch.toolyard.svc:8443/mcp',
      protocol,
      isError: false,
      text: expect.stringContaining('The yard is open'),
    });
  });

  test('is not changed when it is applied again', async () => {
    const before = await specs();
    await kubectl('apply', '-k', 'test/cluster/install');
    expect(await specs()).toEqual(before);
  });
});

/** Everything that the installation consists of, as the API server keeps it, with how often it was changed. */
async function specs(): Promise<Record<string, unknown>> {
  const kinds = ['ConfigMap', 'Deployment', 'StatefulSet', 'Service', 'ServiceAccount', 'Secret', 'NetworkPolicy', 'Role', 'RoleBinding'];
  const ofSandboxes = ['NetworkPolicy', 'ResourceQuota', 'Role', 'RoleBinding', 'SandboxTemplate', 'SandboxWarmPool'];
  const places = [...kinds.map((kind) => ({ kind, namespace: INSTALL })), ...ofSandboxes.map((kind) => ({ kind, namespace: SANDBOXES }))];
  const entries = places.map(async ({ kind, namespace }) => {
    const objects = await api.list<Changing>({ kind, namespace });
    return objects.map(({ metadata, spec, data, rules }) => [
      `${namespace} ${kind} ${metadata.name}`,
      { generation: metadata.generation, spec, data, rules },
    ]);
  });
  return Object.fromEntries((await Promise.all(entries)).flat());
}

interface Changing extends KubeObject {
  readonly metadata: KubeObject['metadata'] & { readonly generation?: number };
}
