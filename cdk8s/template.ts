import type { Values } from './values.ts';

/** True, false, or, in a Helm chart, an expression that Helm decides. */
export type Condition = boolean | Expression;

export class Expression {
  /** in the language of Helm's templates, in parentheses where it has arguments */
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}

/** One entry of a list of JSON values that is given only under its condition. */
export interface Optional {
  readonly when: Condition;
  readonly item: unknown;
}

/**
 * What constructs are built from, so that the same ones become finished objects (FixedTemplate) or a Helm chart (HelmTemplate). Values are
 * only put where they belong or handed to these methods: in a chart they are marks that stand for what the user will set.
 */
export interface Template {
  readonly values: Values;
  readonly namespace: string;

  /** whether a value is neither empty, 0 nor false */
  has(value: unknown): Condition;
  equals(value: string, wanted: string): Condition;
  /** whether a number is larger than a limit */
  over(value: number, limit: number): Condition;
  not(condition: Condition): Condition;
  all(...conditions: readonly Condition[]): Condition;
  any(...conditions: readonly Condition[]): Condition;

  /** A number or flag as text: for environment variables. */
  text(value: number | boolean): string;
  /** As JSON with sorted keys. */
  json(value: unknown): string;
  jsonList(items: readonly Optional[]): string;
  /** With commas; each item after the prefix, if one is given. */
  join(items: readonly string[], prefix?: string): string;
  /** The value, or something else where it is empty. */
  or(value: string, fallback: string): string;
  choose(condition: Condition, yes: string, no: string): string;

  /** Entries of a list that are there under a condition. */
  when<T>(condition: Condition, items: readonly T[]): readonly T[];
  /** Fields of a map that are there under a condition. */
  fields(condition: Condition, fields: object): object;
  /** A user's list, as entries of another. */
  items<T>(list: readonly T[]): readonly T[];
  /** A user's map, as fields of another. */
  entries(map: Readonly<Record<string, string>>): object;
  /** One entry for each of a user's list; its parameter is the item, which is only put somewhere. */
  each<I, T>(list: readonly I[], entry: (item: I) => T): readonly T[];
  /** Whole objects for each of a user's list; what is returned belongs into the file's `repeated`. */
  repeat<I>(list: readonly I[], build: (item: I) => void): string | undefined;
}

/** A field that is left out when it is empty. */
export function unlessEmpty(template: Template, field: string, value: unknown): object {
  return template.fields(template.has(value), { [field]: value });
}
