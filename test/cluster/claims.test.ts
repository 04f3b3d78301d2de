import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { KubeClient } from '../../lib/kube/client.ts';
import { kubeconfigAccess } from '../../lib/kube/credentials.ts';
import { objectPath, paths, type KubeObject, type SandboxClaim } from '../../lib/kube/objects.ts';
import { Claims, createdAt, wholeSeconds } from '../kube/sandboxes.ts';
import { run } from './run.ts';
import { now, OPERATOR, writesSince } from './testing/audit.ts';
import { api, control, eventually, kubeconfig, kubectl } from './testing/cluster.ts';
import { INSTALL, type Pod } from './testing/yard.ts';

const SANDBOXES = 'toolyard-sandboxes';
const POOL = 'default';
/** s */
const MAX_AGE = 90;
const GRACE = 10;
const LATE_MS = 6_000;
const folder = paths.sandboxClaims(SANDBOXES).replace(/\/sandboxclaims$/, '');
const sandboxPath = (name: string) => `/apis/agents.x-k8s.io/v1beta1/namespaces/${SANDBOXES}/sandboxes/${name}`;

let client: KubeClient;
let claims: Claims;

/** Gives the operator other settings, and waits until both of its pods have them. */
async function configure(...settings: readonly string[]): Promise<void> {
  await kubectl('-n', INSTALL, 'set', 'env', 'deployment/operator', ...settings);
  await kubectl('-n', INSTALL, 'rollout', 'status', 'deployment/operator', '--timeout=120s');
}

beforeAll(async () => {
  client = new KubeClient({ access: await kubeconfigAccess({ file: kubeconfig }) });
  claims = new Claims(client, SANDBOXES, POOL);
  await configure(`CLAIM_MAX_AGE_SECONDS=${MAX_AGE}`, `CLAIM_GRACE_SECONDS=${GRACE}`);
});

afterAll(async () => {
  for (const { metadata } of await claims.list()) await claims.delete(metadata.name);
  await configure('CLAIM_MAX_AGE_SECONDS=14400', 'CLAIM_GRACE_SECONDS=60');
  await client.close();
});

const inSeconds = (seconds: number): string => wholeSeconds(Date.now() + seconds * 1000);

function untilReady(name: string): Promise<SandboxClaim> {
  return eventually(`${name} is ready`, async () => {
    const claim = await claims.find(name);
    if (claim === undefined) throw new Error('it is gone');
    const ready = claim.status?.conditions?.find(({ type }) => type === 'Ready');
    if (ready?.status === 'True') return claim;
    throw new Error(ready === undefined ? 'it says nothing' : `${ready.reason}: ${ready.message}`);
  });
}

/** Waits until neither the claim nor its sandbox nor the pod of that is there. @returns when the claim was gone, Unix ms */
async function untilNothingIsLeft({ metadata: { name }, status }: SandboxClaim, timeoutMs = 120_000): Promise<number> {
  const goneAt = await claims.untilGone(name, timeoutMs);
  const sandbox = status?.sandbox?.name ?? name;
  await eventually(`the sandbox of ${name} is gone`, async () => (await client.find(sandboxPath(sandbox))) === undefined);
  await eventually(`the pod of ${name} is gone`, async () => {
    return (await api.find<Pod>({ kind: 'Pod', namespace: SANDBOXES, name: sandbox })) === undefined;
  });
  return goneAt;
}

interface Template extends KubeObject {
  readonly spec: { readonly podTemplate: { readonly spec: { readonly containers: readonly Record<string, unknown>[] } } };
}

/** A pool without warm pods, whose sandboxes end at once. */
async function briefPool(): Promise<Claims> {
  const { spec } = await client.get<Template>(`${folder}/sandboxtemplates/${POOL}`);
  const [container] = spec.podTemplate.spec.containers;
  const { readinessProbe, startupProbe, livenessProbe, ...others } = container ?? {};
  const containers = [{ ...others, command: ['sh', '-c', 'exit 0'] }];
  const podTemplate = { ...spec.podTemplate, spec: { ...spec.podTemplate.spec, containers, restartPolicy: 'Never' } };
  const made = (kind: string, body: object) => ({
    apiVersion: 'extensions.agents.x-k8s.io/v1beta1',
    kind,
    metadata: { name: 'brief', namespace: SANDBOXES },
    spec: body,
  });
  const apply = async (collection: string, object: ReturnType<typeof made>) => {
    await client.apply(objectPath(`${folder}/${collection}`, 'brief'), object, { fieldManager: 'test', force: true });
  };
  await apply('sandboxtemplates', made('SandboxTemplate', { ...spec, podTemplate }));
  await apply('sandboxwarmpools', made('SandboxWarmPool', { replicas: 0, sandboxTemplateRef: { name: 'brief' } }));
  return new Claims(client, SANDBOXES, 'brief');
}

/** A claim that agent-sandbox's own client makes. */
async function pythonClaim(seconds: number): Promise<SandboxClaim> {
  const python = (await run(join(import.meta.dirname, '../../scripts/ensure-python-packages'), [requirements])).trim();
  const script = join(import.meta.dirname, 'python/claim.py');
  const name = await run(python, [script, SANDBOXES, POOL, String(seconds)], { env: { KUBECONFIG: kubeconfig } });
  return untilReady(name.trim());
}

const requirements = join(import.meta.dirname, 'python/agent-sandbox.txt');

test('claims without a lifetime, with a far one, idle, kept, finished and of others: all are gone in time, none before', async () => {
  const mark = await now();
  const brief = await briefPool();
  const python = await pythonClaim(30);
  await brief.create('claims-finished');
  await claims.create('claims-none');
  await claims.create('claims-far', { shutdownTime: inSeconds(86_400), shutdownPolicy: 'Retain' });
  // nobody renews it: its server was killed
  const owned = {
    labels: { 'toolyard.dev/kind': 'sandbox', 'toolyard.dev/owner': 'somebody' },
    annotations: { 'toolyard.dev/idle-seconds': '60' },
  };
  await claims.create('claims-idle', { shutdownTime: inSeconds(60), shutdownPolicy: 'Delete' }, owned);
  await claims.create('claims-kept', { shutdownTime: inSeconds(60), shutdownPolicy: 'Retain' });
  const [none, far, idle, kept] = await Promise.all(['none', 'far', 'idle', 'kept'].map((name) => untilReady(`claims-${name}`)));
  const all = { python, none, far, idle, kept } as Record<string, SandboxClaim>;
  const endsAt = (claim: SandboxClaim | undefined) => Date.parse(claim?.spec.lifecycle?.shutdownTime ?? '');

  const finished = await brief.find('claims-finished');
  const finishedGone = await claims.untilGone('claims-finished');
  expect(finishedGone - createdAt(finished ?? python)).toBeGreaterThanOrEqual(GRACE * 1000);
  expect(finishedGone - createdAt(finished ?? python)).toBeLessThan(MAX_AGE * 1000);

  // agent-sandbox ends what it is to end, and is given the time to
  for (const name of ['idle', 'python'] as const) {
    const late = (await untilNothingIsLeft(all[name] ?? python)) - endsAt(all[name]);
    expect(late).toBeGreaterThanOrEqual(0);
  }
  const keptLate = (await untilNothingIsLeft(kept ?? python)) - endsAt(kept);
  expect(keptLate).toBeGreaterThanOrEqual(GRACE * 1000);
  expect(keptLate).toBeLessThan(GRACE * 1000 + LATE_MS);
  for (const claim of [none, far]) {
    const late = (await untilNothingIsLeft(claim ?? python)) - createdAt(claim ?? python) - MAX_AGE * 1000;
    expect(late).toBeGreaterThanOrEqual(0);
    expect(late).toBeLessThan(GRACE * 1000);
  }
  const writes = (await writesSince(mark, OPERATOR)).filter(({ resource }) => resource === 'sandboxclaims');
  const of = (name: string) => writes.filter((write) => write.name === `${SANDBOXES}/${name}`).map(({ verb }) => verb);
  expect(of(python.metadata.name)).toEqual([]);
  expect(of('claims-idle')).toEqual([]);
  expect(of('claims-none')).toEqual(['patch']);
  expect(of('claims-far')).toEqual(['patch']);
  expect(of('claims-kept')).toEqual(['delete']);
  expect(of('claims-finished')).toEqual(['patch', 'delete']);
}, 400_000);

test('without the controller of agent-sandbox, and with the leader killed, what is over is ended all the same', async () => {
  await claims.create('claims-orphan', { shutdownTime: inSeconds(60), shutdownPolicy: 'Delete' });
  const orphan = await untilReady('claims-orphan');
  await control('stop', 'agent-sandbox');
  try {
    const lease = await client.get<KubeObject & { spec: { holderIdentity: string } }>(
      objectPath(paths.leases(INSTALL), 'toolyard-operator'),
    );
    const leader = lease.spec.holderIdentity.split('_')[0] ?? '';
    await kubectl('-n', INSTALL, 'delete', 'pod', leader, '--grace-period=0', '--force');
    await claims.create('claims-unseen');
    const end = Date.parse(orphan.spec.lifecycle?.shutdownTime ?? '');
    const late = (await untilNothingIsLeft(orphan)) - end;
    expect(late).toBeGreaterThanOrEqual(GRACE * 1000);
    expect(late).toBeLessThan(GRACE * 1000 + 30_000);
    const { at, claim } = await claims.untilEnds('claims-unseen', 40_000);
    expect(at - createdAt(claim)).toBe(MAX_AGE * 1000);
  } finally {
    await control('start', 'agent-sandbox');
  }
  await untilNothingIsLeft(await untilReady('claims-unseen'));
}, 400_000);

test('an operator that was away ends what nobody ended, and tells which sandboxes were warm', async () => {
  const { spec } = await client.get<KubeObject & { spec: { replicas: number } }>(
    `/apis/apps/v1/namespaces/${INSTALL}/deployments/operator`,
  );
  await kubectl('-n', INSTALL, 'scale', 'deployment/operator', '--replicas=0');
  await eventually('no operator is there', async () => {
    return (await api.list({ kind: 'Pod', namespace: INSTALL, selector: 'app.kubernetes.io/name=operator' })).length === 0;
  });
  await claims.create('claims-meanwhile');
  await untilReady('claims-meanwhile');
  expect((await claims.find('claims-meanwhile'))?.spec.lifecycle?.shutdownTime).toBeUndefined();
  await kubectl('-n', INSTALL, 'scale', 'deployment/operator', `--replicas=${spec.replicas}`);
  await kubectl('-n', INSTALL, 'rollout', 'status', 'deployment/operator', '--timeout=120s');
  const { claim, at } = await claims.untilEnds('claims-meanwhile', 60_000);
  expect(at - createdAt(claim)).toBe(MAX_AGE * 1000);
  await claims.create('claims-counted', { shutdownTime: inSeconds(60), shutdownPolicy: 'Delete' });
  const counted = await untilReady('claims-counted');
  const launch = counted.status?.sandbox?.name === 'claims-counted' ? 'cold' : 'warm';
  await eventually('it is counted', async () => (await metrics()).includes(`toolyard_claims_launched_total{launch="${launch}"} 1\n`));
  for (const one of [counted, claim]) await untilNothingIsLeft(one);
}, 400_000);

/** Of all operators together. */
async function metrics(): Promise<string> {
  const pods = await api.list<Pod>({ kind: 'Pod', namespace: INSTALL, selector: 'app.kubernetes.io/name=operator' });
  const texts = pods.map(async ({ status }) => (await fetch(`http://${status.podIP}:9090/metrics`)).text());
  return (await Promise.all(texts)).join('\n');
}
