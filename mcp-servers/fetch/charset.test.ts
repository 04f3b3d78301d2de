import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeText, type Encoded } from './charset.ts';

function decode(bytes: Uint8Array | number[] | string, some: Partial<Encoded> = {}): string {
  const given = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : Uint8Array.from(bytes);
  return decodeText({ bytes: given, complete: true, kind: 'html', charset: undefined, ...some });
}

const utf8 = (text: string): string => Buffer.from(text).toString('latin1');

describe('what decides, in this order', () => {
  test('a byte order mark, over everything', () => {
    expect(decode([0xff, 0xfe, 0x68, 0x00, 0xe9, 0x00], { charset: 'utf-8' })).toBe('hé');
    expect(decode([0xfe, 0xff, 0x00, 0x68, 0x00, 0xe9], { kind: 'text' })).toBe('hé');
    expect(decode(`\u00EF\u00BB\u00BF<meta charset=koi8-r>${utf8('é')}`, { charset: 'windows-1251' })).toBe('<meta charset=koi8-r>é');
  });

  test('Content-Type, over what the page says of itself', () => {
    expect(decode('<meta charset=utf-8>\u00CF\u00F0', { charset: 'windows-1251' })).toBe('<meta charset=utf-8>Пр');
    expect(decode('\u00CF\u00F0', { charset: 'windows-1251', kind: 'text' })).toBe('Пр');
  });

  test('the page itself', () => {
    expect(decode('<meta charset=windows-1251>\u00CF\u00F0')).toBe('<meta charset=windows-1251>Пр');
    expect(decode('<meta http-equiv="Content-Type" content="text/html; charset=koi8-r">\u00F0')).toMatch(/П$/);
    expect(decode('<?xml version="1.0" encoding="iso-8859-2"?><a>\u00B1</a>', { kind: 'xml' })).toMatch(/ą<\/a>$/);
  });

  test('the bytes, when nothing is said', () => {
    expect(decode(utf8('naïve “quotes”'))).toBe('naïve “quotes”');
    expect(decode('na\u00EFve \u0093quotes\u0094', { kind: 'text' })).toBe('naïve “quotes”');
  });

  test('an unknown label is no label', () => {
    expect(decode(utf8('é'), { charset: 'utf-9', kind: 'text' })).toBe('é');
    expect(decode(utf8('é'), { charset: 'hz-gb-2312' })).toBe('é');
  });
});

test('iso-8859-1 means windows-1252, as in browsers', () => {
  expect(decode('\u0093x\u0094 \u0080', { charset: 'iso-8859-1' })).toBe('“x” €');
});

test('Korean and Hong Kong characters beyond the base sets are read', () => {
  expect(decode([0x8c, 0x63], { charset: 'euc-kr' })).toBe('똠');
  expect(decode([0x88, 0x62, 0x87, 0x40], { charset: 'big5' })).toBe('Ê̄䏰');
});

test('bytes that are no characters become U+FFFD', () => {
  expect(decode([0x61, 0xff, 0x62], { charset: 'utf-8' })).toBe('a\uFFFDb');
});

test('UTF-8 that was cut within a character is still UTF-8', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme-composite', minLength: 2, maxLength: 20 }), (text) => {
      const bytes = Buffer.from(`é${text}`);
      for (let end = 2; end <= bytes.length; end += 1) {
        const decoded = decodeText({ bytes: bytes.subarray(0, end), complete: false, kind: 'text', charset: undefined });
        expect(`é${text}`.startsWith(decoded.replace(/\uFFFD+$/, ''))).toBe(true);
      }
    }),
  );
});

test('any bytes under any label decode to something', () => {
  const label = fc.oneof(
    fc.string(),
    fc.constantFrom('utf-16le', 'shift_jis', 'iso-2022-jp', 'gb18030', 'x-user-defined', 'replacement', 'utf-7'),
  );
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 64 }),
      label,
      fc.constantFrom('html' as const, 'xml' as const, 'text' as const),
      (bytes, charset, kind) => {
        expect(decodeText({ bytes, complete: true, kind, charset }).isWellFormed()).toBe(true);
      },
    ),
  );
});
