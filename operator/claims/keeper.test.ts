import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { News } from '../kube/events.ts';
import { eventually } from '../kube/testing/reflector-contract.ts';
import { ClaimKeeper, type ClaimKeeperOptions } from './keeper.ts';
import { ClaimMetrics } from './metrics.ts';
import { StubApi } from './testing/api.ts';
import { claim, condition, CREATED, policy, READY, SECOND } from './testing/claims.ts';

const SOON = CREATED + 300 * SECOND;

let api: StubApi;
let now: number;
let leads: boolean;
let told: string[];
let logged: string[];
let registry: Registry;
let keeper: ClaimKeeper | undefined;

beforeEach(() => {
  api = new StubApi();
  now = CREATED;
  leads = true;
  told = [];
  logged = [];
  registry = new Registry();
});

afterEach(async () => {
  await keeper?.close();
});

function start(options: Partial<ClaimKeeperOptions> = {}): ClaimKeeper {
  keeper = new ClaimKeeper({
    client: api.client,
    namespaces: ['sandboxes'],
    policy,
    events: { tell: ({ name }, { reason }: News) => told.push(`${name} ${reason}`) },
    metrics: new ClaimMetrics(registry),
    log: pino({ level: 'warn' }, { write: (line) => logged.push(line) }),
    mayWrite: () => leads,
    now: () => now,
    ...options,
  });
  keeper.start();
  return keeper;
}

async function metric(line: RegExp): Promise<number> {
  return Number(line.exec(await registry.metrics())?.[1] ?? Number.NaN);
}

async function eventuallyMetric(line: RegExp, value: number): Promise<void> {
  let last = Number.NaN;
  for (let tries = 0; tries < 400 && last !== value; tries += 1) {
    last = await metric(line);
    if (last !== value) await new Promise((resolve) => setTimeout(resolve, 5));
  }
  expect(last).toBe(value);
}

test('a claim without a lifetime gets one; then it rests', async () => {
  api.put(claim());
  start();
  await eventually('it has an end', () => api.get('one')?.spec.lifecycle?.shutdownTime !== undefined);
  expect(api.get('one')?.spec.lifecycle).toEqual({ shutdownTime: '2026-11-30T16:00:00Z', shutdownPolicy: 'Delete' });
  api.put(claim({ name: 'two', shutdownAt: SOON, shutdownPolicy: 'Delete', conditions: [READY], sandbox: 'default-1' }));
  await eventuallyMetric(/^toolyard_claims\{state="Ready"\} (\d+)$/m, 1);
  expect(api.calls).toEqual(['patch one']);
  expect(told).toEqual(['one NoLifetime']);
  expect(await metric(/^toolyard_claims_shortened_total\{reason="NoLifetime"\} (\d+)$/m)).toBe(1);
  expect(await metric(/^toolyard_claims_launched_total\{launch="warm"\} (\d+)$/m)).toBe(1);
});

test('one that is deleted in its own way keeps that way', async () => {
  api.put(claim({ shutdownAt: CREATED + 10 ** 9, shutdownPolicy: 'DeleteForeground' }));
  start();
  await eventually('it ends sooner', () => api.get('one')?.spec.lifecycle?.shutdownTime === '2026-11-30T16:00:00Z');
  expect(api.get('one')?.spec.lifecycle?.shutdownPolicy).toBe('DeleteForeground');
});

test('what becomes due without an event is done at its time', async () => {
  const until = SOON + policy.graceMs;
  const startedAt = performance.now();
  now = until - 200;
  api.put(claim({ shutdownAt: SOON }));
  start({ now: () => now + (performance.now() - startedAt) });
  await eventually('it is gone', () => api.get('one') === undefined);
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(200);
  expect(told).toEqual(['one Expired']);
  await eventuallyMetric(/^toolyard_claims_reclaimed_total\{reason="Expired"\} (\d+)$/m, 1);
});

test('a claim that somebody extends over and over is cut each time, and told of once', async () => {
  start();
  for (let turn = 1; turn <= 3; turn += 1) {
    api.put(claim({ shutdownAt: CREATED + 10 ** 9 + turn * SECOND, shutdownPolicy: 'Delete' }));
    await eventually('it is cut', () => api.get('one')?.spec.lifecycle?.shutdownTime === '2026-11-30T16:00:00Z');
  }
  expect(api.calls).toEqual(['patch one', 'patch one', 'patch one']);
  expect(told).toEqual(['one LifetimeTooLong']);
});

test('without the right to write it says so once, goes on with all else, and tries again', async () => {
  api.failures.set('patch', 'forbidden');
  api.put(claim());
  api.put(claim({ name: 'two' }));
  api.put(claim({ name: 'over', shutdownAt: CREATED - policy.graceMs }));
  const { trouble } = start();
  expect(trouble).toBe('SandboxClaims of sandboxes were not read yet');
  await eventually('both were tried twice', () => api.calls.filter((call) => call.startsWith('patch')).length >= 4);
  expect(keeper?.trouble).toBe('patch: forbidden');
  expect(logged).toHaveLength(1);
  expect(api.get('over')).toBeUndefined();
  api.failures.clear();
  await eventually('both have an end', () => ['one', 'two'].every((name) => api.get(name)?.spec.lifecycle?.shutdownTime !== undefined));
  await eventually('nothing is wrong', () => keeper?.trouble === undefined);
});

test('what fails is tried ever less often, whatever else changes', async () => {
  api.failures.set('patch', 'forbidden');
  api.put(claim());
  start();
  await eventually('it was tried', () => api.calls.length > 0);
  for (let change = 1; change <= 20; change += 1) {
    api.put(claim({ name: 'other', shutdownAt: SOON + change * SECOND }));
    await eventuallyMetric(/^toolyard_claims\{state="Pending"\} (\d+)$/m, 2);
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
  expect(api.calls.length).toBeLessThan(10);
});

test('without its definitions agent-sandbox is waited for', async () => {
  api.failures.set('list', 'not-found');
  start();
  await eventually('it says so', () => keeper?.trouble?.startsWith('agent-sandbox is not installed') === true);
  expect(await metric(/^toolyard_claims_readable (\d+)$/m)).toBe(0);
  expect(logged).toHaveLength(1);
  api.put(claim());
  api.failures.clear();
  await eventually('it works', () => api.get('one')?.spec.lifecycle?.shutdownTime !== undefined && keeper?.trouble === undefined);
  await eventuallyMetric(/^toolyard_claims_readable (\d+)$/m, 1);
});

test('a process that may not be the one that works writes nothing until it is', async () => {
  leads = false;
  api.put(claim());
  start();
  await eventuallyMetric(/^toolyard_claims\{state="Pending"\} (\d+)$/m, 1);
  expect(api.calls).toEqual([]);
  leads = true;
  await eventually('it is written', () => api.calls.length === 1);
  expect(logged).toEqual([]);
});

test('a claim that is ready by the time it is found to be too many stays', async () => {
  api.put(claim({ name: 'a', shutdownAt: SOON }));
  const late = claim({ name: 'b', createdAt: CREATED + SECOND, shutdownAt: SOON });
  api.put(late);
  const send = api.client.delete;
  const client = {
    ...api.client,
    delete: async (...call: Parameters<typeof send>) => {
      // what is sent was planned from what it was before
      if (api.get('b')?.status?.conditions === undefined) api.put({ ...late, status: { conditions: [READY] } });
      return send(...call);
    },
  };
  start({ client, policy: { ...policy, max: 1 } });
  // its place was the other one's
  await eventually('one of them is gone', () => api.get('a') === undefined);
  expect(api.calls[0]).toBe('delete b');
  expect(api.get('b')?.status?.conditions).toEqual([READY]);
  expect(told).toEqual(['a OverQuota']);
});

test('after a claim is gone the metrics forget it; a keeper that ends looks after none', async () => {
  const finished = [condition('Finished', 'True', 'PodSucceeded', CREATED)];
  api.put(claim({ shutdownAt: SOON, conditions: finished }));
  const { size } = start();
  expect(size).toBe(0);
  await eventuallyMetric(/^toolyard_claims\{state="Finished"\} (\d+)$/m, 1);
  await keeper?.close();
  expect(await metric(/^toolyard_claims\{state="Finished"\} (\d+)$/m)).toBe(0);
  expect(await metric(/^toolyard_claims_readable (\d+)$/m)).toBe(0);
});
