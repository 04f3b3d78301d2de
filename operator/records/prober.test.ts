import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Verdict } from './answers.ts';
import { Prober, type Probe } from './prober.ts';
import { targetKey, type Address } from './target.ts';
import { answersVerdict, INTERVAL_MS, refusedVerdict } from './testing/world.ts';

let verdicts: Map<string, Verdict>;
let asked: { url: string; at: number }[];
let changes: string[];
let prober: Prober;

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000 });
  verdicts = new Map();
  asked = [];
  changes = [];
  prober = proberOf(({ url }) => {
    asked.push({ url, at: Date.now() });
    return Promise.resolve(verdicts.get(url) ?? answersVerdict);
  });
});

afterEach(async () => {
  await prober.close();
  vi.useRealTimers();
});

function proberOf(probe: Probe): Prober {
  const onChange = (keys: ReadonlySet<string>): void => void changes.push(...prober.namesOf(keys));
  return new Prober({ probe, intervalMs: INTERVAL_MS, log: pino({ level: 'silent' }), onChange, random: () => 0.5 });
}

function at(host: string): Address {
  return { is: 'address', url: `https://${host}.example/mcp`, transport: 'streamable-http', headers: {}, namespace: 'directory' };
}

function want(name: string, hosts: readonly string[], expected = false): void {
  prober.want(
    name,
    hosts.map((host) => ({ address: at(host), expected })),
  );
}

async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
}

function timesOf(host: string): readonly number[] {
  return asked.filter(({ url }) => url === at(host).url).map((one) => one.at - 1_000_000);
}

test('an address is asked at once, then every interval; records that share it share the answer', async () => {
  want('one', ['a']);
  want('two', ['a']);
  await pass(2.5 * INTERVAL_MS);
  expect(timesOf('a')).toEqual([0, INTERVAL_MS, 2 * INTERVAL_MS]);
  expect(changes).toEqual(['one', 'two']);
});

test('the same answer again is no change', async () => {
  want('one', ['a']);
  await pass(5 * INTERVAL_MS);
  verdicts.set(at('a').url, { ...answersVerdict, protocol: '2025-11-25' } as Verdict);
  await pass(INTERVAL_MS);
  expect(changes).toEqual(['one', 'one']);
});

test('an address that nobody wants any more is not asked again, and what it said is forgotten', async () => {
  want('one', ['a']);
  await pass(0);
  want('one', ['b']);
  await pass(INTERVAL_MS);
  expect(timesOf('a')).toEqual([0]);
  expect(prober.reach(at('a'))).toEqual({ is: 'unasked' });
});

test('a probe that is under way for an address that nobody wants any more is aborted', async () => {
  let aborted = false;
  prober = proberOf(
    (_address, signal) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => ((aborted = true), reject(signal.reason as Error)))),
  );
  want('one', ['a']);
  await pass(0);
  want('one', []);
  await pass(0);
  expect(aborted).toBe(true);
  expect(changes).toEqual([]);
});

test('a server that is not up yet is asked again soon, and hurrying asks it now', async () => {
  verdicts.set(at('a').url, refusedVerdict);
  want('one', ['a']);
  await pass(1600);
  expect(timesOf('a')).toEqual([0, 100, 300, 700, 1500]);
  expect(prober.nextProbeAt(at('a'))).toBe(1_000_000 + 1500 + 1600);
  prober.hurry('one');
  await pass(0);
  expect(timesOf('a').at(-1)).toBe(1600);
});

test('a server that stopped is doubtful for an interval, then silent', async () => {
  want('one', ['a']);
  await pass(0);
  verdicts.set(at('a').url, refusedVerdict);
  await pass(INTERVAL_MS * 1.9);
  expect(prober.reach(at('a')).is).toBe('doubtful');
  await pass(INTERVAL_MS * 0.2);
  expect(prober.reach(at('a')).is).toBe('silent');
});

test('servers that hang delay none that answer', async () => {
  prober = proberOf(({ url }, signal) => {
    asked.push({ url, at: Date.now() });
    if (url === at('good').url) return Promise.resolve(answersVerdict);
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
  });
  want('good', ['good']);
  await pass(0);
  for (let index = 0; index < 200; index += 1) want(`hangs-${index}`, [`hangs-${index}`]);
  await pass(3.5 * INTERVAL_MS);
  expect(timesOf('good')).toEqual([0, 1, 2, 3].map((round) => round * INTERVAL_MS));
});

test('servers that fail are asked 20 times a second at most, all together, and each of them again and again', async () => {
  for (let index = 0; index < 100; index += 1) {
    verdicts.set(at(`down-${index}`).url, refusedVerdict);
    want(`down-${index}`, [`down-${index}`]);
  }
  await pass(0);
  asked = [];
  await pass(20_000);
  expect(asked.length).toBeLessThanOrEqual(21 * 20);
  for (let index = 0; index < 100; index += 1) expect(timesOf(`down-${index}`).length).toBeGreaterThan(2);
});

test('when most servers stop at once, the operator says so and none becomes silent', async () => {
  const hosts = ['a', 'b', 'c', 'd'];
  want('all', hosts);
  await pass(0);
  for (const host of hosts) verdicts.set(at(host).url, refusedVerdict);
  await pass(4 * INTERVAL_MS);
  expect(prober.selfSuspicion).toBe(true);
  expect(hosts.map((host) => prober.reach(at(host)).is)).toEqual(['doubtful', 'doubtful', 'doubtful', 'doubtful']);
  for (const host of ['b', 'c', 'd']) verdicts.set(at(host).url, answersVerdict);
  await pass(4 * INTERVAL_MS);
  expect(prober.selfSuspicion).toBe(false);
  expect(prober.reach(at('a')).is).toBe('silent');
});

test('a probe that breaks is a failure like any other, and probing goes on', async () => {
  prober = proberOf(() => Promise.reject(new Error('a fault of ours')));
  want('one', ['a']);
  await pass(50);
  expect(prober.reach(at('a'))).toMatchObject({ is: 'doubtful', failure: { reason: 'ConnectionLost' } });
  expect(prober.nextProbeAt(at('a'))).toBeDefined();
});

test('keys tell which names depend on an address', () => {
  want('one', ['a', 'b']);
  want('two', ['b']);
  expect(prober.namesOf(new Set([targetKey(at('b')), 'unknown'])).toSorted()).toEqual(['one', 'two']);
});

test('a probe that ran out of time while this process could not run is no strike, five times in a row', async () => {
  let lost = true;
  await prober.close();
  prober = new Prober({
    probe: () =>
      new Promise((resolve) => {
        setTimeout(() => resolve({ is: 'fails', reason: 'TimedOut', message: 'too late' }), 100);
      }),
    intervalMs: INTERVAL_MS,
    log: pino({ level: 'silent' }),
    onChange: () => {},
    lostSince: (since) => (lost ? performance.now() - since : 0),
    random: () => 0.5,
  });
  want('one', ['a'], true);
  await pass(INTERVAL_MS);
  expect(prober.reach(at('a'))).toEqual({ is: 'unasked' });
  await pass(INTERVAL_MS);
  expect(prober.reach(at('a'))).toMatchObject({ is: 'doubtful' });
  lost = false;
  await pass(2 * INTERVAL_MS);
  expect(prober.reach(at('a'))).toMatchObject({ is: 'silent' });
});

test('of a server that never answered it is told at once, however busy this process is', async () => {
  await prober.close();
  prober = new Prober({
    probe: async () => ({ is: 'fails', reason: 'TimedOut', message: 'too late' }),
    intervalMs: INTERVAL_MS,
    log: pino({ level: 'silent' }),
    onChange: () => {},
    lostSince: () => Infinity,
    random: () => 0.5,
  });
  want('one', ['a']);
  await pass(0);
  expect(prober.reach(at('a'))).toMatchObject({ is: 'doubtful' });
});
