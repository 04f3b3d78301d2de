import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Hosts, NoTurn, type HostsOptions } from './hosts.ts';

const url = new URL('https://site.test/page');
const START = Date.parse('2026-11-30T10:00:00Z');

beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'], now: START }));
afterEach(() => vi.useRealTimers());

const hostsWith = (some: Partial<HostsOptions> = {}): Hosts => new Hosts({ atOnce: 2, delayMs: 0, ...some });
const patient = (): AbortSignal => new AbortController().signal;

/** Enters and notes when: the ends of the turns, in the order in which they began. */
function entering(hosts: Hosts, count: number, at = url): (() => void)[] {
  const turns: (() => void)[] = [];
  for (let n = 0; n < count; n += 1) void hosts.enter(at, patient()).then((leave) => turns.push(leave));
  return turns;
}

/** Lets everything happen that needs no time. */
const settle = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);

describe('turns at one host', () => {
  test('are so many at once, and the next begins when one ends, however often it is told to', async () => {
    const hosts = hostsWith();
    const turns = entering(hosts, 4);
    await settle();
    expect(turns).toHaveLength(2);
    turns[0]?.();
    turns[0]?.();
    await settle();
    expect(turns).toHaveLength(3);
    turns[1]?.();
    await settle();
    expect(turns).toHaveLength(4);
  });

  test('do not hold up another host, or another port; both schemes are one', async () => {
    const hosts = hostsWith({ atOnce: 1 });
    const begun = ['https://a.test/', 'http://a.test/', 'https://a.test:8443/', 'https://b.test/'].map((href) =>
      entering(hosts, 1, new URL(href)),
    );
    await settle();
    expect(begun.map(({ length }) => length)).toEqual([1, 0, 1, 1]);
  });

  test('begin so far apart, if that is wished, also after everybody has left', async () => {
    const hosts = hostsWith({ atOnce: 3, delayMs: 1_000 });
    const turns = entering(hosts, 2);
    await settle();
    expect(turns).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(999);
    expect(turns).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(turns).toHaveLength(2);
    turns.forEach((leave) => leave());
    const later = entering(hosts, 1);
    await vi.advanceTimersByTimeAsync(999);
    expect(later).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(later).toHaveLength(1);
  });

  test('are given up by who leaves, and do not come too late', async () => {
    const waits: number[] = [];
    const hosts = hostsWith({ atOnce: 1, onTurn: (ms) => waits.push(ms) });
    const turns = entering(hosts, 1);
    const leave = new AbortController();
    const leaving = hosts.enter(url, leave.signal);
    const late = new AbortController();
    const hurried = hosts.enter(url, late.signal);
    const next = entering(hosts, 1);
    leave.abort(new Error('left'));
    late.abort(new DOMException('too late', 'TimeoutError'));
    await expect(leaving).rejects.toThrow('left');
    await expect(hurried).rejects.toThrow('no turn at site.test in time, which gets at most 1 requests at once: try again');
    await vi.advanceTimersByTimeAsync(250);
    turns[0]?.();
    await settle();
    expect(next).toHaveLength(1);
    expect(waits).toEqual([250]);
  });

  test('are not waited for by any number', async () => {
    const counts: number[] = [];
    const hosts = hostsWith({ atOnce: 1, onWaiting: (count) => counts.push(count) });
    entering(hosts, 513);
    await settle();
    await expect(hosts.enter(url, patient())).rejects.toMatchObject({ why: 'crowded' });
    expect(Math.max(...counts)).toBe(512);
  });
});

test('whatever comes and goes, no more are at one host than may be, and all get there', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 5 }),
      fc.array(fc.record({ lasts: fc.nat(50), leaves: fc.boolean() }), { maxLength: 40 }),
      async (atOnce, visits) => {
        const hosts = hostsWith({ atOnce });
        let inside = 0;
        let been = 0;
        const all = visits.map(async ({ lasts, leaves }) => {
          const signal = leaves ? new AbortController() : undefined;
          if (signal !== undefined) setTimeout(() => signal.abort(new Error('left')), lasts);
          const leave = await hosts.enter(url, signal?.signal ?? patient());
          inside += 1;
          been += 1;
          expect(inside).toBeLessThanOrEqual(atOnce);
          await new Promise((resolve) => setTimeout(resolve, lasts));
          inside -= 1;
          leave();
        });
        const settled = Promise.allSettled(all);
        await vi.advanceTimersByTimeAsync(50 * 50);
        const outcomes = await settled;
        expect(been).toBeGreaterThanOrEqual(visits.filter(({ leaves }) => !leaves).length);
        expect(outcomes.every((outcome) => outcome.status === 'fulfilled' || (outcome.reason as Error).message === 'left')).toBe(true);
      },
    ),
    { numRuns: 50 },
  );
});

describe('a host that asks to be left alone', () => {
  const told = async (hosts: Hosts, at = url): Promise<string> =>
    hosts.enter(at, patient()).then(
      (leave) => {
        leave();
        return 'admitted';
      },
      (error: Error) => (error instanceof NoTurn ? error.message : String(error)),
    );

  test.each([
    [429, '30', 30],
    [503, ' 30 ', 30],
    [503, 'Mon, 30 Nov 2026 10:00:30 GMT', 30],
    [429, '86400', 600],
    [429, '9'.repeat(400), 600],
  ])('%i with Retry-After %.40s is left alone for %i s', async (status, retryAfter, seconds) => {
    const hosts = hostsWith();
    hosts.answered(url, status, retryAfter);
    const until = new Date(START + seconds * 1_000).toISOString().replace('.000', '');
    const refusal = `site.test answered ${status} and is left alone until ${until}: try again in ${seconds} s`;
    expect(hosts.advice(url)).toBe(`; ${refusal}`);
    expect(await told(hosts)).toBe(refusal);
    expect(await told(hosts, new URL('https://other.test/'))).toBe('admitted');
    await vi.advanceTimersByTimeAsync(seconds * 1_000 - 1);
    expect(await told(hosts)).toContain('try again in 1 s');
    await vi.advanceTimersByTimeAsync(1);
    expect(await told(hosts)).toBe('admitted');
    expect(hosts.advice(url)).toBe('');
  });

  test.each([
    [200, '30'],
    [404, '30'],
    [301, '30'],
    [503, undefined],
    [429, '0'],
    [429, 'soon'],
    [429, '-5'],
    [503, 'Mon, 30 Nov 2020 10:00:00 GMT'],
  ])('%i with Retry-After %s asks for nothing', async (status, retryAfter) => {
    const hosts = hostsWith();
    hosts.answered(url, status, retryAfter);
    expect(await told(hosts)).toBe('admitted');
  });

  test('those who wait for it are told at once', async () => {
    const hosts = hostsWith({ atOnce: 1 });
    entering(hosts, 1);
    await settle();
    const waiting = told(hosts);
    hosts.answered(url, 429, '30');
    expect(await waiting).toContain('site.test answered 429');
  });
});
