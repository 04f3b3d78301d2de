import { afterAll, describe, expect, test } from 'vitest';
import { api, home, kubeconfig, kubectl } from './testing/cluster.ts';
import { install, uninstall } from './testing/install.ts';
import { declare, forget, gone, INSTALL, published, recordOf, registry, TEAM_A, undeclare } from './testing/yard.ts';
import { run } from './run.ts';

/** Everything of any kind, anywhere, that carries our label. */
async function leftovers(): Promise<readonly string[]> {
  const kinds = linesOf(await kubectl('api-resources', '--verbs=list', '-o', 'name'));
  expect(kinds).toContain('validatingadmissionpolicies.admissionregistration.k8s.io');
  return linesOf(await kubectl('get', kinds.join(','), '--all-namespaces', '-l', 'app.kubernetes.io/part-of=toolyard', '-o', 'name'));
}

/** What belongs to objects that were deleted goes a little later. */
const WHILE_COLLECTED = { timeout: 60_000, interval: 1000 };

function linesOf(text: string): readonly string[] {
  return text.split('\n').filter((line) => line !== '');
}

const helm = async (...args: readonly string[]): Promise<string> =>
  run((await run(`${home}/scripts/ensure-helm`, [])).trim(), ['--kubeconfig', kubeconfig, '-n', INSTALL, ...args]);

afterAll(async () => {
  await install();
  forget();
});

describe('kubectl delete -k', { timeout: 400_000 }, () => {
  test('leaves nothing behind, and nothing that hangs', async () => {
    await declare({ name: 'outlives' });
    await published(recordOf('outlives'));
    await uninstall();
    forget();
    await expect.poll(leftovers, WHILE_COLLECTED).toEqual([]);
    await undeclare({ name: 'outlives' });
    expect(await api.find({ kind: 'ConfigMap', namespace: TEAM_A, name: 'outlives' })).toBeUndefined();
  });
});

describe('the Helm chart', { timeout: 600_000 }, () => {
  const values = ['--set', 'image.registry=local.test', '--set', 'operator.allNamespaces=true', '--set', 'operator.probeIntervalSeconds=5'];
  const chart = `${home}/charts/toolyard`;
  const generations = async () => {
    const found = await api.list({ kind: 'Deployment', namespace: INSTALL });
    return found.map(({ metadata }) => [metadata.name, (metadata as { generation?: number }).generation]);
  };

  test('installs, upgrades without a change, and keeps the records when it is uninstalled', async () => {
    await helm('install', 'toolyard', chart, '--create-namespace', ...values, '--wait', '--timeout', '240s');
    await published('dev.toolyard/fetch');
    await declare({ name: 'of-helm' });
    await published(recordOf('of-helm'));
    const before = await generations();
    await helm('upgrade', 'toolyard', chart, ...values, '--wait', '--timeout', '240s');
    expect(await generations()).toEqual(before);

    await helm('uninstall', 'toolyard', '--wait', '--timeout', '120s');
    await expect.poll(leftovers, WHILE_COLLECTED).toEqual(['persistentvolumeclaim/data-postgresql-0']);
    await undeclare({ name: 'of-helm' });

    forget();
    await helm('install', 'toolyard', chart, ...values, '--wait', '--timeout', '240s');
    // of another namespace, and published before: the operator knows it as its own, and withdraws it as undeclared
    const records = await (await registry()).listAll({ includeDeleted: true });
    expect(records.map(({ server }) => server.name)).toContain(recordOf('of-helm'));
    await gone(recordOf('of-helm'));
    await published('dev.toolyard/fetch');
    await helm('uninstall', 'toolyard', '--wait', '--timeout', '120s');
    await kubectl('delete', 'namespace', INSTALL);
  });
});
