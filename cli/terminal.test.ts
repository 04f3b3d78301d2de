import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { safe, table, wrap } from './terminal.ts';

test('text of others cannot move the cursor, repaint or add lines', () => {
  expect(safe('\u001b[2J\u001b[31mred\u001b[0m\nnext\rover\u0007')).toBe('red next over ');
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(safe(text)).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
      expect(safe(text, { lines: true })).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
    }),
  );
});

test('lines and tabs of a result stay where they are wanted', () => {
  expect(safe('a\n\tb\u001b]0;title\u0007', { lines: true })).toBe('a\n\tb');
});

test('columns are aligned whatever their colour, and no line ends in blanks', () => {
  expect(
    table([
      ['\u001b[32mab\u001b[39m', 'x'],
      ['abcd', 'y'],
      ['e', ''],
    ]),
  ).toEqual(['\u001b[32mab\u001b[39m    x', 'abcd  y', 'e']);
});

test('a long line is broken between words and goes on indented; nothing is lost and nothing is too wide', () => {
  expect(wrap('14:00:00  name  some words that go on', 20, 4)).toEqual(['14:00:00  name  some', '    words that go on']);
  expect(wrap('aaaaaaaaaa bb', 5, 2)).toEqual(['aaaaaaaaaa', '  bb']);
  const words = fc.array(fc.stringMatching(/^[a-z]{1,12}$/), { minLength: 1 });
  fc.assert(
    fc.property(words, fc.integer({ min: 20, max: 60 }), fc.nat(7), (given, columns, hang) => {
      const lines = wrap(given.join(' '), columns, hang);
      expect(lines.flatMap((line) => line.trim().split(' '))).toEqual(given);
      for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns);
    }),
  );
});
