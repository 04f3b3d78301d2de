import { z } from 'zod';
import { joinPath } from './fault.ts';
import { serverJsonSchema, type ServerJson } from './server-json.ts';

export { joinPath } from './fault.ts';

/**
 * Nesting beyond this is refused. All that fits into the publisher's 4 KB stays below; the registry's parser stops at 10,000, where a
 * recursive reader in JavaScript would run out of stack.
 */
export const MAX_NESTING = 2100;

/** A document with more values than this is refused before it is looked at: the largest ones published have a few thousand. */
export const MAX_VALUES = 20_000;

/** Whether a parsed document nests objects and arrays deeper than `limit`. Never recurses, so any input is safe. */
export function nestsDeeperThan(document: unknown, limit: number): boolean {
  let level: unknown[] = [document];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > limit) return true;
    level = level.flatMap((value) => (isContainer(value) ? Object.values(value) : [])).filter(isContainer);
  }
  return false;
}

/**
 * What makes a document too much to look at, undefined when nothing does. To be asked before any of the functions below, which recurse.
 * The registry has a bound on a document's bytes only, and none on numbers but that a double must hold them.
 */
export function excessOf(document: unknown): string | undefined {
  if (nestsDeeperThan(document, MAX_NESTING)) return `exceeded max depth: nested deeper than ${MAX_NESTING} levels`;
  const waiting: unknown[] = [document];
  for (let count = 0; waiting.length > 0; count += 1) {
    if (count + waiting.length > MAX_VALUES) return `holds more than ${MAX_VALUES} values`;
    const value = waiting.pop();
    if (typeof value === 'number' && !Number.isFinite(value)) return 'json: cannot unmarshal a number into Go value of type float64';
    if (isContainer(value)) for (const item of Object.values(value)) waiting.push(item);
  }
  return undefined;
}

/**
 * A document in the registry's stored form, the order of keys kept: key spelling as in the schema (of several the last wins), unknown
 * keys gone, optional fields gone when null, empty or `false`, lone surrogates replaced. An argument's explicit empty `value` or
 * `valueHint` stays, and so does all that is inside the publisher's own `_meta`. Equal normal forms mean: nothing to write.
 * The document should be valid; what is not of the schema's type is left as it is.
 */
export function normalForm(document: unknown): ServerJson {
  return reshape(serverJsonSchema, document, { dropEmpty: true, dropUnknown: true }) as ServerJson;
}

/** A document with keys spelled as in the schema and null options dropped, all else untouched: what the registry validates. */
export function foldDocument(document: unknown): unknown {
  return reshape(serverJsonSchema, document, { dropEmpty: false, dropUnknown: false });
}

/** Whether two documents are stored alike. */
export function sameDocument(a: unknown, b: unknown): boolean {
  return changedPaths(a, b).length === 0;
}

/** The JSON paths at which two documents differ once stored, for example `packages[0].version`; '' when one is no object. */
export function changedPaths(a: unknown, b: unknown): string[] {
  return difference(normalForm(a), normalForm(b), '');
}

interface Reshaping {
  readonly dropEmpty: boolean;
  readonly dropUnknown: boolean;
}

function reshape(schema: unknown, value: unknown, how: Reshaping): unknown {
  if (schema instanceof z.ZodOptional) return reshape(schema.unwrap(), value, how);
  if (schema instanceof z.ZodObject && isPlainObject(value)) return reshapeObject(schema, value, how);
  if (schema instanceof z.ZodArray && Array.isArray(value)) return value.map((item) => reshape(schema.element, item, how));
  if (schema instanceof z.ZodRecord && isPlainObject(value)) return reshapeMap(schema, value, how);
  return wellFormed(value);
}

function reshapeMap(schema: z.ZodRecord, value: Readonly<Record<string, unknown>>, how: Reshaping): Record<string, unknown> {
  const map = mapEntries(value, (item) => reshape(schema.valueType, item, how));
  // The one key that zod does not look at: its value could be of any type.
  if (!(schema.valueType instanceof z.ZodUnknown)) delete map['__proto__'];
  return map;
}

function reshapeObject(schema: z.ZodObject, value: Readonly<Record<string, unknown>>, how: Reshaping): Record<string, unknown> {
  const spelling = spellings(schema);
  const kept = new Map<string, unknown>();
  for (const [key, item] of Object.entries(value)) {
    const name = spelling.get(foldKey(key));
    if (name === undefined) {
      if (!how.dropUnknown) kept.set(key, item);
      continue;
    }
    const field = schema.shape[name];
    // Null is no value: it makes an optional field absent and replaces none of another spelling.
    if (item === null && (field instanceof z.ZodOptional || kept.has(name))) continue;
    kept.set(name, reshape(field, item, how));
  }
  const entries = [...kept].filter(([name, item]) => !(how.dropEmpty && isDropped(schema.shape[name], item)));
  return Object.fromEntries(entries);
}

/** Go's `omitempty`: structs stay even when empty, so an empty repository is still a repository. */
function isDropped(field: unknown, value: unknown): boolean {
  if (!(field instanceof z.ZodOptional) || field.meta()?.['keepEmpty'] === true) return false;
  if (value === '' || value === false) return true;
  if (Array.isArray(value)) return value.length === 0;
  return field.unwrap() instanceof z.ZodRecord && isPlainObject(value) && Object.keys(value).length === 0;
}

const spellingsOf = new WeakMap<z.ZodObject, ReadonlyMap<string, string>>();

function spellings(schema: z.ZodObject): ReadonlyMap<string, string> {
  const known = spellingsOf.get(schema) ?? new Map(Object.keys(schema.shape).map((name) => [foldKey(name), name]));
  spellingsOf.set(schema, known);
  return known;
}

/** Unicode's simple case folding as far as it reaches ASCII: besides A-Z only the long s and the Kelvin sign do. */
function foldKey(key: string): string {
  return key.replaceAll('\u017f', 's').toLowerCase();
}

function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  return isPlainObject(value) ? mapEntries(value, wellFormed) : value;
}

function mapEntries(value: Readonly<Record<string, unknown>>, change: (item: unknown) => unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key.toWellFormed(), change(item)]));
}

function difference(a: unknown, b: unknown, path: string): string[] {
  if (a === b) return [];
  if (Array.isArray(a) && Array.isArray(b)) {
    const length = Math.max(a.length, b.length);
    return Array.from({ length }, (_, index) => difference(a[index], b[index], joinPath(path, index))).flat();
  }
  if (isPlainObject(a) && isPlainObject(b)) {
    const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
    return [...keys].flatMap((key) => difference(own(a, key), own(b, key), joinPath(path, key)));
  }
  return [path];
}

function own(value: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

export function isPlainObject(value: unknown): value is Record<string, unknown> {
  return isContainer(value) && !Array.isArray(value);
}
