import { expect, test } from 'vitest';
import { parseJson } from './json.ts';

test('what is no JSON is nothing, and so is told from null', () => {
  for (const text of ['', '{', 'undefined', 'NaN', "'a'", '[1,]']) expect(parseJson(text)).toBeUndefined();
  expect(parseJson('null')).toBeNull();
  expect(parseJson(' {"a":[1]} ')).toEqual({ a: [1] });
});
