import type { Condition, Optional, Template } from './template.ts';
import type { Values } from './values.ts';

/** Builds finished objects from given values. */
export class FixedTemplate implements Template {
  readonly values: Values;
  readonly namespace: string;

  constructor(values: Values, namespace: string) {
    this.values = values;
    this.namespace = namespace;
  }

  has(value: unknown): boolean {
    if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
    return Boolean(value);
  }

  equals(value: string, wanted: string): boolean {
    return value === wanted;
  }

  over(value: number, limit: number): boolean {
    return value > limit;
  }

  not(condition: Condition): boolean {
    return !holds(condition);
  }

  all(...conditions: readonly Condition[]): boolean {
    return conditions.every(holds);
  }

  any(...conditions: readonly Condition[]): boolean {
    return conditions.some(holds);
  }

  text(value: number | boolean): string {
    return String(value);
  }

  json(value: unknown): string {
    return sortedJson(value);
  }

  jsonList(items: readonly Optional[]): string {
    return sortedJson(items.filter(({ when }) => holds(when)).map(({ item }) => item));
  }

  join(items: readonly string[], prefix = ''): string {
    return items.map((item) => `${prefix}${item}`).join(',');
  }

  or(value: string, fallback: string): string {
    return value === '' ? fallback : value;
  }

  choose(condition: Condition, yes: string, no: string): string {
    return holds(condition) ? yes : no;
  }

  when<T>(condition: Condition, items: readonly T[]): readonly T[] {
    return holds(condition) ? items : [];
  }

  fields(condition: Condition, fields: object): object {
    return holds(condition) ? fields : {};
  }

  items<T>(list: readonly T[]): readonly T[] {
    return list;
  }

  entries(map: Readonly<Record<string, string>>): object {
    return map;
  }

  each<I, T>(list: readonly I[], entry: (item: I) => T): readonly T[] {
    return list.map(entry);
  }

  repeat<I>(list: readonly I[], build: (item: I) => void): undefined {
    list.forEach(build);
  }
}

/** @throws TypeError for an expression, which only Helm can decide */
export function holds(condition: Condition): boolean {
  if (typeof condition === 'boolean') return condition;
  throw new TypeError(`only Helm can decide ${condition.source}`);
}

/** Keys in the order in which Helm writes them. */
export function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
