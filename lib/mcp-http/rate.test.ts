import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { CallRate } from './rate.ts';

test('a caller may make the calls of a minute at once, and then as many as are made up for', () => {
  let now = 5_000;
  const rate = new CallRate(4, () => now);
  expect(Array.from({ length: 4 }, () => rate.take('alice'))).toEqual([0, 0, 0, 0]);
  expect(rate.take('alice')).toBe(15_000);
  expect(rate.take('bob')).toBe(0);
  now += 14_000;
  expect(rate.take('alice')).toBeCloseTo(1_000);
  now += 1_000;
  expect([rate.take('alice'), rate.take('alice')]).toEqual([0, 15_000]);
});

test('whoever waits as long as told gets through, and never more than a minute and its refill in any time', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1_000 }), fc.array(fc.nat(20_000), { maxLength: 200 }), (perMinute, pauses) => {
      let now = 0;
      let admitted = 0;
      const rate = new CallRate(perMinute, () => now);
      for (const pause of pauses) {
        now += pause;
        const waitMs = rate.take('someone');
        now += waitMs;
        // rounding may leave it a hair short
        const again = waitMs > 0 ? rate.take('someone') : 0;
        expect(again).toBeLessThan(0.001);
        if (again === 0) admitted += 1;
        expect(admitted).toBeLessThanOrEqual(perMinute + (now * perMinute) / 60_000 + 1e-6);
      }
    }),
  );
});
