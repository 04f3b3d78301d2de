import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { cleanPath, decodeAgain, percentDecode, queryValue, targetOf } from './target.ts';

const text = fc.string({ unit: 'binary' });

test('text that was escaped once or twice comes back after as many rounds', () => {
  fc.assert(
    fc.property(text, (original) => {
      fc.pre(original.isWellFormed());
      const once = percentDecode(encodeURIComponent(encodeURIComponent(original)));
      expect(once.ok && decodeAgain(once.text)).toEqual({ ok: true, text: original });
      expect(queryValue(`a=1&b=${encodeURIComponent(original)}`, 'b')).toEqual({ ok: true, text: original });
    }),
  );
});

test('a target may be absolute', () => {
  expect(targetOf('http://host:1/a%2Fb?c=d?e')).toEqual({ path: '/a%2Fb', query: 'c=d?e' });
  expect(targetOf('http://host?x')).toEqual({ path: '/', query: 'x' });
  expect(targetOf('/a')).toEqual({ path: '/a', query: undefined });
});

test.each([
  ['a=1&a=2', '1'],
  ['b=1', ''],
  ['a', 'true'],
  ['x=1&a', 'true'],
  ['a&x=1', ''],
  ['a=', ''],
  ['a=%zz', ''],
  ['%61=1', '1'],
  ['a=b+c%2Bd', 'b c+d'],
  ['a=b=c', 'b=c'],
  [undefined, ''],
])('the value of a in "%s" is "%s"', (query, value) => {
  expect(queryValue(query, 'a')).toEqual({ ok: true, text: value });
});

test('a query of many bare names is read in time that grows with its length, not with its square', () => {
  const query = `${'a&'.repeat(200_000)}x=1`;
  const started = performance.now();
  expect(queryValue(query, 'a')).toEqual({ ok: true, text: '' });
  expect(performance.now() - started).toBeLessThan(5000);
});

test('a cleaned path stays on this host, and is clean', () => {
  const segment = fc.oneof(fc.constantFrom('', '.', '..', 'a', '%2F', '%2e%2e'), fc.string({ maxLength: 3 }));
  fc.assert(
    fc.property(fc.array(segment, { maxLength: 6 }), (segments) => {
      const cleaned = cleanPath(`/${segments.join('/')}`);
      expect(cleaned).toMatch(/^\/(?!\/)/);
      expect(cleaned).not.toMatch(/\/\/|\/\.{1,2}(\/|$)/);
      expect(cleanPath(cleaned)).toBe(cleaned);
    }),
  );
});
