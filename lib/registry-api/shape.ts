import type { z } from 'zod';
import { pathOf, shorten, type Fault } from './fault.ts';
import { isPlainObject } from './normal-form.ts';
import type { Draft } from './semantics.ts';
import { serverJsonSchema, type ServerJson } from './server-json.ts';

/** One way in which a document is not of the schema's shape. */
export interface ShapeIssue {
  /** `type`: of another type, `missing`: not there, `unknown`: not in the schema, `rule`: of the right type, against a bound */
  readonly kind: 'type' | 'missing' | 'unknown' | 'rule';
  /** steps to the value at fault, or to where it should be */
  readonly at: readonly PropertyKey[];
  readonly message: string;
}

/** Largest value repeated in a fault, in characters of JSON: each unknown key of a large object would repeat all of it. */
const MAX_ECHO = 1000;

/** What the registry's request layer refuses, in its order and words. The document's keys must be folded. */
export function shapeIssues(document: unknown): ShapeIssue[] {
  const parsed = serverJsonSchema.safeParse(document);
  return parsed.success ? [] : parsed.error.issues.flatMap((issue) => shapeIssuesOf(document, issue));
}

/** The faults as the registry lists them. */
export function shapeFaults(document: unknown, issues: readonly ShapeIssue[]): Fault[] {
  const echo = echoes();
  return issues.map(({ kind, at, message }) => {
    const holder = at.slice(0, -1);
    const value = echo(valueAt(document, kind === 'missing' || kind === 'unknown' ? holder : at));
    const fault = { stage: 'input', path: pathOf(kind === 'missing' ? holder : at), message } as const;
    return value === undefined ? fault : Object.assign(fault, { value });
  });
}

/** The document without the values at fault, so that later checks can rely on the types of the rest. */
export function withoutFaulty(document: unknown, issues: readonly ShapeIssue[]): Draft<ServerJson> {
  if (!isPlainObject(document)) return {};
  if (issues.length === 0) return document;
  const draft = structuredClone(document);
  for (const { at } of issues) {
    const holder = valueAt(draft, at.slice(0, -1));
    const name = at.at(-1);
    // An item of a list leaves an empty one in its place, so that the others keep theirs.
    if (Array.isArray(holder) && typeof name === 'number') holder[name] = {};
    else if (isPlainObject(holder) && typeof name === 'string') delete holder[name];
  }
  return draft;
}

function shapeIssuesOf(document: unknown, issue: z.core.$ZodIssue): ShapeIssue[] {
  const { path } = issue;
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ kind: 'unknown', at: [...path, key], message: 'unexpected property' }));
  }
  const value = valueAt(document, path);
  const name = path.at(-1);
  if (issue.code === 'invalid_type' && value === undefined && typeof name === 'string') {
    return [{ kind: 'missing', at: path, message: `expected required property ${name} to be present` }];
  }
  return [valueIssue(issue, value)];
}

function valueIssue(issue: z.core.$ZodIssue, value: unknown): ShapeIssue {
  const at = issue.path;
  if (issue.code === 'invalid_type') {
    return { kind: 'type', at, message: `expected ${issue.expected === 'record' ? 'object' : issue.expected}` };
  }
  if (issue.code !== 'invalid_value') return { kind: 'rule', at, message: shorten(issue.message) };
  if (typeof value !== 'string') return { kind: 'type', at, message: 'expected string' };
  return { kind: 'rule', at, message: `expected value to be one of "${issue.values.map(String).join(', ')}"` };
}

/** A value as it may be repeated in a fault: undefined when it is large. Each object is measured once. */
export function echoes(): (value: unknown) => unknown {
  const small = new Map<unknown, boolean>();
  return (value) => {
    const known = small.get(value) ?? (JSON.stringify(value) ?? '').length <= MAX_ECHO;
    small.set(value, known);
    return known ? value : undefined;
  };
}

function valueAt(document: unknown, steps: readonly PropertyKey[]): unknown {
  return steps.reduce<unknown>((value, step) => {
    if (Array.isArray(value) && typeof step === 'number') return value[step];
    return isPlainObject(value) && typeof step === 'string' && Object.hasOwn(value, step) ? value[step] : undefined;
  }, document);
}
