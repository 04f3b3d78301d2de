import { Yaml } from 'cdk8s';
import { z } from 'zod';
import { sortedJson } from './fixed-template.ts';
import { Expression, type Condition, type Optional, type Template } from './template.ts';
import { valuesSchema, type Values } from './values.ts';

/** What a mark in the synthesised YAML stands for. */
type Meaning =
  | { readonly is: 'value'; readonly source: string; readonly kind: 'text' | 'scalar' | 'block' }
  /** lines that replace the mark's own; `begin` and `end` stand around them, each on a line of its own */
  | { readonly is: 'lines'; readonly begin: string; readonly yaml: string; readonly end: string }
  /** a user's list or map among entries that are there anyway */
  | { readonly is: 'spread'; readonly source: string };

const MARK = /@@(\d+)@@/;
const MARKS = /@@(\d+)@@/g;

/**
 * Builds a Helm chart: values are marks in the objects, which `render` replaces in their YAML by expressions of Helm's. Whole lines are
 * replaced, so that every scalar goes through toJson and cannot break out of its place.
 */
export class HelmTemplate implements Template {
  readonly #meanings: Meaning[] = [];
  readonly values: Values = this.#marksFor(valuesSchema, '$.Values') as Values;
  readonly namespace: string = this.#value('$.Release.Namespace', 'text');

  has(value: unknown): Condition {
    // asked, a value may be empty: what is said where it is needed stays unsaid
    return new Expression(this.#sourceOf(value).replace(/^\(required "(?:[^"\\]|\\.)*" (.*)\)$/, '$1'));
  }

  equals(value: string, wanted: string): Condition {
    return new Expression(`(eq ${this.#sourceOf(value)} ${goString(wanted)})`);
  }

  over(value: number, limit: number): Condition {
    return new Expression(`(gt (int ${this.#sourceOf(value)}) ${limit})`);
  }

  not(condition: Condition): Condition {
    return new Expression(`(not ${sourceOf(condition)})`);
  }

  all(...conditions: readonly Condition[]): Condition {
    const open = conditions.filter((condition) => condition !== true);
    return open.length === 1 ? (open[0] ?? true) : new Expression(`(and ${open.map(sourceOf).join(' ')})`);
  }

  any(...conditions: readonly Condition[]): Condition {
    return new Expression(`(or ${conditions.map(sourceOf).join(' ')})`);
  }

  text(value: number | boolean): string {
    // toString would write 4194304 as 4.194304e+06
    return this.#value(`(toJson ${this.#sourceOf(value)})`, 'text');
  }

  json(value: unknown): string {
    // toJson would write < as \u003c, which is right, but not the same text
    return this.#value(`(toRawJson ${this.#sourceOf(value)})`, 'text');
  }

  jsonList(items: readonly Optional[]): string {
    const added = items.map(({ when, item }) => `(ternary (list ${this.#print(sortedJson(item))}) list (not (not ${sourceOf(when)})))`);
    return this.#value(`(printf "[%s]" (join "," (concat ${added.join(' ')})))`, 'text');
  }

  join(items: readonly string[], prefix = ''): string {
    const joined = `join ${goString(`,${prefix}`)} ${this.#sourceOf(items)}`;
    return this.#value(prefix === '' ? `(${joined})` : `(${joined} | printf ${goString(`${prefix}%s`)})`, 'text');
  }

  or(value: string, fallback: string): string {
    return this.#value(`(default ${goString(fallback)} ${this.#sourceOf(value)})`, 'text');
  }

  choose(condition: Condition, yes: string, no: string): string {
    // unlike ternary, `and` and `or` leave alone what they do not need, so that nothing is required in vain
    return this.#value(`(or (and ${sourceOf(condition)} ${this.#print(yes)}) ${this.#print(no)})`, 'text');
  }

  when<T>(condition: Condition, items: readonly T[]): readonly T[] {
    return [this.#lines(`if ${sourceOf(condition)}`, Yaml.stringify(items))] as readonly unknown[] as readonly T[];
  }

  fields(condition: Condition, fields: object): object {
    return keyed(this.#lines(`if ${sourceOf(condition)}`, Yaml.stringify(fields)));
  }

  items<T>(list: readonly T[]): readonly T[] {
    return [this.#mark({ is: 'spread', source: this.#sourceOf(list) })] as readonly unknown[] as readonly T[];
  }

  entries(map: Readonly<Record<string, string>>): object {
    return keyed(this.#mark({ is: 'spread', source: this.#sourceOf(map) }));
  }

  each<I, T>(list: readonly I[], entry: (item: I) => T): readonly T[] {
    return [this.#lines(this.#range(list), Yaml.stringify([entry(this.#item() as I)]))] as readonly unknown[] as readonly T[];
  }

  repeat<I>(list: readonly I[], build: (item: I) => void): string {
    build(this.#item() as I);
    return this.#range(list);
  }

  #range(list: readonly unknown[]): string {
    return `range $item := ${this.#sourceOf(list)}`;
  }

  /** Stands for one entry of the list that Helm is going through. */
  #item(): string {
    return this.#value('$item', 'text');
  }

  /** The file of a chart that these objects become. */
  render(objects: readonly object[], condition: Condition, repeated?: string): string {
    const around = [...(condition === true ? [] : [`if ${sourceOf(condition)}`]), ...(repeated === undefined ? [] : [repeated])];
    const body = this.#replaced(escaped(Yaml.stringify(...objects)), 0);
    // repeated objects need what tells them apart
    const documents = repeated === undefined ? body : `---\n${body}`;
    return around.reduceRight((inner, begin) => `{{- ${begin} }}\n${inner}{{- end }}\n`, documents);
  }

  #replaced(yaml: string, indent: number): string {
    let textBelow: number | undefined;
    return yaml
      .split('\n')
      .map((line) => (line === '' ? line : `${' '.repeat(indent)}${line}`))
      .map((line) => {
        const depth = line.search(/\S/);
        if (textBelow !== undefined && (depth < 0 || depth > textBelow)) return this.#inText(line);
        textBelow = /: [|>][-+\d]*$/.test(line) ? depth : undefined;
        return this.#line(line);
      })
      .join('\n');
  }

  #line(line: string): string {
    // a mark alone: as an entry of a list, as a map's field, or as a field's value
    const alone = /^( *)(?:- )?"?~?@@(\d+)@@"?(?:: "?~?@@\d+@@"?)?$/.exec(line);
    const meaning = alone === null ? undefined : this.#meanings[Number(alone[2])];
    const indent = alone?.[1]?.length ?? 0;
    if (meaning?.is === 'lines') return this.#around(meaning, indent);
    if (meaning?.is === 'spread') return spread(meaning.source, indent);
    return MARK.test(line) ? this.#scalar(line) : line;
  }

  #around({ begin, yaml, end }: Extract<Meaning, { is: 'lines' }>, indent: number): string {
    const inner = this.#replaced(escaped(yaml).trimEnd(), indent);
    return `${' '.repeat(indent)}{{- ${begin} }}\n${inner}\n${' '.repeat(indent)}{{- ${end} }}`;
  }

  /** A field or an entry whose value has marks in it. */
  #scalar(line: string): string {
    const [, lead = '', written = ''] = /^( *(?:- )*(?:"[^"]*"|[^\s"':][^\s:]*): |(?: *- )+)?(.*)$/.exec(line) ?? [];
    const value = unquoted(written);
    const [, id] = /^@@(\d+)@@$/.exec(value) ?? [];
    const meaning = id === undefined ? undefined : this.#meanings[Number(id)];
    if (meaning?.is !== 'value') return `${lead}{{ toJson ${this.#print(value)} }}`;
    if (meaning.kind !== 'block') return `${lead}{{ toJson ${meaning.source} }}`;
    return `${lead.trimEnd()}\n${blockAt(meaning.source, indentOf(lead) + 2)}`;
  }

  /** Within a text of several lines. */
  #inText(line: string): string {
    return line.replaceAll(MARKS, (_mark, id: string) => `{{ ${this.#textOf(id)} }}`);
  }

  /** A string with marks in it as an expression. */
  #print(text: string): string {
    const parts = text.split(MARKS).map((part, index) => (index % 2 === 1 ? this.#textOf(part) : part === '' ? '' : goString(part)));
    const given = parts.filter((part) => part !== '');
    return given.length === 1 ? given.join('') : `(print ${given.join(' ')})`;
  }

  #textOf(id: string): string {
    const meaning = this.#meanings[Number(id)];
    if (meaning?.is !== 'value' || meaning.kind !== 'text') throw new TypeError(`${JSON.stringify(meaning)} cannot stand within a text`);
    return meaning.source;
  }

  #lines(begin: string, yaml: string): string {
    return this.#mark({ is: 'lines', begin, yaml, end: 'end' });
  }

  #value(source: string, kind: 'text' | 'scalar' | 'block'): string {
    return this.#mark({ is: 'value', source, kind });
  }

  #mark(meaning: Meaning): string {
    return `@@${this.#meanings.push(meaning) - 1}@@`;
  }

  #sourceOf(mark: unknown): string {
    const [, id] = /^@@(\d+)@@$/.exec(String(mark)) ?? [];
    const meaning = id === undefined ? undefined : this.#meanings[Number(id)];
    if (meaning?.is !== 'value') throw new TypeError(`not one of a chart's values: ${JSON.stringify(mark)}`);
    return meaning.source;
  }

  /** The shape of the values, with a mark in the place of each. */
  #marksFor(schema: z.ZodType, path: string): unknown {
    const { inner, meta } = unwrapped(schema);
    if (inner instanceof z.ZodObject && meta['block'] !== true) {
      return Object.fromEntries(
        Object.entries(inner.shape as Record<string, z.ZodType>).map(([key, field]) => [key, this.#marksFor(field, `${path}.${key}`)]),
      );
    }
    const needed = meta['whenMissing'];
    const source = typeof needed === 'string' ? `(required ${goString(needed)} ${path})` : path;
    return this.#value(source, kindOf(inner));
  }
}

/** A schema below its defaults, and what is said about it at any level. */
export function unwrapped(schema: z.ZodType): { readonly inner: z.ZodType; readonly meta: Readonly<Record<string, unknown>> } {
  const meta = schema.meta() ?? {};
  if (!(schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault)) return { inner: schema, meta };
  const below = unwrapped(schema.unwrap() as z.ZodType);
  return { inner: below.inner, meta: { ...below.meta, ...meta } };
}

function kindOf(schema: z.ZodType): 'text' | 'scalar' | 'block' {
  if (schema instanceof z.ZodString || schema instanceof z.ZodEnum) return 'text';
  return schema instanceof z.ZodArray || schema instanceof z.ZodRecord || schema instanceof z.ZodObject ? 'block' : 'scalar';
}

function sourceOf(condition: Condition): string {
  return condition instanceof Expression ? condition.source : String(condition);
}

/** As a field among others: cdk8s sorts fields, and this one comes last, so that it never shares its line with a list's dash. */
function keyed(mark: string): object {
  return { [`~${mark}`]: mark };
}

function spread(source: string, indent: number): string {
  const space = ' '.repeat(indent);
  return `${space}{{- with ${source} }}\n${blockAt('.', indent)}\n${space}{{- end }}`;
}

function blockAt(source: string, indent: number): string {
  return `${' '.repeat(indent)}{{- toYaml ${source} | nindent ${indent} }}`;
}

function indentOf(lead: string): number {
  return /^ *(?:- )*/.exec(lead)?.[0].length ?? 0;
}

/** A scalar as YAML writes it on one line. */
function unquoted(written: string): string {
  if (written.startsWith('"')) return JSON.parse(written) as string;
  return written.startsWith("'") ? written.slice(1, -1).replaceAll("''", "'") : written;
}

/** Braces that are meant for somebody else than Helm. */
function escaped(yaml: string): string {
  return yaml.replaceAll('{{', '{{ "{{" }}');
}

/** A string of Go's, which writes them as JSON does. */
function goString(text: string): string {
  return JSON.stringify(text);
}
