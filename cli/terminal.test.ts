import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { safe, table } from './terminal.ts';

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
