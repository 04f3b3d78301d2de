import { elementsOf, lineOf, type Element } from './tree.ts';

/** What is larger is not read, characters. */
const MAX_JSON = 4 * 1024 * 1024;
/** A page may nest its data as deep, and fill it as far, as it likes. */
const MAX_DEPTH = 32;
const MAX_OBJECTS = 20_000;
/** Shorter strings are labels, addresses, identifiers. */
const MIN_SENTENCE = 40;
/** Said of a page that has no other text, characters. */
const MAX_TEXT = 512 * 1024;

/** The JSON that a page carries for machines (JSON-LD) or for its own scripts, in the order of the page. What is no JSON is left out. */
export function embedded(root: Element, scripts = isLinkedData): readonly unknown[] {
  const found: unknown[] = [];
  for (const element of elementsOf(root)) {
    const [source] = element.children;
    if (element.name !== 'script' || typeof source !== 'string' || source.length > MAX_JSON || !scripts(element)) continue;
    try {
      found.push(JSON.parse(source));
    } catch {
      // a script's mistake is not the page's
    }
  }
  return found;
}

function isLinkedData({ attributes }: Element): boolean {
  return attributes['type']?.trim().toLowerCase() === 'application/ld+json';
}

/** Frameworks hand a page's data to its scripts like this. */
function isData({ attributes }: Element): boolean {
  return /^application\/(ld\+)?json$/i.test(attributes['type']?.trim() ?? '');
}

/** All objects in a value, the outer ones first. */
export function* objectsIn(value: unknown): Generator<Readonly<Record<string, unknown>>> {
  const open: { value: unknown; depth: number }[] = [{ value, depth: 0 }];
  for (let seen = 0; seen < open.length && seen < MAX_OBJECTS; seen += 1) {
    const { value: one, depth } = open[seen] ?? { value: undefined, depth: 0 };
    if (typeof one !== 'object' || one === null || depth > MAX_DEPTH) continue;
    if (!Array.isArray(one)) yield one as Readonly<Record<string, unknown>>;
    for (const inner of Object.values(one)) if (typeof inner === 'object') open.push({ value: inner, depth: depth + 1 });
  }
}

/**
 * The sentences in the data that a page carries, for one that has no text but what its scripts would make of them: plain text or HTML each.
 * The same sentence comes once.
 */
export function sentencesIn(root: Element): readonly string[] {
  const found = new Set<string>();
  let length = 0;
  for (const data of embedded(root, isData)) {
    for (const text of stringsIn(data)) {
      if (!isSentence(text) || found.has(text) || length > MAX_TEXT) continue;
      found.add(text);
      length += text.length;
    }
  }
  return [...found];
}

/** In the order of the data. */
function* stringsIn(value: unknown, depth = 0): Generator<string> {
  if (typeof value === 'string') yield value;
  else if (typeof value === 'object' && value !== null && depth <= MAX_DEPTH) {
    for (const inner of Object.values(value)) yield* stringsIn(inner, depth + 1);
  }
}

function isSentence(text: string): boolean {
  return (
    text.length >= MIN_SENTENCE &&
    /\p{L}\s+\p{L}/u.test(text) &&
    !/^\s*(https?:|data:|[{[]|function\b|\/)/.test(text) &&
    lineOf(text) !== ''
  );
}
