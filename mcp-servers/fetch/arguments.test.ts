import { describe, expect, test } from 'vitest';
import { parseArguments } from './arguments.ts';

const url = 'https://example.org';

function messageOf(input: unknown): string {
  const parsed = parseArguments(input);
  return parsed.ok ? 'accepted' : parsed.message;
}

test('defaults are 5000 code points from the start, simplified', () => {
  expect(parseArguments({ url })).toEqual({ ok: true, arguments: { url: new URL(url), maxLength: 5000, startIndex: 0, raw: false } });
});

test('what is not a parameter is ignored', () => {
  expect(messageOf(JSON.parse(`{"url":"${url}","timeout":5,"__proto__":{"raw":"no"}}`))).toBe('accepted');
});

describe('types are strict', () => {
  test.each([
    [{ url, max_length: '10' }, 'max_length\n  Input should be a valid integer'],
    [{ url, max_length: null }, 'max_length\n  Input should be a valid integer'],
    [{ url, max_length: 10.5 }, 'max_length\n  Input should be a valid integer'],
    [{ url, max_length: true }, 'max_length\n  Input should be a valid integer'],
    [{ url, max_length: 0 }, 'max_length\n  Input should be greater than or equal to 1'],
    [{ url, max_length: 1_000_000 }, 'max_length\n  Input should be less than or equal to 999999'],
    [{ url, start_index: -1 }, 'start_index\n  Input should be greater than or equal to 0'],
    [{ url, start_index: '0' }, 'start_index\n  Input should be a valid integer'],
    [{ url, raw: 'true' }, 'raw\n  Input should be a valid boolean'],
    [{ url, raw: 1 }, 'raw\n  Input should be a valid boolean'],
    [{}, 'url\n  Field required'],
    [{ url: 7 }, 'url\n  URL input should be a string or URL'],
    [{ url: '' }, 'url\n  Input should be a valid URL, with its scheme: https://…'],
    [{ url: 'example.org' }, 'url\n  Input should be a valid URL, with its scheme: https://…'],
    [{ url: 'http://' }, 'url\n  Input should be a valid URL, with its scheme: https://…'],
  ])('%j', (input, detail) => {
    expect(messageOf(input)).toBe(`1 validation error for fetchArguments\n${detail}`);
  });
});

test('a URL is limited in length', () => {
  expect(messageOf({ url: `${url}/${'a'.repeat(16_300)}` })).toBe('accepted');
  expect(messageOf({ url: `${url}/${'é'.repeat(6_000)}` })).toContain('URL should have at most 16384 characters, this one has 36');
});

test('every fault is reported at once', () => {
  expect(messageOf({ max_length: 0, raw: 'x' })).toMatch(/^3 validation errors for fetchArguments\nurl\n {2}Field required\nmax_length\n/);
});

test('the bounds themselves are accepted', () => {
  expect([1, 999_999].map((max_length) => messageOf({ url, max_length }))).toEqual(['accepted', 'accepted']);
});

test.each([null, undefined, [], 'x', 7])('arguments that are no object are a fault: %j', (input) => {
  expect(messageOf(input)).toMatch(/^1 validation error/);
});
