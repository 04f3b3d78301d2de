import type { z } from 'zod';
import { foldDocument, isPlainObject, joinPath, MAX_NESTING, nestsDeeperThan } from './normal-form.ts';
import { semanticFaults, type Draft, type SemanticOptions } from './semantics.ts';
import { PUBLISHER_META, serverJsonSchema, type ServerJson } from './server-json.ts';

/** One reason why a registry would not take a document. */
export interface Fault {
  /**
   * Which check of the registry refuses it, in the order in which they run:
   * - `input`: the shape, HTTP 422 with `errors`
   * - `semantic`: the rules in code, HTTP 422 without `errors`
   * - `size`: the publisher's `_meta` is over 4 KB, HTTP 400; on publish only, not on edit
   * - `storage`: what its database cannot hold, HTTP 400
   */
  readonly stage: 'input' | 'semantic' | 'size' | 'storage';
  /** JSON path such as `packages[0].transport.url`; '' is the document */
  readonly path: string;
  /** in the registry's words */
  readonly message: string;
  /** what was found there; for a missing or an unknown property the object that lacks or has it */
  readonly value?: unknown;
  /** the name of a semantic rule */
  readonly reference?: string;
  /** a warning refuses nothing; absent means error */
  readonly severity?: 'error' | 'warning';
}

export interface ValidateOptions extends SemanticOptions {
  /** Also report what the registry only warns of: an older version of the schema. @default false */
  readonly warnings?: boolean;
}

/** Largest publisher-provided `_meta`, in bytes of JSON as the registry would write it. */
export const MAX_PUBLISHER_META_BYTES = 4096;

/**
 * Every reason for which the registry would refuse to publish a document, all stages at once and in its order; none means that it would
 * take it, as far as that can be told without asking: duplicates and permissions only the registry knows. Keys match in any case and
 * `null` counts as absent where the registry has it so. A value at fault in one stage is not judged again in a later one.
 */
export function validateServerJson(document: unknown, options: ValidateOptions = {}): Fault[] {
  if (nestsDeeperThan(document, MAX_NESTING)) {
    return [{ stage: 'input', path: '', message: `exceeded max depth: nested deeper than ${MAX_NESTING} levels` }];
  }
  const folded = foldDocument(document);
  const input = inputFaults(folded);
  const draft = withoutFaulty(folded, input);
  const later: Fault[] = [...semanticFaults(draft, options), ...sizeFaults(draft), ...storageFaults(draft, '')];
  const faulty = input.map(({ at }) => at);
  const fresh = later.filter(({ path, severity }) => {
    if (severity === 'warning' && options.warnings !== true) return false;
    return !faulty.some((at) => isWithin(path, at));
  });
  return [...input.map(({ fault }) => fault), ...fresh];
}

/** A fault of the shape, and the place of the value that caused it (for a missing property: where it should be). */
export interface InputFault {
  readonly fault: Fault;
  readonly at: readonly PropertyKey[];
  /** whether the value is of another type than the schema's, or missing: then no reader can rely on the type */
  readonly typeBroken: boolean;
}

/** What the registry's request layer refuses, with its messages. The document's keys must be folded. */
export function inputFaults(document: unknown): InputFault[] {
  const parsed = serverJsonSchema.safeParse(document);
  return parsed.success ? [] : parsed.error.issues.flatMap((issue) => inputFaultsOf(document, issue));
}

function inputFaultsOf(document: unknown, issue: z.core.$ZodIssue): InputFault[] {
  const value = valueAt(document, issue.path);
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => inputFault([...issue.path, key], { message: 'unexpected property', value }));
  }
  const parent = issue.path.slice(0, -1);
  const name = issue.path.at(-1);
  if (issue.code === 'invalid_type' && value === undefined && typeof name === 'string') {
    const message = `expected required property ${name} to be present`;
    const fault: Fault = { stage: 'input', path: pathOf(parent), message, value: valueAt(document, parent) };
    return [{ fault, at: issue.path, typeBroken: true }];
  }
  return [inputFault(issue.path, { message: messageOf(issue, value), value, typeBroken: isTypeBroken(issue, value) })];
}

function inputFault(at: readonly PropertyKey[], found: { message: string; value: unknown; typeBroken?: boolean }): InputFault {
  const { message, value, typeBroken = false } = found;
  return { fault: { stage: 'input', path: pathOf(at), message, value }, at, typeBroken };
}

function messageOf(issue: z.core.$ZodIssue, value: unknown): string {
  if (issue.code === 'invalid_type') return `expected ${issue.expected === 'record' ? 'object' : issue.expected}`;
  if (issue.code !== 'invalid_value') return issue.message;
  return typeof value === 'string' ? `expected value to be one of "${issue.values.map(String).join(', ')}"` : 'expected string';
}

function isTypeBroken(issue: z.core.$ZodIssue, value: unknown): boolean {
  return issue.code === 'invalid_type' || (issue.code === 'invalid_value' && typeof value !== 'string');
}

/** The document without the values at fault, so that the later checks can run on the rest. */
function withoutFaulty(document: unknown, faults: readonly InputFault[]): Draft<ServerJson> {
  if (!isPlainObject(document)) return {};
  if (faults.length === 0) return document;
  const draft = structuredClone(document);
  for (const { at } of faults) {
    const holder = valueAt(draft, at.slice(0, -1));
    const name = at.at(-1);
    // An item of an array leaves an empty object, so that the places of the others stay.
    if (Array.isArray(holder) && typeof name === 'number') holder[name] = typeof holder[name] === 'string' ? '' : {};
    else if (isPlainObject(holder) && typeof name === 'string') delete holder[name];
  }
  return draft;
}

function sizeFaults(draft: Draft<ServerJson>): Fault[] {
  const provided = draft['_meta']?.[PUBLISHER_META];
  const bytes = provided === undefined ? 0 : goJsonBytes(provided);
  if (bytes <= MAX_PUBLISHER_META_BYTES) return [];
  const path = `_meta.${PUBLISHER_META}`;
  return [{ stage: 'size', path, message: `${path} extension exceeds 4KB limit (${bytes} bytes)`, value: bytes }];
}

/**
 * Bytes of a value as the registry marshals it: like JSON.stringify, but `<`, `>`, `&` and the two Unicode line separators become
 * escapes of 6 bytes.
 */
export function goJsonBytes(value: unknown): number {
  const json = JSON.stringify(value, (_, item: unknown) => (typeof item === 'string' ? item.toWellFormed() : item)) ?? 'null';
  return Buffer.byteLength(json.replace(/[<>&\u2028\u2029]/g, '\\u0000'));
}

/** PostgreSQL's jsonb holds no NUL character, and the version column no blanks alone. */
function storageFaults(value: unknown, path: string): Fault[] {
  const blank = isPlainObject(value) && path === '' && typeof value['version'] === 'string' && /^ +$/.test(value['version']);
  const faults = nulFaults(value, path);
  return blank ? [{ stage: 'storage', path: 'version', message: 'version must not be blank', value: value['version'] }, ...faults] : faults;
}

function nulFaults(value: unknown, path: string): Fault[] {
  if (typeof value === 'string') {
    return value.includes('\0') ? [{ stage: 'storage', path, message: 'unsupported Unicode escape sequence: \\u0000', value }] : [];
  }
  if (Array.isArray(value)) return value.flatMap((item, index) => nulFaults(item, joinPath(path, index)));
  if (!isPlainObject(value)) return [];
  return Object.entries(value).flatMap(([key, item]) => nulFaults(key, joinPath(path, key)).concat(nulFaults(item, joinPath(path, key))));
}

function isWithin(path: string, at: readonly PropertyKey[]): boolean {
  const outer = pathOf(at);
  if (outer === '' || path === outer) return true;
  return path.startsWith(outer) && (path[outer.length] === '.' || path[outer.length] === '[');
}

function pathOf(steps: readonly PropertyKey[]): string {
  return steps.reduce<string>(joinPath, '');
}

function valueAt(document: unknown, steps: readonly PropertyKey[]): unknown {
  return steps.reduce<unknown>((value, step) => {
    if (Array.isArray(value) && typeof step === 'number') return value[step];
    return isPlainObject(value) && typeof step === 'string' && Object.hasOwn(value, step) ? value[step] : undefined;
  }, document);
}
