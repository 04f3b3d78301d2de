import { Yaml } from 'cdk8s';
import { z } from 'zod';
import { unwrapped } from './helm-template.ts';
import { readValues, valuesSchema } from './values.ts';

/** One row of the table in docs/kubernetes.md. */
export interface ValueRow {
  readonly name: string;
  readonly initial: string;
  readonly description: string;
}

interface Node {
  readonly key: string;
  readonly path: string;
  readonly description: string;
  readonly initial: unknown;
  /** of a group; none for a value */
  readonly below: readonly Node[];
}

const WIDTH = 120;

/** Every value with its default and meaning, in the order of the schema. */
export function valueRows(): readonly ValueRow[] {
  const rows = (node: Node): readonly ValueRow[] =>
    node.below.length > 0
      ? node.below.flatMap(rows)
      : [{ name: node.path, initial: JSON.stringify(node.initial), description: node.description }];
  return tree().flatMap(rows);
}

/** A chart's values.yaml: the defaults, each below what it means. */
export function valuesYaml(): string {
  const lines = (node: Node, indent: string): readonly string[] => [
    ...comment(node.description, indent),
    ...(node.below.length > 0
      ? [`${indent}${node.key}:`, ...node.below.flatMap((below) => lines(below, `${indent}  `))]
      : Yaml.stringify({ [node.key]: node.initial })
          .trimEnd()
          .split('\n')
          .map((line) => `${indent}${line}`)),
  ];
  return tree()
    .map((node) => `\n${lines(node, '').join('\n')}\n`)
    .join('');
}

/** A chart's values.schema.json, which Helm checks values against. */
export function valuesJsonSchema(): object {
  return z.toJSONSchema(valuesSchema, {
    io: 'input',
    target: 'draft-7',
    // our own notes on the schema are nothing for readers of JSON Schema
    override: ({ jsonSchema }) => {
      delete jsonSchema['whenMissing'];
      delete jsonSchema['block'];
    },
  });
}

function tree(): readonly Node[] {
  return nodesOf(valuesSchema, readValues(), '');
}

function nodesOf(schema: z.ZodObject, initial: Readonly<Record<string, unknown>>, prefix: string): readonly Node[] {
  return Object.entries(schema.shape as Record<string, z.ZodType>).map(([key, field]) => {
    const { inner, meta } = unwrapped(field);
    const path = `${prefix}${key}`;
    const group = inner instanceof z.ZodObject && meta['block'] !== true;
    const below = group ? nodesOf(inner, initial[key] as Record<string, unknown>, `${path}.`) : [];
    return { key, path, description: typeof meta['description'] === 'string' ? meta['description'] : '', initial: initial[key], below };
  });
}

function comment(text: string, indent: string): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && indent.length + last.length + word.length < WIDTH) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(`${indent}# ${word}`);
  }
  return lines;
}
