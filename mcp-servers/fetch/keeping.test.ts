import { describe, expect, test } from 'vitest';
import { hopOf, keepingOf, refreshed, type Hop } from './keeping.ts';

const HOUR = 3_600_000;
const url = new URL('https://site.test/page');
const hop = (headers: Record<string, string | string[]>, status = 200, personal = false): Hop =>
  hopOf(url, personal, { statusCode: status, headers });
const keeping = (...trail: readonly Hop[]) => keepingOf(trail, HOUR);
const ago = (ms: number): string => new Date(Date.now() - ms).toUTCString();

describe('how long a page is fresh', () => {
  test.each<[Record<string, string | string[]>, number]>([
    [{}, 0],
    [{ 'cache-control': 'max-age=60' }, 60_000],
    [{ 'cache-control': 'Public, Max-Age=60' }, 60_000],
    [{ 'cache-control': ['public', 'max-age=60'] }, 60_000],
    [{ 'cache-control': 'max-age=60, s-maxage=30' }, 30_000],
    [{ 'cache-control': 'max-age=60', age: '50' }, 10_000],
    [{ 'cache-control': 'max-age=60', age: '70' }, 0],
    [{ 'cache-control': 'max-age=31536000, immutable' }, HOUR],
    [{ 'cache-control': 'max-age=-5' }, 0],
    [{ 'cache-control': 'max-age=99999999999999999999' }, HOUR],
    [{ 'cache-control': 'no-cache, max-age=60' }, 0],
    [{ pragma: 'no-cache', expires: ago(-60_000) }, 0],
    [{ expires: '0' }, 0],
    [{ date: ago(0), expires: ago(60_000) }, 0],
    [{ 'cache-control': 'max-age=60', vary: 'Accept-Encoding, User-Agent' }, 60_000],
  ])('%j: %i ms', (headers, ms) => {
    expect(keeping(hop(headers))).toMatchObject({ for: 'everyone', freshMs: ms, partsMs: 300_000 });
  });

  test('by its Expires, and a tenth of its age where nothing is said', () => {
    expect(keeping(hop({ date: 'Mon, 30 Nov 2026 10:00:00 GMT', expires: 'Mon, 30 Nov 2026 10:02:00 GMT' })).freshMs).toBe(120_000);
    const modified = hop({ date: 'Mon, 30 Nov 2026 10:00:00 GMT', 'last-modified': 'Mon, 30 Nov 2026 09:50:00 GMT' });
    expect(keeping(modified).freshMs).toBe(60_000);
  });

  test('is as long as for the least fresh of the redirects that led to it', () => {
    const page = hop({ 'cache-control': 'max-age=600' });
    expect(keeping(hop({}, 302), page).freshMs).toBe(0);
    expect(keeping(hop({ 'cache-control': 'max-age=60' }, 302), page).freshMs).toBe(60_000);
    expect(keeping(hop({ 'cache-control': 'no-store' }, 302), page)).toMatchObject({ for: 'caller', freshMs: 0 });
  });
});

describe('what is for one caller only', () => {
  test.each<[Record<string, string>, boolean]>([
    [{ 'cache-control': 'max-age=60, private' }, false],
    [{ 'cache-control': 'max-age=60', 'set-cookie': 'a=1' }, false],
    [{ 'cache-control': 'max-age=60', vary: 'Accept, Cookie' }, false],
    [{ 'cache-control': 'max-age=60', vary: 'authorization' }, false],
    [{ 'cache-control': 'max-age=60' }, true],
  ])('%j, cookies or credentials sent: %j', (headers, personal) => {
    expect(keeping(hop(headers, 200, personal))).toMatchObject({ for: 'caller', freshMs: 60_000 });
    expect(keeping(hop(headers, 302, personal), hop({ 'cache-control': 'max-age=60' }))).toMatchObject({ for: 'caller' });
  });
});

describe('what is not to be stored serves the rest of its reading, for a minute and its caller, and is never asked about', () => {
  const etag = { etag: '"1"' };
  test.each<[Record<string, string>]>([
    [{ ...etag, 'cache-control': 'No-Store' }],
    [{ ...etag, 'cache-control': 'max-age=60, no-store' }],
    [{ ...etag, 'cache-control': `max-age=60, ${'x'.repeat(600)}` }],
    [{ ...etag, vary: '*', 'cache-control': 'max-age=60' }],
    [{ ...etag, vary: 'accept, *', 'cache-control': 'max-age=60' }],
  ])('%j', (headers) => {
    expect(keeping(hop(headers))).toEqual({ for: 'caller', freshMs: 0, partsMs: 60_000, conditions: undefined });
  });

  test('nor is an answer that nobody had asked about', () => {
    expect(keeping(hop(etag, 304)).conditions).toBeUndefined();
  });
});

test('a site is asked whether a page has changed by all that it gave to tell', () => {
  const modified = 'Mon, 30 Nov 2026 09:50:00 GMT';
  expect(keeping(hop({ etag: 'W/"1"', 'last-modified': modified })).conditions).toEqual({
    'if-none-match': 'W/"1"',
    'if-modified-since': modified,
  });
  expect(keeping(hop({ 'last-modified': modified })).conditions).toEqual({ 'if-modified-since': modified });
  expect(keeping(hop({})).conditions).toBeUndefined();
});

describe('an answer that a page has not changed', () => {
  const page = hop({ etag: 'W/"1"', 'cache-control': 'max-age=1' });

  test('renews what was said of it', () => {
    const after = refreshed(page, hop({ etag: '"1"', 'cache-control': 'max-age=100' }, 304));
    expect(after).toMatchObject({ status: 200, headers: { 'cache-control': 'max-age=100', etag: '"1"' } });
    expect(keeping(after ?? page).freshMs).toBe(100_000);
    expect(refreshed(page, hop({}, 304))).toMatchObject({ headers: page.headers });
  });

  test('is no answer when it is about another version', () => {
    expect(refreshed(page, hop({ etag: '"2"' }, 304))).toBeUndefined();
  });
});
