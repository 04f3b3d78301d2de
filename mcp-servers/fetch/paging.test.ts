import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { pageOf, partOf } from './paging.ts';

const more = /\n\n<error>Content truncated\. Call the fetch tool with a start_index of (\d+) to get more content\.<\/error>$/;

test('following the announced positions reads the whole text once, whatever it consists of', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }), fc.integer({ min: 1, max: 20 }), (text, size) => {
      let read = '';
      for (let next: number | undefined = 0; next !== undefined;) {
        const page: string = pageOf(text, next, size);
        const match = more.exec(page);
        read += match === null ? page : page.slice(0, match.index);
        next = match === null ? undefined : Number(match[1]);
      }
      expect(read).toBe(text);
    }),
  );
});

test('a page holds as many code points as asked for', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', minLength: 8, maxLength: 60 }),
      fc.nat(30),
      fc.integer({ min: 1, max: 30 }),
      (text, start, size) => {
        const points = Array.from(text);
        const expected = points.length > start ? points.slice(start, start + size).join('') : '<error>No more content available.</error>';
        const page = pageOf(text, start, size);
        expect(page.replace(more, '')).toBe(expected);
        expect(more.test(page)).toBe(start + size < points.length);
      },
    ),
  );
});

test('an emoji at the boundary is never cut', () => {
  expect(pageOf('ab😀cd', 0, 3)).toMatch(/^ab😀\n\n<error>/);
  expect(pageOf('ab😀cd', 3, 3)).toBe('cd');
});

test('an empty text has no content, and no more', () => {
  expect(pageOf('', 0, 10)).toBe('<error>No more content available.</error>');
});

test('parts in numbers are the pages without their notes, and make up the whole text', () => {
  const text = 'a😀é'.repeat(5);
  expect(partOf(text, 0, 4)).toEqual({ text: 'a😀éa', total: 15, next: 4 });
  expect(partOf(text, 12, 4)).toEqual({ text: 'a😀é', total: 15 });
  expect(partOf(text, 99, 4)).toEqual({ text: '', total: 15 });
});
