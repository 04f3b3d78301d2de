import { CliError, exit } from '../exit.ts';

/** The part of a tool's JSON Schema that decides how `key=value` is read. */
export interface InputSchema {
  readonly properties?: Readonly<Record<string, unknown>> | undefined;
  readonly required?: readonly string[] | undefined;
}

/** What a word of the command line stands for; files are read by the caller. */
export type Word = { key: string; text: string } | { key: string; file: string };

/**
 * Reads `key=value`; `key=@path` takes the value from a file, `key=@-` from standard input.
 * @throws CliError `usage` for a word without `=`
 */
export function parseWord(word: string): Word {
  const at = word.indexOf('=');
  if (at <= 0) {
    throw new CliError(exit.usage, `${JSON.stringify(word)} is not key=value`, {
      next: "write key=value, key=@file, or all at once: --args '{…}'",
    });
  }
  const key = word.slice(0, at);
  const text = word.slice(at + 1);
  return text.startsWith('@') && text.length > 1 ? { key, file: text.slice(1) } : { key, text };
}

/**
 * Types each value as the tool's input schema asks: a string stays as written, numbers and booleans are parsed, objects and lists are JSON.
 * @throws CliError `usage` naming the key, what it got and what it accepts
 */
export function typedArguments(tool: string, schema: InputSchema, given: readonly (readonly [string, string])[]): Record<string, unknown> {
  const properties = schema.properties ?? {};
  const result: Record<string, unknown> = {};
  for (const [key, text] of given) {
    if (!Object.hasOwn(properties, key)) {
      const known = Object.keys(properties);
      throw new CliError(exit.usage, `${tool} has no argument ${JSON.stringify(key)}`, {
        next: known.length === 0 ? 'it takes none' : `it takes: ${known.join(', ')}`,
      });
    }
    Object.defineProperty(result, key, { value: typed(key, text, properties[key]), enumerable: true });
  }
  requireAll(tool, schema, result);
  return result;
}

/** @throws CliError `usage` naming every required argument that is missing */
export function requireAll(tool: string, schema: InputSchema, args: Readonly<Record<string, unknown>>): void {
  const missing = (schema.required ?? []).filter((key) => !Object.hasOwn(args, key));
  if (missing.length > 0) {
    throw new CliError(exit.usage, `${tool} needs ${missing.join(', ')}`, { next: `add ${missing.map((key) => `${key}=…`).join(' ')}` });
  }
}

function typed(key: string, text: string, schema: unknown): unknown {
  const types = typesOf(schema);
  for (const type of readingOrder) {
    if (!types.includes(type)) continue;
    const value = read[type](text);
    if (value !== undefined) return value;
  }
  if (types.length === 0) return untyped(text);
  throw new CliError(exit.usage, `${key} got ${JSON.stringify(text)}, accepts ${types.join(' or ')}`, {
    next: `write it as ${types.map((type) => examples[type]).join(' or ')}`,
  });
}

type JsonType = 'null' | 'boolean' | 'integer' | 'number' | 'object' | 'array' | 'string';

/** Of several allowed types the narrowest that fits wins: with string or null, `null` means null. */
const readingOrder: readonly JsonType[] = ['null', 'boolean', 'integer', 'number', 'object', 'array', 'string'];

const examples: Record<JsonType, string> = {
  null: 'null',
  boolean: 'true or false',
  integer: 'a whole number',
  number: 'a number',
  object: '\'{"a": 1}\'',
  array: '\'["a", 1]\'',
  string: 'text',
};

const read: Record<JsonType, (text: string) => unknown> = {
  null: (text) => (text === 'null' ? null : undefined),
  boolean: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
  integer: (text) => (/^-?\d+$/.test(text) ? Number(text) : undefined),
  number: (text) => (text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : undefined),
  object: (text) => json(text, (value) => typeof value === 'object' && value !== null && !Array.isArray(value)),
  array: (text) => json(text, Array.isArray),
  string: (text) => text,
};

function json(text: string, accept: (value: unknown) => boolean): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return accept(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Without a type in the schema: JSON when it is JSON, else the text. */
function untyped(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

interface SchemaNode {
  readonly type?: JsonType | readonly JsonType[];
  readonly anyOf?: readonly unknown[];
  readonly oneOf?: readonly unknown[];
  readonly enum?: readonly unknown[];
}

/** What a schema accepts, in JSON's words; none when it does not say. */
export function typesOf(schema: unknown): JsonType[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const node = schema as SchemaNode;
  const own = node.type === undefined ? [] : [node.type].flat();
  const alternatives = [...(node.anyOf ?? []), ...(node.oneOf ?? [])].flatMap(typesOf);
  const listed = own.length + alternatives.length === 0 ? (node.enum ?? []).map(typeOfValue) : [];
  return [...new Set([...own, ...alternatives, ...listed])].filter((type) => type in examples);
}

function typeOfValue(value: unknown): JsonType {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value as JsonType;
}
