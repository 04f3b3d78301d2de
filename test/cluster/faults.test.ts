import { setTimeout as delay } from 'node:timers/promises';
import { officialMeta, type ServerRecord } from '../../lib/registry-api/server-json.ts';
import { run } from './run.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { api, apply, control, eventually, kubectl, type KubeObject } from './testing/cluster.ts';
import { scale } from './testing/install.ts';
import { metricsOf, type Metrics } from './testing/metrics.ts';
import {
  clear,
  clientPod,
  conditionsOf,
  declare,
  gone,
  INSTALL,
  isReady,
  latest,
  namespace,
  published,
  reason,
  recordOf,
  REGISTRY,
  registry,
  undeclare,
  type ClientPod,
  type Pod,
} from './testing/yard.ts';

interface Lease extends KubeObject {
  readonly spec: { readonly holderIdentity?: string };
}

beforeAll(clear);

const holder = async (): Promise<string | undefined> =>
  (await api.find<Lease>({ kind: 'Lease', namespace: INSTALL, name: 'toolyard-operator' }))?.spec.holderIdentity;

const podsOf = (part: string) => api.list<Pod>({ kind: 'Pod', namespace: INSTALL, selector: `app.kubernetes.io/name=${part}` });

/** Ends a pod as a crash of its node would: nothing gets time to say goodbye. */
const kill = (pod: string): Promise<string> => kubectl('-n', INSTALL, 'delete', 'pod', pod, '--grace-period=0', '--force');

const versionsOf = async (name: string): Promise<number> =>
  (await (await registry()).versions(recordOf(name), { includeDeleted: true })).length;

describe('when the leader is killed', () => {
  test('the other goes on where it was, and nothing is published twice', async () => {
    const name = await holder();
    expect(name).toBeDefined();
    const pods = (await podsOf('operator')).map(({ metadata }) => metadata.name);
    expect(pods).toContain(name?.split('_')[0]);
    await declare({ name: 'before-the-crash' });
    await kill(name?.split('_')[0] ?? '');
    await eventually('another leader', async () => ![undefined, '', name].includes(await holder()));
    await declare({ name: 'after-the-crash' });
    await published(recordOf('after-the-crash'));
    await published(recordOf('before-the-crash'));
    expect([await versionsOf('before-the-crash'), await versionsOf('after-the-crash')]).toEqual([1, 1]);
  });
});

describe('when the API server', () => {
  test('restarts, what was declared since is published, and what went is withdrawn', async () => {
    await declare({ name: 'gone-after-restart' });
    await published(recordOf('gone-after-restart'));
    await control('stop', 'apiserver');
    await control('start', 'apiserver');
    await eventually('the API server', async () => (await api.raw('/version'))['major'] === '1');
    await declare({ name: 'declared-after-restart' });
    await undeclare({ name: 'gone-after-restart' });
    await published(recordOf('declared-after-restart'), undefined, { timeoutMs: 120_000 });
    expect(await gone(recordOf('gone-after-restart'))).toBe(true);
  });

  test('resets every connection of pods, nothing is missed', async () => {
    const rule = ['INPUT', '-p', 'tcp', '-s', '10.201.0.0/24', '--dport', '6443', '-j', 'REJECT', '--reject-with', 'tcp-reset'];
    const restarts = async () => total(await metricsOf('operator'), 'toolyard_kube_restarts_total', 'resource="configmaps"');
    const before = await restarts();
    await run('iptables', ['-I', ...rule]);
    try {
      // what is told of this is the last thing that gets through: its receipt is answered with a reset
      await declare({ name: 'cuts-the-watch' });
      await eventually('a cut watch', async () => (await restarts()) > before);
      await declare({ name: 'while-cut' });
    } finally {
      await run('iptables', ['-D', ...rule]);
    }
    expect(await published(recordOf('while-cut'))).toBeDefined();
  });
});

describe('when the registry is away', () => {
  const at = { namespace: INSTALL, name: 'registry' };

  test('for a minute, declarations wait and are published when it is back', { timeout: 400_000 }, async () => {
    await scale(at, 0);
    try {
      await declare({ name: 'while-away' });
      await delay(60_000);
      expect((await conditionsOf({ name: 'while-away' })).Published?.status).toBe('False');
      const operators = await podsOf('operator');
      expect(operators.flatMap(({ status }) => restartsOf(status))).toEqual(operators.map(() => 0));
    } finally {
      await scale(at, 1);
    }
    await published(recordOf('while-away'), undefined, { timeoutMs: 180_000 });
    await reason({ name: 'while-away' }, 'Published', 'Published');
  });

  test('and comes back empty, everything is published again', { timeout: 400_000 }, async () => {
    await declare({ name: 'survives' });
    const before = publishedAt(await published(recordOf('survives')));
    await kubectl(
      '-n',
      INSTALL,
      'exec',
      'postgresql-0',
      '--',
      '/bin/bash',
      '-c',
      `/usr/lib/postgresql/*/bin/psql -h 127.0.0.1 -p "$PORT" "user=$DATABASE_USER dbname=$DATABASE_NAME password=$(cat "$PASSWORD_FILE")" -c 'DELETE FROM servers'`,
    );
    await published(recordOf('survives'), (record) => publishedAt(record) !== before, { timeoutMs: 180_000 });
    await published('dev.toolyard/fetch');
  });
});

function publishedAt(record: ServerRecord): string | undefined {
  return officialMeta(record)?.publishedAt;
}

function total(processes: readonly Metrics[], name: string, labels?: string): number {
  return processes.reduce((sum, metrics) => sum + metrics.sum(name, labels), 0);
}

function restartsOf(status: Pod['status']): readonly number[] {
  return status.containerStatuses?.map(({ restartCount }) => restartCount) ?? [];
}

describe("when the cluster's DNS is broken", () => {
  const dns = { namespace: 'kube-system', name: 'coredns' };
  const names = ['dns-1', 'dns-2', 'dns-3', 'dns-4', 'dns-5'];
  const failures = async () => {
    const processes = await metricsOf('operator');
    return total(processes, 'toolyard_probes_total') - total(processes, 'toolyard_probes_total', 'outcome="answers"');
  };
  const suspicions = async (what: string) => {
    const events = (await api.list({ kind: 'Event', namespace: INSTALL })) as unknown as readonly { readonly reason: string }[];
    return events.some(({ reason }) => reason === what);
  };

  beforeAll(async () => {
    await clear();
    // names of Services become addresses by the API server's word, other names by DNS
    await Promise.all(names.map((name) => declare({ name, settings: { endpoint: `http://site.test:8000/mcp?of=${name}` } })));
    for (const name of names) await reason({ name }, 'Published', 'Published');
  });
  afterAll(async () => {
    await scale(dns, 1);
  });

  test('the operator suspects itself, and deprecates nothing', { timeout: 400_000 }, async () => {
    await scale(dns, 0);
    await eventually('its suspicion', () => suspicions('SelfSuspicion'));
    const before = await failures();
    await eventually('three more failures of each', async () => (await failures()) >= before + 3 * names.length);
    const records = await Promise.all(names.map((name) => latest(recordOf(name))));
    expect(records.map((record) => record && officialMeta(record)?.status)).toEqual(names.map(() => 'active'));
    await scale(dns, 1);
    await eventually('its suspicion to end', () => suspicions('SelfSuspicionOver'));
  });
});

describe('fetch over two replicas', () => {
  let client: ClientPod;
  const CLIENT = 'client-of-faults';

  beforeAll(async () => {
    await apply(namespace(CLIENT, { 'toolyard.dev/client': 'true' }));
    const { data } = await api.get({ kind: 'ConfigMap', namespace: INSTALL, name: 'toolyard-ca' });
    await apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'toolyard-ca', namespace: CLIENT }, data });
    client = await clientPod(CLIENT, 'toolyard-ca');
    await published('dev.toolyard/fetch');
  });

  test.each(['legacy', 'modern'] as const)('loses no call of %s clients when a pod is stopped', async (era) => {
    const pods = await podsOf('fetch');
    expect(pods.filter(isReady).length).toBeGreaterThanOrEqual(2);
    const call = () =>
      client.run({ do: 'call', registry: REGISTRY, server: 'dev.toolyard/fetch', tool: 'fetch', args: { url: 'http://site.test/' }, era });
    await call();
    let stopping: Promise<unknown> | undefined;
    const outcomes = [];
    for (let count = 0; count < 20; count += 1) {
      if (count === 5) stopping = kubectl('-n', INSTALL, 'delete', 'pod', pods[0]?.metadata.name ?? '', '--wait=false');
      outcomes.push(await call());
    }
    await stopping;
    expect(outcomes.filter((outcome) => outcome.is !== 'called' || outcome.isError)).toEqual([]);
    await kubectl('-n', INSTALL, 'rollout', 'status', 'deployment/fetch', '--timeout=120s');
  });
});
