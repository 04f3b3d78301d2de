import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { objectPath, paths, type KubeObject, type SandboxClaim } from '../../lib/kube/objects.ts';
import { until } from '../operator/bench.ts';
import { AgentSandbox } from './agent-sandbox.ts';
import { grantClaims } from './rights.ts';
import { Claims, createdAt, wholeSeconds } from './sandboxes.ts';
import { Site, USER, type RunningProcess } from './site.ts';

const NAMESPACE = 'sandboxes';
/** s */
const MAX_AGE = 30;
const GRACE = 8;
/** On a busy machine; the API server's clock is known to 2 s. */
const LATE_MS = 6_000;
const root = join(import.meta.dirname, '../..');
const python = 'test/cluster/python';

let site: Site;
let sandboxes: AgentSandbox | undefined;
let claims: Claims;
let operator: RunningProcess;

beforeAll(async () => {
  site = await Site.start();
  await site.namespace(NAMESPACE);
  await grantClaims(site.admin, USER, NAMESPACE);
  sandboxes = await AgentSandbox.start(site.api, site.admin, NAMESPACE);
  claims = new Claims(site.admin, NAMESPACE);
  await pool(3);
  const settings = { CLAIM_MAX_AGE_SECONDS: String(MAX_AGE), CLAIM_GRACE_SECONDS: String(GRACE) };
  operator = await site.operator({ CLAIMS_NAMESPACES: NAMESPACE, ...settings });
  await site.untilReady(operator);
});

afterAll(async () => {
  await sandboxes?.close();
  await site.close();
});

interface WarmPool extends KubeObject {
  readonly status?: { readonly readyReplicas?: number };
}

const collection = (kind: string): string => paths.sandboxClaims(NAMESPACE).replace(/sandboxclaims$/, kind);

/** A template, and a pool whose pods all run. */
async function pool(replicas: number): Promise<void> {
  const metadata = { name: 'default', namespace: NAMESPACE };
  const made = (kind: string, spec: object) => ({ apiVersion: 'extensions.agents.x-k8s.io/v1beta1', kind, metadata, spec });
  const podTemplate = { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'none' }] } };
  await site.admin.create(collection('sandboxtemplates'), made('SandboxTemplate', { podTemplate }));
  await site.admin.create(collection('sandboxwarmpools'), made('SandboxWarmPool', { replicas, sandboxTemplateRef: { name: 'default' } }));
  await until(
    'the pool is full',
    async () => {
      const pool = await site.admin.get<WarmPool>(objectPath(collection('sandboxwarmpools'), 'default'));
      return pool.status?.readyReplicas === replicas;
    },
    60_000,
  );
}

function untilReady(name: string): Promise<SandboxClaim> {
  const look = async () => {
    const claim = await claims.find(name);
    return claim?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true && claim;
  };
  return until(`${name} is ready`, look, 30_000);
}

const endOf = ({ spec }: SandboxClaim): number => Date.parse(spec.lifecycle?.shutdownTime ?? '');

/** Reasons of the operator's Events. */
async function reasons(name: string): Promise<readonly string[]> {
  const events = await site.events(NAMESPACE, name);
  return events.filter((event) => 'action' in event && event.action === 'Reconcile').map(({ reason }) => reason);
}

async function metric(name: string): Promise<number> {
  const text = await (await fetch(operator.metricsUrl)).text();
  return Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${name} `))
      ?.slice(name.length + 1) ?? 0,
  );
}

/** Makes a claim with agent-sandbox's own client. @returns its name */
async function pythonClaim(seconds: number): Promise<string> {
  const run = promisify(execFile);
  const found = await run(join(root, 'scripts/ensure-python-packages'), [join(root, python, 'agent-sandbox.txt')]);
  const env = { ...process.env, KUBECONFIG: await site.api.kubeconfig() };
  const { stdout } = await run(found.stdout.trim(), [join(root, python, 'claim.py'), NAMESPACE, 'default', String(seconds)], { env });
  return stdout.trim();
}

test("a claim of agent-sandbox's own client is left alone, and ended by agent-sandbox at its time", async () => {
  const name = await pythonClaim(12);
  const made = await untilReady(name);
  expect(made.metadata.managedFields?.some(({ manager = '' }) => manager.startsWith('toolyard'))).toBe(false);
  expect(made.spec.lifecycle?.shutdownPolicy).toBe('Delete');
  const late = (await claims.untilGone(name)) - endOf(made);
  expect(late).toBeGreaterThanOrEqual(0);
  expect(late).toBeLessThan(GRACE * 1000);
  expect(await reasons(name)).toEqual([]);
});

test('a claim without a lifetime gets one, and agent-sandbox ends it then', async () => {
  await claims.create('none');
  const { claim, at } = await claims.untilEnds('none');
  expect(at - createdAt(claim)).toBe(MAX_AGE * 1000);
  await untilReady('none');
  const late = (await claims.untilGone('none')) - at;
  expect(late).toBeGreaterThanOrEqual(0);
  expect(late).toBeLessThan(GRACE * 1000);
  expect(await reasons('none')).toEqual(['NoLifetime']);
});

test('a claim that agent-sandbox keeps after its end is deleted after the grace', async () => {
  await claims.create('kept', { shutdownTime: wholeSeconds(Date.now() + 5_000) });
  const end = endOf(await untilReady('kept'));
  await until('agent-sandbox says that it expired', async () => {
    return (await claims.find('kept'))?.status?.conditions?.some(({ reason }) => reason === 'ClaimExpired');
  });
  const late = (await claims.untilGone('kept')) - end;
  expect(late).toBeGreaterThanOrEqual(GRACE * 1000);
  expect(late).toBeLessThan(GRACE * 1000 + LATE_MS);
});

test.each(['Succeeded', 'Failed'] as const)('a claim whose pod has %s is deleted after the grace', async (phase) => {
  const name = `pod-${phase.toLowerCase()}`;
  await claims.create(name, { shutdownTime: wholeSeconds(Date.now() + 3_600_000), shutdownPolicy: 'Delete' });
  const { status } = await untilReady(name);
  await sandboxes?.end(status?.sandbox?.name ?? name, phase);
  const endedAt = Date.now();
  const after = (await claims.untilGone(name)) - endedAt;
  expect(after).toBeGreaterThan(GRACE * 1000 - 1_000);
  expect(after).toBeLessThan(GRACE * 1000 + LATE_MS);
  await until('it is told', async () => (await reasons(name)).includes('Finished'));
});

test('without its controller claims are ended all the same; when it is back it goes on', async () => {
  await claims.create('orphan', { shutdownTime: wholeSeconds(Date.now() + 6_000), shutdownPolicy: 'Delete' });
  const orphan = await untilReady('orphan');
  await sandboxes?.kill();
  await claims.create('unseen');
  const late = (await claims.untilGone('orphan')) - endOf(orphan);
  expect(late).toBeGreaterThanOrEqual(GRACE * 1000);
  expect(late).toBeLessThan(GRACE * 1000 + LATE_MS);
  await claims.untilEnds('unseen');
  await sandboxes?.up();
  await untilReady('unseen');
});

test('sandboxes of the pool are told from new ones', async () => {
  const [warm, cold] = ['warm', 'cold'].map((launch) => `toolyard_claims_launched_total{launch="${launch}"}`);
  expect(await metric(warm ?? '')).toBeGreaterThan(0);
  const before = await metric(cold ?? '');
  await site.admin.merge(objectPath(collection('sandboxwarmpools'), 'default'), { spec: { replicas: 0 } });
  await until('the pool is empty', async () => {
    const left = await site.admin.list<SandboxClaim>(collection('sandboxes').replace('extensions.', ''), {
      labelSelector: 'agents.x-k8s.io/warm-pool-sandbox',
    });
    return left.length === 0;
  });
  await claims.create('cold', { shutdownTime: wholeSeconds(Date.now() + 20_000), shutdownPolicy: 'Delete' });
  const { status } = await untilReady('cold');
  expect(status?.sandbox?.name).toBe('cold');
  await until('it is counted', async () => (await metric(cold ?? '')) === before + 1);
});
