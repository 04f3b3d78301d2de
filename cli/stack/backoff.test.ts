import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { afterDeath } from './backoff.ts';

test('a part that refuses its settings is not started again with the same ones', () => {
  expect(afterDeath({ by: 2, ranMs: 100, before: 0, wasEverReady: false })).toMatchObject({ do: 'give up', settings: true });
});

test('a part that never became ready is given up after four deaths, not before', () => {
  expect(afterDeath({ by: 1, ranMs: 100, before: 2, wasEverReady: false })).toMatchObject({ do: 'restart' });
  expect(afterDeath({ by: 1, ranMs: 100, before: 3, wasEverReady: false })).toMatchObject({ do: 'give up', settings: false });
});

test('a part that was ready once is restarted for ever, after half a second to half a minute', () => {
  fc.assert(
    fc.property(fc.nat(1_000), fc.nat(3_600_000), fc.constantFrom(0, 1, 2, 137, 'SIGKILL' as const), (before, ranMs, by) => {
      const plan = afterDeath({ by, ranMs, before, wasEverReady: true });
      if (plan.do !== 'restart') throw new Error(plan.why);
      expect(plan.delayMs).toBeGreaterThanOrEqual(500);
      expect(plan.delayMs).toBeLessThanOrEqual(30_000);
    }),
  );
});

test('each death in a row waits twice as long; a minute of life starts again at half a second', () => {
  expect(afterDeath({ by: 1, ranMs: 10, before: 2, wasEverReady: true })).toEqual({ do: 'restart', delayMs: 2_000, deaths: 3 });
  expect(afterDeath({ by: 1, ranMs: 60_000, before: 6, wasEverReady: true })).toEqual({ do: 'restart', delayMs: 500, deaths: 1 });
});
