import { joinPath, pathOf, type Fault } from './fault.ts';
import { excessOf, foldDocument, isPlainObject } from './normal-form.ts';
import { semanticFaults, type Draft, type SemanticOptions } from './semantics.ts';
import { PUBLISHER_META, type ServerJson } from './server-json.ts';
import { shapeFaults, shapeIssues, withoutFaulty } from './shape.ts';

export type { Fault } from './fault.ts';

export interface ValidateOptions extends SemanticOptions {
  /** Also report what the registry only warns of: an older version of the schema. @default false */
  readonly warnings?: boolean;
}

/** More faults than this are not listed: a hostile document has a hundred thousand. */
export const MAX_FAULTS = 500;

/** Largest publisher-provided `_meta`, in bytes of JSON as the registry would write it. */
export const MAX_PUBLISHER_META_BYTES = 4096;

/**
 * Every reason for which the registry would refuse to publish a document, all stages at once and in its order, at most MAX_FAULTS; none
 * means that it would take it, as far as that can be told without asking: duplicates and permissions only the registry knows. Keys match
 * in any case and `null` counts as absent where the registry has it so. What is at fault in its shape is not judged again by the rules.
 */
export function validateServerJson(document: unknown, options: ValidateOptions = {}): Fault[] {
  const excess = excessOf(document);
  if (excess !== undefined) return [{ stage: 'input', path: '', message: excess }];
  const folded = foldDocument(document);
  const issues = shapeIssues(folded);
  const input = shapeFaults(folded, issues.slice(0, MAX_FAULTS));
  const draft = withoutFaulty(folded, issues);
  const judged = new Set(issues.map(({ at }) => pathOf(at)));
  const semantic = semanticFaults(draft, options)
    .filter(({ path, severity }) => (severity === 'error' || options.warnings === true) && !isWithin(path, judged))
    .take(MAX_FAULTS - input.length);
  return [...input, ...semantic, ...sizeFaults(draft), ...storageFaults(draft)].slice(0, MAX_FAULTS);
}

/** Whether a path, or one that leads to it, is among these. */
function isWithin(path: string, judged: ReadonlySet<string>): boolean {
  if (judged.size === 0) return false;
  const ends = [...path.matchAll(/[.[]/g)].map(({ index }) => path.slice(0, index));
  return ['', ...ends, path].some((outer) => judged.has(outer));
}

function sizeFaults(draft: Draft<ServerJson>): Fault[] {
  const provided = draft['_meta']?.[PUBLISHER_META];
  const bytes = provided === undefined ? 0 : goJsonBytes(provided);
  if (bytes <= MAX_PUBLISHER_META_BYTES) return [];
  const path = `_meta.${PUBLISHER_META}`;
  return [{ stage: 'size', path, message: `${path} extension exceeds 4KB limit (${bytes} bytes)` }];
}

/**
 * Bytes of a value as the registry marshals it: like JSON.stringify, but `<`, `>`, `&` and the two Unicode line separators become
 * escapes of 6 bytes.
 */
export function goJsonBytes(value: unknown): number {
  const json = JSON.stringify(value, (_, item: unknown) => (typeof item === 'string' ? item.toWellFormed() : item)) ?? 'null';
  return Buffer.byteLength(json.replace(/[<>&\u2028\u2029]/g, '\\u0000'));
}

/** PostgreSQL's version column holds no blanks alone, and its jsonb no NUL character: the first of those is reported. */
function storageFaults(draft: Draft<ServerJson>): Fault[] {
  const blank = /^ +$/.test(draft.version ?? '') ? [storageFault('version', 'version must not be blank')] : [];
  const nul = pathOfNul(draft, '');
  return nul === undefined ? blank : [...blank, storageFault(nul, 'unsupported Unicode escape sequence: \\u0000 cannot be stored')];
}

function storageFault(path: string, message: string): Fault {
  return { stage: 'storage', path, message };
}

function pathOfNul(value: unknown, path: string): string | undefined {
  if (typeof value === 'string') return value.includes('\0') ? path : undefined;
  const entries = Array.isArray(value) ? value.entries() : isPlainObject(value) ? Object.entries(value) : [];
  for (const [key, item] of entries) {
    const at = joinPath(path, key);
    const found = pathOfNul(key, at) ?? pathOfNul(item, at);
    if (found !== undefined) return found;
  }
  return undefined;
}
