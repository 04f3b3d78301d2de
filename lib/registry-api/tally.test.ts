import { expect, test } from 'vitest';
import { isTooMuch, nothing, tallied } from './tally.ts';

const unreadable = { fault: 'it is of another shape' };

/** Pages of so many records and characters until they are too much. */
function pagesRead(records: number, characters: number): number {
  const page = { records: [], unreadable: Array.from({ length: records }, () => unreadable), characters };
  let read = nothing;
  for (let pages = 0; ; pages += 1) {
    if (isTooMuch(read)) return pages;
    read = tallied(read, page);
  }
}

test('a list of any real registry is read to its end', () => {
  expect(pagesRead(100, 200_000)).toBeGreaterThan(2000);
});

test('a list that does not end is left, however large or empty its pages are', () => {
  expect(pagesRead(100, 16_000_000)).toBeLessThan(40);
  expect(pagesRead(10_000, 1)).toBeLessThan(30);
  expect(pagesRead(0, 1)).toBeLessThan(200);
});
