import { expect, test } from 'vitest';
import { reasonOf } from './mcp.ts';

test('a failure is told down to its innermost reason, and nothing twice', () => {
  const refused = new Error('connect ECONNREFUSED 127.0.0.1:9000');
  const failed = new TypeError('fetch failed', { cause: refused });
  expect(reasonOf(failed)).toBe('fetch failed: connect ECONNREFUSED 127.0.0.1:9000');
  expect(reasonOf(new Error('probe failed: fetch failed', { cause: failed }))).toBe(
    'probe failed: fetch failed: connect ECONNREFUSED 127.0.0.1:9000',
  );
  expect(reasonOf(new Error('fetch failed', { cause: failed }))).toBe('fetch failed: connect ECONNREFUSED 127.0.0.1:9000');
});

test('of several addresses that were tried in vain one reason is told', () => {
  const both = new AggregateError([new Error('connect ECONNREFUSED ::1:9000'), new Error('connect ECONNREFUSED 127.0.0.1:9000')]);
  expect(reasonOf(new TypeError('fetch failed', { cause: both }))).toBe('fetch failed: connect ECONNREFUSED ::1:9000');
});

test('what has no words is told by its name', () => {
  expect(reasonOf(new RangeError())).toBe('RangeError');
  expect(reasonOf('no error at all')).toBe('no error at all');
});
