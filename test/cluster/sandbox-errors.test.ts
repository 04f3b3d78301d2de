import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { KubeClient } from '../../lib/kube/client.ts';
import { kubeconfigAccess } from '../../lib/kube/credentials.ts';
import { createLog } from '../../lib/log.ts';
import type { SandboxError } from '../../mcp-servers/sandbox/backend.ts';
import { KubernetesBackend } from '../../mcp-servers/sandbox/kubernetes/backend.ts';
import { suiteSettings } from '../sandbox/suite.ts';
import { api, apply, eventually, kubeconfig } from './testing/cluster.ts';
import { poolOf, removePool } from './testing/sandboxes.ts';
import { SANDBOXES } from './testing/yard.ts';

/** Longer than the cluster takes to find out, shorter than a test may. */
const READY_TIMEOUT_MS = 15_000;
const backends = new Map<string, KubernetesBackend>();
const pools = ['no-room', 'no-runtime-class', 'no-image', 'no-template'];

function backendOf(warmpool: string): KubernetesBackend {
  const backend = backends.get(warmpool);
  if (backend === undefined) throw new Error(`no backend of ${warmpool}`);
  return backend;
}

async function fails(warmpool: string, readyTimeoutMs = READY_TIMEOUT_MS): Promise<SandboxError & { ms: number }> {
  const handle = `sb-${randomBytes(6).toString('hex')}`;
  const now = Date.now();
  const began = performance.now();
  try {
    await backendOf(warmpool).create({
      handle,
      owner: 'errors',
      placement: { namespace: SANDBOXES, warmpool },
      lifetime: { createdAt: now, idleMs: 60_000, shutdownAt: now + 60_000 },
      readyTimeoutMs,
      signal: new AbortController().signal,
    });
  } catch (error) {
    const left = await api.find({ kind: 'SandboxClaim', namespace: SANDBOXES, name: handle });
    if (left !== undefined) throw new Error(`the claim ${handle} was left behind`, { cause: error });
    return Object.assign(error as SandboxError, { ms: performance.now() - began });
  }
  throw new Error(`a sandbox of ${warmpool} started`);
}

beforeAll(async () => {
  await poolOf('no-room', (pod) => ({ ...pod, nodeSelector: { 'example.com/none': 'true' } }), 0);
  await poolOf('no-runtime-class', (pod) => ({ ...pod, runtimeClassName: 'nowhere' }), 0);
  await poolOf('no-image', (pod) => ({ ...pod, containers: pod.containers.map((each) => ({ ...each, image: 'local.test/none:1' })) }), 0);
  await poolOf('no-template', (pod) => pod, 0);
  await api.remove({ kind: 'SandboxTemplate', namespace: SANDBOXES, name: 'no-template' });
  for (const warmpool of [...pools, 'no-pool', 'default']) {
    const client = new KubeClient({ access: await kubeconfigAccess({ file: kubeconfig }) });
    const settings = { ...suiteSettings, namespace: SANDBOXES, warmpool, maxAgeMs: 3_600_000, maxIdleMs: 600_000 };
    backends.set(warmpool, new KubernetesBackend(settings, client, createLog('test', 'silent')));
  }
});
afterAll(async () => {
  for (const backend of backends.values()) await backend.close();
  for (const pool of pools) await removePool(pool);
});

test.each([
  ['no-room', 'start-timeout', /warm pool no-room is empty \(0 of 0 ready\).*finds no node/],
  ['no-runtime-class', 'not-ready', /the cluster has no RuntimeClass nowhere: create it/],
  ['no-image', 'start-timeout', /most often its image cannot be pulled, which kubectl -n toolyard-sandboxes describe pod/],
])('a pool with %s is %s once the time is over, and says what to do', async (warmpool, code, words) => {
  const error = await fails(warmpool);
  expect([error.code, error.message]).toEqual([code, expect.stringMatching(words)]);
});

test.each([
  ['no-pool', 'not-ready', /its SandboxWarmPool is missing: apply it/],
  ['no-template', 'not-ready', /the SandboxTemplate that its pool names is missing: apply it/],
])('%s fails at once, and says what to do', async (warmpool, code, words) => {
  const error = await fails(warmpool);
  expect([error.code, error.message]).toEqual([code, expect.stringMatching(words)]);
  expect(error.ms).toBeLessThan(READY_TIMEOUT_MS / 2);
});

test('whoever asks whether sandboxes can be made is told the same', async () => {
  const reasonOf = (warmpool: string) =>
    eventually(`the readiness of ${warmpool}`, async () => {
      const readiness = backendOf(warmpool).ready();
      return !readiness.ready && !readiness.reason.includes('asking') && readiness.reason;
    });
  expect(await reasonOf('no-pool')).toMatch(/there is no SandboxWarmPool no-pool in namespace toolyard-sandboxes: apply it/);
  expect(await reasonOf('no-template')).toMatch(
    /SandboxTemplate no-template, which SandboxWarmPool no-template names, is not in namespace/,
  );
  await eventually('the pool that ships to be ready', async () => backendOf('default').ready().ready);
});

test('a full quota of claims is said at once, and names itself', async () => {
  const name = 'full';
  const spec = { hard: { 'count/sandboxclaims.extensions.agents.x-k8s.io': '0' } };
  await apply({ apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name, namespace: SANDBOXES }, spec });
  try {
    // the API server counts some time after the quota was made
    const error = await eventually('the quota to be counted', async () => fails('default', 3_000).catch(() => undefined));
    expect([error.code, error.message]).toEqual([
      'quota',
      expect.stringMatching(/ResourceQuota full of namespace toolyard-sandboxes is used up/),
    ]);
  } finally {
    await api.remove({ kind: 'ResourceQuota', namespace: SANDBOXES, name });
  }
});
