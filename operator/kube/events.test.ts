import { pino } from 'pino';
import { beforeEach, expect, test } from 'vitest';
import { KubeError } from '../../lib/kube/errors.ts';
import { Events, type News } from './events.ts';
import { eventually } from './testing/reflector-contract.ts';

const regarding = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'team', name: 'weather', uid: 'u' };
const news: News = { type: 'Warning', reason: 'ConnectionRefused', message: 'nothing listens' };

let created: { path: string; object: Record<string, unknown> }[];
let patched: { path: string; patch: unknown }[];
let now: number;
let failures: KubeError[];
let logged: string[];
let events: Events;

beforeEach(() => {
  [created, patched, failures, logged, now] = [[], [], [], [], 1_000_000];
  const fail = (): void => {
    const failure = failures.shift();
    if (failure !== undefined) throw failure;
  };
  const client = {
    create: async (path: string, object: unknown) => {
      fail();
      created.push({ path, object: object as Record<string, unknown> });
      return object;
    },
    merge: async (path: string, patch: unknown) => {
      fail();
      patched.push({ path, patch });
      return patch;
    },
  } as unknown as ConstructorParameters<typeof Events>[0]['client'];
  const log = pino({ level: 'warn' }, { write: (line) => logged.push(line) });
  events = new Events({ client, instance: 'pod-1', log, now: () => now });
});

test('the same news again only counts up, until it was quiet for a while', async () => {
  events.tell(regarding, news);
  await eventually('it is told', () => created.length === 1);
  now += 60_000;
  events.tell(regarding, news);
  await eventually('it is counted', () => patched.length === 1);
  expect(patched[0]?.patch).toMatchObject({ series: { count: 2 } });
  expect(patched[0]?.path).toContain(`/events/weather.`);
  now += 6 * 60_000;
  events.tell(regarding, news);
  await eventually('it is told anew', () => created.length === 2);
  events.tell(regarding, { ...news, message: 'another' });
  await eventually('other news is an Event of its own', () => created.length === 3);
});

test('an Event that is gone by now is made anew', async () => {
  events.tell(regarding, news);
  await eventually('it is told', () => created.length === 1);
  failures = [new KubeError('not-found', 'gone', { status: 404 })];
  events.tell(regarding, news);
  await eventually('it is told again', () => created.length === 2);
  expect(patched).toHaveLength(0);
});

test('a note fits, whatever it is made of', async () => {
  events.tell(regarding, { ...news, message: 'é€'.repeat(1_000) });
  await eventually('it is told', () => created.length === 1);
  const note = String(created[0]?.object['note']);
  expect(Buffer.byteLength(note)).toBeLessThanOrEqual(1000);
  expect(note).toMatch(/^[é€]+…$/);
});

test('what cannot be written is lost, and a right that is missing is told once', async () => {
  failures = [1, 2, 3].map(() => new KubeError('forbidden', 'no right', { status: 403 }));
  for (const reason of ['A', 'B', 'C', 'D']) events.tell(regarding, { ...news, reason });
  await eventually('the last one is told', () => created.length === 1);
  expect(logged).toHaveLength(1);
  await events.close();
  events.tell(regarding, { ...news, reason: 'E' });
  expect(created).toHaveLength(1);
});
