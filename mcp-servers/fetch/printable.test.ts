import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { printable, quoted, readable } from './printable.ts';

test.each([
  ['plain text, with "quotes"', 'plain text, with "quotes"'],
  ['two\r\nlines\tand a tab', String.raw`two\r\nlines\tand a tab`],
  ['\u001B[31mred\u009B0m\0', String.raw`\x1b[31mred\x9b0m\x00`],
  ['\u202Eabc\u2066\u200B\u2028\u00A0', String.raw`\u202eabc\u2066\u200b\u2028\xa0`],
  ['\uD83D \u{E0041}', String.raw`\ud83d \U000e0041`],
  ['é漢😀', 'é漢😀'],
])('%j is shown as %s', (text, shown) => {
  expect(printable(text, 100)).toBe(shown);
});

test('what is shown is printable, and little longer than allowed', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.nat(0xffff).map((code) => String.fromCharCode(code)), maxLength: 60 }), fc.nat(40), (text, most) => {
      const shown = printable(text, most);
      expect(shown).not.toMatch(/(?! )[\p{C}\p{Z}]/u);
      expect(shown.length).toBeLessThan(most * 6 + 40);
    }),
  );
});

test('what is cut says how much there was', () => {
  expect(printable('a'.repeat(1_000), 3)).toBe('aaa… (1000 characters)');
  expect(printable('aaa', 3)).toBe('aaa');
});

test.each([
  ['plain', `'plain'`],
  ["it's", `"it's"`],
  [`it's "both"\n\\`, String.raw`'it\'s "both"\n\\'`],
])('%j is quoted as Python does: %s', (text, shown) => {
  expect(quoted(text, 100)).toBe(shown);
});

describe('a text of many lines', () => {
  test.each([
    ['terminal escapes', 'a\u001B[31mb\u009Bc\0\u0007d\u007F', 'a[31mbcd'],
    ['overriding directions', 'a\u202Ecba\u202C\u2066x\u2069', 'acbax'],
    ['tags', 'a\u{E0049}\u{E007F}b', 'ab'],
    ['invisible characters', 'a\u200B\u2060\uFEFFb', 'ab'],
    ['selectors that carry data', 'a\uFE00\uFE01\u{E0100}b', 'a\uFE00b'],
    ['a line that writes over itself', 'safe\rrm', 'safe\nrm'],
  ])('is shown without %s', (_name, text, shown) => {
    expect(readable(text)).toBe(shown);
  });

  test.each(['tab\tand\nlines\r\n', 'e\u0301 👨\u200D👩\uFE0F', 'می\u200Cخواهم \u200Eltr\u200F', 'nb\u00A0sp'])(
    'keeps what scripts need: %j',
    (text) => {
      expect(readable(text)).toBe(text);
    },
  );
});
