import { array, assert, constantFrom, integer, property, record, string } from 'fast-check';
import { expect, test } from 'vitest';
import type { Entry, Words } from './names.ts';
import { addressOf, PER_PAGE, select, wishOf, type Wish } from './selection.ts';
import { states } from './state.ts';

const everything: Wish = { search: '', state: undefined, page: 1 };

function entryOf(key: string, ...of: Entry['states']): Entry {
  return { key, isName: true, latest: undefined, declarations: [], states: of };
}

function wordsOf({ key }: Entry): Words {
  return { title: `Title of ${key}`, description: 'Übersetzt Texte', place: '' };
}

function keysOf(entries: readonly Entry[], wish: Partial<Wish>): readonly string[] {
  return select(entries, { ...everything, ...wish }, wordsOf).shown.map(({ key }) => key);
}

test('each word has to be somewhere, in any case and any order', () => {
  const entries = [entryOf('a.b/weather', 'published'), entryOf('a.b/maps', 'published')];
  expect(keysOf(entries, { search: 'WEATHER a.b' })).toEqual(['a.b/weather']);
  expect(keysOf(entries, { search: 'title übersetzt' })).toEqual(['a.b/weather', 'a.b/maps']);
  expect(keysOf(entries, { search: 'weather maps' })).toEqual([]);
});

test('tools and sources are found too', () => {
  const tools = { count: 2, names: ['get_forecast', 'alerts'] };
  const declared = { source: 'catalog/w/server.json', name: 'a.b/w', version: '1', state: 'Pending' as const, conditions: [], tools };
  const entries = [{ ...entryOf('a.b/w', 'pending'), declarations: [declared] }, entryOf('a.b/x', 'published')];
  expect(keysOf(entries, { search: 'forecast' })).toEqual(['a.b/w']);
  expect(keysOf(entries, { search: 'catalog/w' })).toEqual(['a.b/w']);
});

test('what is deleted is shown to those only who ask for it; what is refused besides, to all', () => {
  const entries = [entryOf('a', 'deleted'), entryOf('b', 'refused', 'deleted'), entryOf('c', 'published', 'refused')];
  expect(keysOf(entries, {})).toEqual(['b', 'c']);
  expect(keysOf(entries, { state: 'deleted' })).toEqual(['a', 'b']);
  expect(keysOf(entries, { state: 'refused' })).toEqual(['b', 'c']);
  const { counts, all } = select(entries, everything, wordsOf);
  expect(counts).toEqual({ published: 1, deprecated: 0, withdrawing: 0, pending: 0, refused: 2, deleted: 2 });
  expect(all).toBe(2);
});

test('the pages together show every entry once, in order, and no page is empty but the only one', () => {
  assert(
    property(array(constantFrom(...states), { maxLength: 4 * PER_PAGE }), constantFrom(undefined, ...states), (of, state) => {
      const entries = of.map((one, index) => entryOf(`n${index}`, one));
      const { pages, total } = select(entries, { ...everything, state }, wordsOf);
      const seen = Array.from({ length: pages }, (_, index) => keysOf(entries, { state, page: index + 1 }));
      const expected = entries.filter(({ states: [one] }) => (state === undefined ? one !== 'deleted' : one === state));
      expect(seen.flat()).toEqual(expected.map(({ key }) => key));
      expect(total).toBe(expected.length);
      expect(pages === 1 || seen.every(({ length }) => length > 0)).toBe(true);
    }),
    { numRuns: 30 },
  );
});

test('a page beyond the last one is the last one', () => {
  const entries = Array.from({ length: PER_PAGE + 1 }, (_, index) => entryOf(`n${index}`, 'published'));
  expect(select(entries, { ...everything, page: 99 }, wordsOf)).toMatchObject({ page: 2, pages: 2, shown: [{ key: `n${PER_PAGE}` }] });
});

test('an address says what was wished for', () => {
  const wishes = record({
    search: string({ unit: 'binary' }).map((text) => text.toWellFormed().trim()),
    state: constantFrom(undefined, ...states),
    page: integer({ min: 1, max: 1000 }),
  });
  assert(
    property(wishes, (wish) => {
      expect(wishOf(addressOf(wish).slice('/?'.length))).toEqual(wish);
    }),
  );
});

test.each(['page=0', 'page=-1', 'page=1e999', 'page=x', 'page=1.5', 'state=gone', 'state=Published', 'search=%FF', 'search=%', undefined])(
  'a query that makes no sense counts as none: %s',
  (query) => {
    expect(wishOf(query)).toEqual(everything);
  },
);
