import { expect, test } from 'vitest';
import { PageCache } from './page-cache.ts';

const page = (bytes: number) => ({ type: 'application/json', headers: {}, body: Buffer.alloc(bytes) });

test('what it holds stays below its bytes, and the page used least recently goes first', () => {
  const pages = new PageCache(4096);
  for (const target of ['/a', '/b', '/c']) pages.keep(target, page(800));
  pages.get('/a');
  pages.keep('/d', page(800));
  expect(['/a', '/b', '/c', '/d'].map((target) => pages.get(target) !== undefined)).toEqual([true, false, true, true]);
});

test('a page larger than the whole is not kept, and throws nothing out', () => {
  const pages = new PageCache(4096);
  pages.keep('/a', page(10));
  pages.keep('/large', page(5000));
  expect([pages.get('/large'), pages.get('/a')?.body.length]).toEqual([undefined, 10]);
});

test('nothing is left after it was cleared', () => {
  const pages = new PageCache(4096);
  pages.keep('/a', page(1));
  pages.clear();
  expect(pages.get('/a')).toBeUndefined();
});
