import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { afterProbe, judge, nextProbeIn, reachOf, STRIKES, unasked, type Answer, type AuthRequired, type Verdict } from './answers.ts';
import { answersVerdict, refusedVerdict } from './testing/world.ts';

const INTERVAL = 10_000;
const pace = { intervalMs: INTERVAL };
const MINUTE = 60_000;

function after(verdicts: readonly Verdict[], { expected = false, from = 0, step = 1000 } = {}): Answer {
  return verdicts.reduce<Answer>((answer, verdict, index) => afterProbe(answer, verdict, from + index * step), { ...unasked, expected });
}

const fine = after([answersVerdict]);
const [yes, no] = [answersVerdict, refusedVerdict];

function silentOf(answers: Record<string, Answer>): readonly string[] {
  return [...judge(new Map(Object.entries(answers)), pace).silent];
}

test('three failures in a row make a server silent, an answer between starts the count anew', () => {
  expect(silentOf({ a: after([yes, no, no]) })).toEqual([]);
  expect(silentOf({ a: after([yes, no, no, no]) })).toEqual(['a']);
  expect(silentOf({ a: after([yes, no, no, yes, no, no]) })).toEqual([]);
});

test('until then its last good answer stands', () => {
  const answer = after([yes, no, no]);
  expect(reachOf(answer, false)).toEqual({ is: 'doubtful', failure: no, good: yes });
  expect(reachOf(after([yes, no, no, no]), true)).toEqual({ is: 'silent', failure: no });
});

test('when more than half, and at least three, stop together, none of them is silent', () => {
  const down = after([yes, no, no, no]);
  const fresh = after([yes, yes, yes, yes]);
  const together = { a: down, b: down, c: down };
  expect(judge(new Map(Object.entries(together)), pace)).toEqual({ silent: new Set(), selfSuspicion: true });
  expect(silentOf({ ...together, d: fresh, e: fresh })).toEqual([]);
  expect(silentOf({ ...together, d: fresh, e: fresh, f: fresh })).toEqual(['a', 'b', 'c']);
  expect(silentOf({ a: down, b: down })).toEqual(['a', 'b']);
});

test('those that stopped long before, and those that never answered, are no evidence', () => {
  const before = after([yes, ...Array.from({ length: 9 }, () => no)], { from: -10 * MINUTE });
  const never = after([no, no, no, no]);
  const down = after([yes, no, no, no]);
  const fresh = after([yes, yes, yes, yes]);
  expect(silentOf({ old: before, never, a: down, d: fresh })).toEqual(['old', 'never', 'a']);
});

test('nothing is decided while servers that were not asked since could still be down too', () => {
  const down = after([yes, no, no, no], { from: INTERVAL });
  const notYetAsked = after([yes]);
  expect(silentOf({ a: down, b: notYetAsked, c: notYetAsked })).toEqual([]);
  const asked = after([yes, yes], { step: 2 * INTERVAL });
  expect(silentOf({ a: down, b: asked, c: notYetAsked })).toEqual(['a']);
});

test('after a restart, records that were published are expected to answer', () => {
  const down = after([no, no, no], { expected: true });
  expect(judge(new Map([1, 2, 3].map((key) => [String(key), down])), pace).selfSuspicion).toBe(true);
});

test('suspicion ends when enough of them answer again: the others are then silent', () => {
  const down = after([yes, no, no, no]);
  const back = after([yes, no, no, no, yes]);
  expect(silentOf({ a: down, b: back, c: back, d: back })).toEqual(['a']);
});

test('three strikes take about one interval, a server that is not up yet is asked again within a quarter of one', () => {
  const at = (answer: Answer, now: number) => nextProbeIn(answer, pace, { now, random: 0.5 });
  expect(at(fine, 0)).toBe(INTERVAL);
  expect(at(after([yes, no]), 0) + at(after([yes, no, no]), 0)).toBe(INTERVAL);
  expect(at(after([no]), 0)).toBe(100);
  const long = after(Array.from({ length: 20 }, () => no));
  expect(at(long, 4 * MINUTE)).toBe(INTERVAL / 4);
  expect(at(long, 6 * MINUTE)).toBe(4 * INTERVAL);
});

test('a server whose credentials cannot be had is asked again within a quarter of an interval, one that refused them after a whole one', () => {
  const wait = (credentials?: AuthRequired['credentials']) => {
    const verdict: Verdict = { is: 'auth-required', status: 401, ...(credentials !== undefined && { credentials }) };
    return nextProbeIn(after([verdict]), pace, { now: 0, random: 0.5 });
  };
  for (const lacking of ['missing', 'forbidden', 'withheld', 'elsewhere'] as const) expect(wait(lacking)).toBe(INTERVAL / 4);
  for (const told of ['refused', undefined] as const) expect(wait(told)).toBe(INTERVAL);
});

test('whatever happened, the next probe comes, neither at once nor later than four intervals', () => {
  const verdicts = fc.array(fc.constantFrom(yes, no), { maxLength: 100 });
  const property = fc.property(verdicts, fc.nat(10 * MINUTE), fc.double({ min: 0, max: 0.999, noNaN: true }), (history, passed, random) => {
    const wait = nextProbeIn(after(history), pace, { now: history.length * 1000 + passed, random });
    expect(wait).toBeGreaterThanOrEqual(90);
    expect(wait).toBeLessThanOrEqual(4.4 * INTERVAL);
  });
  fc.assert(property);
});

test('only those with three strikes are ever silent', () => {
  const server = fc.record({ history: fc.array(fc.constantFrom(yes, no), { minLength: 1, maxLength: 8 }), from: fc.nat(3 * INTERVAL) });
  const property = fc.property(fc.array(server, { maxLength: 8 }), (servers) => {
    const answers = new Map(servers.map(({ history, from }, index) => [String(index), after(history, { from, step: INTERVAL / 2 })]));
    for (const key of judge(answers, pace).silent) expect(answers.get(key)?.failures).toBeGreaterThanOrEqual(STRIKES);
  });
  fc.assert(property);
});
