import { execFile } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { record, until } from '../operator/bench.ts';
import { Link } from './link.ts';
import { grantClaims } from './rights.ts';
import { Claims, CLAIMS_ALONE, createdAt, define, wholeSeconds } from './sandboxes.ts';
import { Site, USER, type RunningProcess } from './site.ts';

/** s */
const MAX_AGE = 20;
const GRACE = 3;
/** The API server's clock is known to 2 s, and stamps whole seconds; on a busy machine the rest takes its time. */
const LATE_MS = 5_000;

let site: Site;
let running: RunningProcess[] = [];

beforeAll(async () => {
  site = await Site.start();
  await site.namespace('team');
});

afterEach(async () => {
  for (const operator of running) await site.stop(operator);
  running = [];
});

afterAll(async () => {
  await site.close();
});

/** A namespace whose claims the operator may look after. */
async function sandboxes(name: string, defined = true): Promise<Claims> {
  if (defined) await define(site.admin, CLAIMS_ALONE);
  await site.namespace(name);
  await grantClaims(site.admin, USER, name);
  return new Claims(site.admin, name);
}

async function operator(namespaces: string, env: NodeJS.ProcessEnv = {}): Promise<RunningProcess> {
  const settings = { CLAIMS_NAMESPACES: namespaces, CLAIM_MAX_AGE_SECONDS: String(MAX_AGE), CLAIM_GRACE_SECONDS: String(GRACE) };
  const started = await site.operator({ ...settings, ...env });
  running.push(started);
  return started;
}

async function note(of: RunningProcess): Promise<string> {
  const readiness = await site.readiness(of);
  return readiness?.note ?? readiness?.reason ?? '';
}

async function metric({ metricsUrl }: RunningProcess, name: string): Promise<number> {
  const text = await (await fetch(metricsUrl)).text();
  const line = text.split('\n').find((one) => one.startsWith(`${name} `));
  return Number(line?.slice(name.length + 1) ?? 0);
}

async function writes(of: RunningProcess): Promise<number> {
  const requests = await site.requests(of);
  return (requests.get('patch sandboxclaims') ?? 0) + (requests.get('delete sandboxclaims') ?? 0) + (requests.get('create events') ?? 0);
}

/** Reasons of the Events about a claim; each was told once. */
async function reasons(namespace: string, name: string): Promise<readonly string[]> {
  const events = await site.events(namespace, name);
  for (const { series } of events) expect(series).toBeUndefined();
  return events.map(({ reason }) => reason).toSorted();
}

function lines(of: RunningProcess, text: string): number {
  return of.output().split(text).length - 1;
}

test('without the definitions of agent-sandbox the operator keeps records, says what is missing, and begins when they are there', async () => {
  const claims = await sandboxes('early', false);
  const started = await operator('early');
  await site.untilReady(started);
  await until('it says so', async () => (await note(started)).includes('agent-sandbox is not installed'));
  const endpoint = `${(await site.bench.server()).url}/mcp`;
  await site.declare('team/one', record('com.example/one', 'https://one.example.com/mcp'), { 'toolyard.dev/endpoint': endpoint });
  await site.untilState('team/one', 'Published');
  await until('it asked a few times', async () => ((await site.requests(started)).get('list sandboxclaims') ?? 0) >= 5, 40_000);
  expect(lines(started, 'the API server does not tell of changes')).toBe(1);
  expect(await metric(started, 'toolyard_claims_readable')).toBe(0);
  await define(site.admin, CLAIMS_ALONE);
  await claims.createSoon('first');
  const { claim, at } = await claims.untilEnds('first');
  expect(at - createdAt(claim)).toBe(MAX_AGE * 1000);
  expect(claim.spec.lifecycle?.shutdownPolicy).toBe('Delete');
  await until('nothing is missing', async () => (await note(started)) === 'looks after 1 claims');
  // nobody else ends it here
  const goneAt = await claims.untilGone('first');
  expect(goneAt - at).toBeGreaterThanOrEqual(GRACE * 1000);
  expect(goneAt - at).toBeLessThan(GRACE * 1000 + LATE_MS);
  await until('both were told', async () => (await reasons('early', 'first')).join() === 'Expired,NoLifetime');
});

test('every kind of claim ends in time, none before; then nothing is written any more', async () => {
  const claims = await sandboxes('kinds');
  const started = await operator('kinds', { CLAIM_MAX_AGE_SECONDS: '30' });
  await site.untilReady(started);
  const soon = wholeSeconds(Date.now() + 15_000);
  const far = wholeSeconds(Date.now() + 86_400_000);
  // as agent-sandbox's Python client makes them, which stamps its own clock
  await claims.create(
    'python',
    { shutdownTime: soon, shutdownPolicy: 'Delete' },
    { labels: { 'agents.x-k8s.io/created-by': 'python-client' } },
  );
  await claims.create('kept', { shutdownTime: soon });
  await claims.create('none');
  await claims.create('ttl-only', { ttlSecondsAfterFinished: 5 });
  await claims.create('far', { shutdownTime: far, shutdownPolicy: 'DeleteForeground' });
  await claims.create('finished', { shutdownTime: far, shutdownPolicy: 'Delete' });
  await claims.create('deleted', undefined, { finalizers: ['example.com/waits'] });
  await claims.delete('deleted');
  const untouched = await claims.find('python');
  const ends = await Promise.all(['none', 'ttl-only'].map((name) => claims.untilEnds(name)));
  for (const { claim } of ends) expect(claim.spec.lifecycle?.shutdownPolicy).toBe('Delete');
  const cut = await claims.untilNot('far', far);
  expect(cut.spec.lifecycle).toEqual({ shutdownTime: wholeSeconds(createdAt(cut) + 30_000), shutdownPolicy: 'DeleteForeground' });
  await claims.becomes('finished', [
    ['Ready', 'False', 'PodFailed'],
    ['Finished', 'True', 'PodFailed'],
  ]);
  const finishedAt = Date.now();
  expect((await claims.untilGone('finished')) - finishedAt).toBeGreaterThan(GRACE * 1000 - 1_000);
  expect((await claims.find('python'))?.metadata.resourceVersion).toBe(untouched?.metadata.resourceVersion);
  for (const name of ['python', 'kept']) {
    const late = (await claims.untilGone(name)) - Date.parse(soon);
    expect(late).toBeGreaterThanOrEqual(GRACE * 1000);
    expect(late).toBeLessThan(GRACE * 1000 + LATE_MS);
  }
  for (const name of ['none', 'ttl-only', 'far']) await claims.untilGone(name);
  await until('all was told', async () => (await reasons('kinds', 'far')).join() === 'Expired,LifetimeTooLong');
  expect(await reasons('kinds', 'python')).toEqual(['Expired']);
  expect(await reasons('kinds', 'deleted')).toEqual([]);
  expect(await metric(started, 'toolyard_claims_reclaimed_total{reason="Finished"}')).toBe(1);
  expect(await metric(started, 'toolyard_claims_reclaimed_total{reason="Expired"}')).toBe(5);
  expect(await metric(started, 'toolyard_claims{state="Deleting"}')).toBe(1);
  const before = await writes(started);
  await delay(3_000);
  expect(await writes(started)).toBe(before);
  await claims.patch('deleted', { metadata: { finalizers: null } });
});

test('warm and cold starts are counted, with the time until they were ready', async () => {
  const claims = await sandboxes('starts');
  await claims.create('before');
  await claims.becomes('before', [['Ready', 'True', 'DependenciesReady']], 'default-aaaaa');
  const started = await operator('starts');
  await site.untilReady(started);
  await until('it is counted', async () => (await metric(started, 'toolyard_claims{state="Ready"}')) === 1);
  for (const [name, sandbox] of [
    ['warm-1', 'default-bbbbb'],
    ['warm-2', 'default-ccccc'],
    ['cold', 'cold'],
  ] as const) {
    await claims.create(name);
    await delay(300);
    await claims.becomes(name, [['Ready', 'True', 'DependenciesReady']], sandbox);
    await claims.becomes(name, [['Ready', 'False', 'DependenciesNotReady']], sandbox);
    await claims.becomes(name, [['Ready', 'True', 'DependenciesReady']], sandbox);
  }
  await until('all are ready', async () => (await metric(started, 'toolyard_claims{state="Ready"}')) === 4);
  expect(await metric(started, 'toolyard_claims_launched_total{launch="warm"}')).toBe(2);
  expect(await metric(started, 'toolyard_claims_launched_total{launch="cold"}')).toBe(1);
  expect(await metric(started, 'toolyard_claim_ready_seconds_bucket{le="0.2",launch="warm"}')).toBe(0);
  expect(await metric(started, 'toolyard_claim_ready_seconds_bucket{le="2",launch="warm"}')).toBe(2);
});

test('300 claims at once all get an end, once each; of too many those stay that are in use', async () => {
  const count = 300;
  const [all, few] = [await sandboxes('all'), await sandboxes('few')];
  const started = await operator('all', { CLAIM_MAX_AGE_SECONDS: '3600' });
  await site.untilReady(started);
  const make = async (claims: Claims, names: string[]): Promise<void> => {
    const next = async (): Promise<void> => {
      for (let name = names.pop(); name !== undefined; name = names.pop()) await claims.create(name);
    };
    await Promise.all(Array.from({ length: 16 }, next));
  };
  const named = (length: number, prefix: string) => Array.from({ length }, (_, index) => `${prefix}-${index}`);
  const startedAt = performance.now();
  await make(all, named(count, 'claim'));
  const madeAt = performance.now();
  await until('all have an end', async () => (await all.list()).every(({ spec }) => spec.lifecycle?.shutdownTime !== undefined), 60_000);
  const doneAt = performance.now();
  process.stdout.write(
    `${count} claims made in ${Math.round(madeAt - startedAt)} ms, all had an end ${Math.round(doneAt - madeAt)} ms later\n`,
  );
  await until('all were told of', async () => ((await site.requests(started)).get('create events') ?? 0) === count, 60_000);
  expect((await site.requests(started)).get('patch sandboxclaims')).toBe(count);
  await site.stop(running.pop() ?? started);

  await make(few, named(60, 'pending'));
  await make(few, named(20, 'used'));
  for (const name of named(20, 'used')) await few.becomes(name, [['Ready', 'True', 'DependenciesReady']], `pool-${name}`);
  const limited = await operator('few', { CLAIM_MAX_AGE_SECONDS: '3600', CLAIMS_MAX: '50' });
  await until('there are not too many', async () => (await few.list()).length <= 50, 60_000);
  await until(
    'the rest has an end',
    async () => (await few.list()).every(({ spec }) => spec.lifecycle?.shutdownTime !== undefined),
    30_000,
  );
  const left = (await few.list()).map(({ metadata }) => metadata.name);
  expect(left).toHaveLength(50);
  expect(left.filter((name) => name.startsWith('used'))).toHaveLength(20);
  expect(await metric(limited, 'toolyard_claims_reclaimed_total{reason="OverQuota"}')).toBe(30);
});

test('a leader that is killed, or cut off, is followed by another; what was done is not done again', async () => {
  const claims = await sandboxes('leaders');
  const link = await Link.start(site.api.port);
  try {
    const first = await operator('leaders', { ...(await site.environment(link.port)), POD_NAME: 'first' });
    await site.untilReady(first);
    const second = await operator('leaders', { POD_NAME: 'second' });
    await site.untilReady(second, true);
    const far = wholeSeconds(Date.now() + 86_400_000);
    await claims.create('one', { shutdownTime: far, shutdownPolicy: 'Delete' });
    await claims.untilNot('one', far);
    // a watch that is cut goes on where it was
    link.cut();
    await claims.create('two');
    await claims.untilEnds('two');
    link.shut();
    await until('it knows that it does not lead', async () => (await metric(first, 'toolyard_leader')) === 0, 20_000);
    const before = await writes(first);
    await claims.create('three');
    const three = await claims.untilEnds('three', 40_000);
    expect(three.at - createdAt(three.claim)).toBe(MAX_AGE * 1000);
    expect(await writes(first)).toBe(before);
    expect(await metric(first, 'toolyard_claims_readable')).toBe(0);
    link.reopen();
    await site.untilReady(first, true);
    await site.stop(second, 'SIGKILL');
    running = running.filter((one) => one !== second);
    for (const name of ['one', 'two', 'three']) await claims.untilGone(name, 60_000);
  } finally {
    await link.close();
  }
});

test('an operator without rights says so once, keeps records, and works when it gets them', async () => {
  await define(site.admin, CLAIMS_ALONE);
  await site.namespace('closed');
  const claims = new Claims(site.admin, 'closed');
  await claims.create('one');
  const started = await operator('closed');
  await site.untilReady(started);
  await until('it says which right', async () =>
    /claims are not all looked after: list .*sandboxclaims.* HTTP 403/.test(await note(started)),
  );
  await until('it asked a few times', async () => ((await site.requests(started)).get('list sandboxclaims') ?? 0) >= 5, 40_000);
  expect(lines(started, 'does not tell of changes')).toBe(1);
  await grantClaims(site.admin, USER, 'closed');
  await claims.untilEnds('one');
});

test('records that cannot be kept stop no claims', async () => {
  const claims = await sandboxes('alone');
  const started = await operator('alone', { CA_FILE: join(site.api.root, 'nothing.pem'), REGISTRY_URL: 'http://127.0.0.1:1' });
  await claims.create('one');
  const { at } = await claims.untilEnds('one', 30_000);
  const goneAt = await claims.untilGone('one');
  expect(goneAt - at).toBeLessThan(GRACE * 1000 + LATE_MS);
  expect(lines(started, 'a part of the operator broke')).toBeGreaterThan(1);
  expect((await site.readiness(started))?.ready).toBe(false);
});

test("an operator whose clock is wrong by a day goes by the API server's", async () => {
  const claims = await sandboxes('clocks');
  const { stdout } = await promisify(execFile)(join(import.meta.dirname, '../../scripts/ensure-faketime'));
  const tomorrow = { LD_PRELOAD: stdout.trim(), FAKETIME: '+1d', FAKETIME_DONT_FAKE_MONOTONIC: '1', NO_FAKE_STAT: '1' };
  const started = await operator('clocks', tomorrow);
  await site.untilReady(started);
  expect(started.output()).toContain(`"time":${String(Date.now() + 86_400_000).slice(0, 5)}`);
  const soon = Date.now() + 8_000;
  await claims.create('soon', { shutdownTime: wholeSeconds(soon), shutdownPolicy: 'Delete' });
  await claims.create('none');
  const { claim, at } = await claims.untilEnds('none');
  expect(at - createdAt(claim)).toBe(MAX_AGE * 1000);
  expect((await claims.untilGone('soon')) - soon).toBeGreaterThanOrEqual(GRACE * 1000 - 1_000);
  const goneAt = await claims.untilGone('none');
  expect(goneAt - at).toBeGreaterThanOrEqual(GRACE * 1000);
  expect(goneAt - at).toBeLessThan(GRACE * 1000 + LATE_MS);
});
