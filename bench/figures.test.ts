import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { quantile, spreadOf } from './figures.ts';

const values = fc.array(fc.nat(), { minLength: 1 });

test('the median has as many values at or below it as at or above it', () => {
  fc.assert(
    fc.property(values, (some) => {
      const { median } = spreadOf(some);
      expect(some.filter((value) => value <= median).length * 2).toBeGreaterThanOrEqual(some.length);
      expect(some.filter((value) => value >= median).length * 2).toBeGreaterThanOrEqual(some.length);
    }),
  );
});

test('a quantile grows with its share, from the least value to the largest', () => {
  fc.assert(
    fc.property(values, (some) => {
      const shares = [0, 0.25, 0.5, 0.99, 1].map((share) => quantile(some, share));
      expect(shares).toEqual(shares.toSorted((a, b) => a - b));
      expect([shares[0], shares.at(-1)]).toEqual([Math.min(...some), Math.max(...some)]);
    }),
  );
});

test('the order of the rounds does not matter', () => {
  expect(spreadOf([9, 1, 5])).toEqual({ min: 1, median: 5, max: 9 });
  expect(spreadOf([4, 1, 2, 3]).median).toBe(2.5);
});

test('nothing measured is no figure', () => {
  expect(() => spreadOf([])).toThrow(RangeError);
});
