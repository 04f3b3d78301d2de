import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { advancingClock, formatTime, parseTime } from './time.ts';

const micros = fc.integer({ min: 0, max: 4_000_000_000_000_000 });

test('a time that was written is read back, to the microsecond', () => {
  fc.assert(
    fc.property(micros, (time) => {
      expect(parseTime(formatTime(time))).toBe(time);
    }),
  );
});

test('trailing zeros of the fraction are not written', () => {
  expect([0, 500_000, 1, 1_000_000].map(formatTime)).toEqual([
    '1970-01-01T00:00:00Z',
    '1970-01-01T00:00:00.5Z',
    '1970-01-01T00:00:00.000001Z',
    '1970-01-01T00:00:01Z',
  ]);
});

test('offsets count, fractions are cut after microseconds', () => {
  expect(parseTime('1970-01-01T02:00:00+02:00')).toBe(0);
  expect(parseTime('1969-12-31T23:30:00-00:30')).toBe(0);
  expect(parseTime('1970-01-01T00:00:00.0000019Z')).toBe(1);
});

test.each([
  '',
  '1970-01-01',
  '1970-01-01T00:00:00',
  '1970-01-01T24:00:00Z',
  '1970-01-01T00:00:60Z',
  '1970-02-30T00:00:00Z',
  '1970-01-01t00:00:00z',
  '1970-01-01T00:00:00+25:00',
])('"%s" is no time', (text) => expect(parseTime(text)).toBeUndefined());

test('no two readings of the clock are alike, even when the machine steps back', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 10_000 })), micros, (readings, before) => {
      const left = [...readings];
      const clock = advancingClock(before, () => left.shift() ?? 0);
      let last = before;
      for (const _ of readings) {
        const now = clock();
        expect(now).toBeGreaterThan(last);
        last = now;
      }
    }),
  );
});
