import { queryValue } from '../target.ts';
import type { Entry, Words } from './names.ts';
import { states, type State } from './state.ts';

export const PER_PAGE = 50;

/** What a visitor wants to see. */
export interface Wish {
  readonly search: string;
  /** undefined: everything that is not just deleted */
  readonly state: State | undefined;
  /** from 1 */
  readonly page: number;
}

/** One page of the entries that fit a wish. */
export interface Selection {
  readonly shown: readonly Entry[];
  /** how many fit, on all pages */
  readonly total: number;
  /** how many fit the search, by state; an entry with two states counts in both */
  readonly counts: Readonly<Record<State, number>>;
  /** how many fit the search and are not just deleted */
  readonly all: number;
  /** the page that is shown: the last one, when a later one was wished for */
  readonly page: number;
  /** at least 1 */
  readonly pages: number;
}

/** Reads the query of the page; what makes no sense counts as absent. */
export function wishOf(query: string | undefined): Wish {
  const text = (name: string) => {
    const value = queryValue(query, name);
    return value.ok ? value.text : '';
  };
  const page = Number(text('page'));
  return {
    search: text('search').trim(),
    state: states.find((state) => state === text('state')),
    page: Number.isSafeInteger(page) && page > 0 ? page : 1,
  };
}

/** The address of a wish. */
export function addressOf({ search, state, page }: Wish): string {
  const query = new URLSearchParams({
    ...(search !== '' && { search }),
    ...(state !== undefined && { state }),
    ...(page > 1 && { page: String(page) }),
  }).toString();
  return query === '' ? '/' : `/?${query}`;
}

/**
 * Finds what a visitor wants. Each word of the search has to be somewhere in the name, the title, the description, the tools or the source,
 * in any case. Pure.
 */
export function select(entries: readonly Entry[], { search, state, page }: Wish, words: (entry: Entry) => Words): Selection {
  const wanted = search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  const found = wanted.length === 0 ? entries : entries.filter((entry) => holdsAll(textOf(entry, words(entry)), wanted));
  const present = found.filter((entry) => !isJustDeleted(entry));
  const counts = Object.fromEntries(states.map((one) => [one, 0])) as Record<State, number>;
  for (const entry of found) for (const one of entry.states) counts[one] += 1;
  const fitting = state === undefined ? present : found.filter((entry) => entry.states.includes(state));
  const pages = Math.max(1, Math.ceil(fitting.length / PER_PAGE));
  const at = Math.min(page, pages);
  return {
    shown: fitting.slice((at - 1) * PER_PAGE, at * PER_PAGE),
    total: fitting.length,
    counts,
    all: present.length,
    page: at,
    pages,
  };
}

function holdsAll(text: string, wanted: readonly string[]): boolean {
  return wanted.every((word) => text.includes(word));
}

function textOf({ key, declarations }: Entry, { title, description }: Words): string {
  const declared = declarations.flatMap(({ source, tools }) => [source, ...(tools?.names ?? [])]);
  return [key, title, description, ...declared].join('\n').toLowerCase();
}

function isJustDeleted({ states }: Entry): boolean {
  return states.every((state) => state === 'deleted');
}
