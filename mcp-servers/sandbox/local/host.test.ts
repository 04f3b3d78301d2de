import { expect, test } from 'vitest';
import { firstGuestUid } from './host.ts';

test('guests get users from a range that nobody else has', () => {
  expect(firstGuestUid('         0          0 4294967295\n')).toBe(1_900_000_000);
});

test('in a container with fewer users they get the highest there are', () => {
  expect(firstGuestUid('         0     100000      65536\n')).toBe(61_440);
  expect(firstGuestUid('0 1000 1\n1 100000 65536\n')).toBe(61_441);
});

test('never root', () => {
  expect(firstGuestUid('0 1000 1\n')).toBe(1);
});
