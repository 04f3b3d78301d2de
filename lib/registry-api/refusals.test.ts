import { expect, test } from 'vitest';
import { refusalOf, retryAfterOf } from './refusals.ts';

const problem = (detail: string, ...messages: string[]) => ({ title: 't', detail, errors: messages.map((message) => ({ message })) });

test.each([
  [400, problem('Failed to publish server', 'invalid version: cannot publish duplicate version: a/b@1 already exists'), 'duplicate'],
  [400, problem('Failed to publish server', 'invalid version: cannot publish duplicate version'), 'duplicate'],
  [400, problem('No changes to apply: status and message are already set to the provided values'), 'no-change'],
  [400, problem('No changes to apply: all versions already have the requested status and message'), 'no-change'],
  [400, problem('Failed to publish server', '_meta.x extension exceeds 4KB limit (4097 bytes)'), 'invalid'],
  [400, problem('Failed to publish server', 'remote URL https://a is already used by server b/c'), 'refused'],
  [400, problem('Cannot rename server'), 'refused'],
  [401, problem('Invalid or expired Registry JWT token'), 'unauthorized'],
  [403, problem('You do not have permission to publish this server'), 'forbidden'],
  [404, problem('Server not found'), 'not-found'],
  [404, problem('Server version not found'), 'not-found'],
  [404, { error: 'not here' }, 'not-found'],
  [404, problem('Endpoint not found. See /docs for the API documentation.'), 'protocol'],
  [404, undefined, 'protocol'],
  [404, 'text', 'protocol'],
  [408, problem('request body read timeout'), 'timeout'],
  [409, undefined, 'duplicate'],
  [413, problem('request body is too large limit=1048576 bytes'), 'refused'],
  [422, problem('validation failed', 'unexpected property'), 'invalid'],
  [429, undefined, 'rate-limited'],
  [500, problem('Failed to get registry list'), 'unavailable'],
  [503, undefined, 'unavailable'],
  [302, undefined, 'protocol'],
])('HTTP %i %j means %s', (status, body, code) => {
  const error = refusalOf({ status, body, action: 'publish a/b@1' });
  expect(error).toMatchObject({ name: 'RegistryError', code, status });
  expect(error.message).toContain('publish a/b@1');
});

test('the message carries the registry’s own words, bounded and without control characters', () => {
  const { message } = refusalOf({ status: 400, body: problem(`one\n\u001b[31m${'x'.repeat(5000)}`), action: 'edit' });
  expect(message).toContain('one [31mxxx');
  expect(message.length).toBeLessThan(1200);
});

test('what a registry says of a document can be shown: few faults, of bounded length, with nothing that a terminal obeys', () => {
  const hostile = `\u001b[2J\u009b31m\u202e${'x'.repeat(5000)}`;
  const errors = Array.from({ length: 10_000 }, () => ({ message: hostile, location: `body.${hostile}`, value: hostile }));
  const { message, faults = [] } = refusalOf({ status: 422, body: { detail: hostile, errors }, action: 'publish' });
  expect(faults.length).toBe(500);
  const texts = [message, ...faults.flatMap((fault) => [fault.path, fault.message])];
  expect(texts.filter((text) => /\p{C}/u.test(text) || text.length > 2000)).toEqual([]);
  expect(faults.every(({ value }) => value === undefined)).toBe(true);
});

test('the faults of a refused document carry their paths', () => {
  const errors = [
    { message: 'expected length >= 1', location: 'body.title', value: '' },
    { message: 'expected object', location: 'body' },
    { message: 'unexpected property', location: 'body.packages[0].x' },
    { message: 'unexpected property', location: 'body.' },
  ];
  expect(refusalOf({ status: 422, body: { detail: 'validation failed', errors }, action: 'publish' }).faults).toMatchObject([
    { stage: 'input', path: 'title', message: 'expected length >= 1', value: '' },
    { path: '', message: 'expected object' },
    { path: 'packages[0].x' },
    { path: '""' },
  ]);
});

test('an odd body is no reason to lose the status', () => {
  for (const body of [{ detail: 5 }, { errors: 'x' }, { errors: [5] }, [], null]) {
    expect(refusalOf({ status: 422, body, action: 'publish' })).toMatchObject({ code: 'invalid', status: 422, faults: undefined });
  }
});

test.each([
  ['3', 3000],
  ['0', 0],
  [' 1.5 ', 1500],
  ['Thu, 01 Jan 1970 00:01:40 GMT', 90_000],
  ['Thu, 01 Jan 1970 00:00:01 GMT', 0],
  ['soon', undefined],
  ['', undefined],
  [undefined, undefined],
  ['-5', 0],
])('Retry-After %s is %s ms at 10 s', (header, ms) => {
  expect(retryAfterOf(header, 10_000)).toBe(ms);
});
