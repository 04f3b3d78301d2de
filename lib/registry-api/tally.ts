import type { Page } from './answers.ts';

/** What was read of one list. */
interface Tally {
  readonly records: number;
  readonly characters: number;
  readonly emptyPages: number;
}

/** More than any registry holds today: an endless list must not fill the memory. */
const MOST: Tally = {
  records: 250_000,
  characters: 512 * 1024 * 1024,
  // a registry that filters after paging may send one now and then
  emptyPages: 100,
};

export const nothing: Tally = { records: 0, characters: 0, emptyPages: 0 };

export function tallied(before: Tally, { records, unreadable, characters }: Pick<Page, 'records' | 'unreadable' | 'characters'>): Tally {
  const size = records.length + unreadable.length;
  return {
    records: before.records + size,
    characters: before.characters + characters,
    emptyPages: before.emptyPages + (size === 0 ? 1 : 0),
  };
}

export function isTooMuch({ records, characters, emptyPages }: Tally): boolean {
  return records > MOST.records || characters > MOST.characters || emptyPages > MOST.emptyPages;
}
