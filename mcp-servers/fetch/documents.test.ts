import * as fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { documentKey, Documents, unchanged, type Document, type Wish } from './documents.ts';
import { hopOf } from './keeping.ts';

const MIB = 1024 * 1024;

let now: number;
beforeEach(() => {
  now = 1_000;
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => vi.useRealTimers());

const wish = (some: Partial<Wish> = {}): Wish => ({ document: 'page', principal: 'alice', continuing: false, ...some });

function document(headers: Record<string, string>, text = 'text', lasting = true): Document {
  const trail = [hopOf(new URL('https://site.test/'), false, { statusCode: 200, headers })];
  return { page: { text, prefix: '', url: 'https://example.org/', type: 'text/plain', about: {} }, trail, status: 200, lasting };
}

const documents = (maxBytes = MIB): Documents => new Documents({ maxBytes, maxFreshMs: 3_600_000, now: () => now });
const pass = (ms: number): void => {
  now += ms;
  vi.advanceTimersByTime(ms);
};

test('a fresh document is for everybody, then only for those who read on, then to be asked about, then gone', () => {
  const kept = documents();
  kept.keep(document({ 'cache-control': 'max-age=10', etag: '"1"' }), wish());
  const [bob, reading] = [wish({ principal: 'bob' }), wish({ principal: 'bob', continuing: true })];
  pass(9_999);
  expect(kept.find(bob)).toMatchObject({ is: 'usable', because: 'fresh' });
  pass(1);
  expect(kept.find(bob)).toMatchObject({ is: 'stale', conditions: { 'if-none-match': '"1"' } });
  expect(kept.find(reading)).toMatchObject({ is: 'usable', because: 'continuing' });
  pass(290_000);
  expect(kept.find(reading)).toMatchObject({ is: 'stale' });
  pass(3_400_000);
  expect(kept.find(bob)).toEqual({ is: 'missing' });
  expect(kept.bytes).toBe(0);
});

test('what a site says to one principal is not given to another', () => {
  const kept = documents();
  expect(kept.keep(document({ 'cache-control': 'private, max-age=10', etag: '"1"' }, 'for alice'), wish())).toBe('caller');
  expect(kept.find(wish())).toMatchObject({ is: 'usable', document: { page: { text: 'for alice' } } });
  for (const continuing of [false, true]) expect(kept.find(wish({ principal: 'bob', continuing }))).toEqual({ is: 'missing' });
});

test('what is not to be stored leaves memory after a minute, whether or not anybody asks', () => {
  const kept = documents();
  kept.keep(document({ 'cache-control': 'no-store' }), wish());
  expect(kept.find(wish())).toEqual({ is: 'missing' });
  pass(59_999);
  expect(kept.find(wish({ continuing: true }))).toMatchObject({ is: 'usable', because: 'continuing' });
  expect(kept.find(wish({ principal: 'bob', continuing: true }))).toEqual({ is: 'missing' });
  pass(2);
  expect(kept.bytes).toBe(0);
});

test('a page that came out worse than it could is good for its reading only', () => {
  const kept = documents();
  kept.keep(document({ 'cache-control': 'max-age=100', etag: '"1"' }, 'plain', false), wish());
  expect(kept.find(wish())).toEqual({ is: 'missing' });
  expect(kept.find(wish({ continuing: true }))).toMatchObject({ is: 'usable' });
});

test('with no room nothing is kept', () => {
  const kept = documents(0);
  kept.keep(document({ 'cache-control': 'max-age=100' }), wish());
  expect(kept.find(wish({ continuing: true }))).toEqual({ is: 'missing' });
  expect(kept.bytes).toBe(0);
});

test('a document too large for all the room is not kept, and drives nothing out', () => {
  const kept = documents(MIB);
  kept.keep(document({ 'cache-control': 'max-age=100' }, 'small'), wish());
  kept.keep(document({ 'cache-control': 'max-age=100' }, 'x'.repeat(MIB)), wish({ document: 'large' }));
  expect(kept.find(wish({ document: 'large' }))).toEqual({ is: 'missing' });
  expect(kept.find(wish())).toMatchObject({ is: 'usable' });
});

const hostile = fc.record({
  document: fc.string({ maxLength: 40 }),
  principal: fc.constantFrom('a', 'b'),
  length: fc.nat(60_000),
  control: fc.constantFrom('max-age=9', 'no-store', 'private, max-age=9999', ''),
  pause: fc.nat(100_000),
});

test('whatever is kept, in whatever order, it never holds more than it may', () => {
  fc.assert(
    fc.property(fc.array(hostile, { maxLength: 60 }), fc.integer({ min: 1, max: 300_000 }), (pages, most) => {
      const kept = documents(most);
      for (const { document: name, principal, length, control, pause } of pages) {
        const given = document({ 'cache-control': control }, 'x'.repeat(length));
        kept.keep(given, wish({ document: name, principal }));
        expect(kept.bytes).toBeLessThanOrEqual(most);
        const found = kept.find(wish({ document: name, principal, continuing: true }));
        expect(found.is === 'usable' ? 2 * found.document.page.text.length : 0).toBeLessThan(most);
        pass(pause);
      }
    }),
  );
});

test('a page is one document whatever its fragment, and another for each form and by whom it is asked for', () => {
  const key = (href: string, raw = false, by = 'autonomous') => documentKey(new URL(href), raw, by);
  expect(key('https://site.test/a?b#c')).toBe(key('HTTPS://SITE.test:443/a?b'));
  const others = ['https://site.test/a', 'https://site.test/a?b', 'https://u:p@site.test/a', 'http://site.test/a'].map((href) => key(href));
  expect(new Set([...others, key('https://site.test/a', true), key('https://site.test/a', false, 'manual')]).size).toBe(6);
});

test('after a 304 the document is what it was, by the redirects that led there now', () => {
  const before = document({ etag: '"1"' });
  const hop = (status: number, headers: Record<string, string>) =>
    hopOf(new URL('https://site.test/'), false, { statusCode: status, headers });
  const trail = [hop(302, {}), hop(304, { 'cache-control': 'max-age=5' })];
  expect(unchanged(before, trail)).toMatchObject({
    page: before.page,
    trail: [{ status: 302 }, { status: 200, headers: { etag: '"1"' } }],
  });
  expect(unchanged(before, [hop(304, { etag: '"2"' })])).toBeUndefined();
});
