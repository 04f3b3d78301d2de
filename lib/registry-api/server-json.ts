import { z } from 'zod';
import { uriFault } from './go-url.ts';

/** The schema that server.json documents name in `$schema`. */
export const SCHEMA_URL = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json';

/** Key of the registry's own metadata, beside the document. */
export const OFFICIAL_META = 'io.modelcontextprotocol.registry/official';

/** The one key a publisher may use in a document's `_meta`. */
export const PUBLISHER_META = 'io.modelcontextprotocol.registry/publisher-provided';

/**
 * An object as the registry's request layer takes it: no other keys, and faults reported in the alphabetical order of its properties.
 * @see https://github.com/danielgtaylor/huma validate.go
 */
function object<Shape extends z.ZodRawShape>(shape: Shape): z.ZodObject<Shape, z.core.$strict> {
  const sorted = Object.entries(shape).sort(([a], [b]) => (a < b ? -1 : 1));
  return z.strictObject(Object.fromEntries(sorted) as Shape);
}

/** The bounds of one text; faults come in this order. Lengths are code points, not UTF-16 units. */
interface TextRules {
  readonly min?: number;
  readonly max?: number;
  readonly pattern?: RegExp;
  readonly uri?: true;
}

function text(rules: TextRules = {}): z.ZodString {
  return z
    .string()
    .check(({ value, issues }) => {
      for (const message of textFaults(value, rules)) issues.push({ code: 'custom', message, input: value, continue: true });
    })
    .meta(describedBy(rules));
}

/** The bounds in words of JSON Schema, for the API's description; it counts lengths in code points too. */
function describedBy({ min, max, pattern, uri }: TextRules): Record<string, unknown> {
  return {
    ...(min !== undefined && { minLength: min }),
    ...(max !== undefined && { maxLength: max }),
    ...(pattern !== undefined && { pattern: pattern.source }),
    ...(uri === true && { format: 'uri' }),
  };
}

function* textFaults(value: string, { min = 0, max = Infinity, pattern, uri }: TextRules): Generator<string> {
  const length = codePoints(value);
  if (length < min) yield `expected length >= ${min}`;
  if (length > max) yield `expected length <= ${max}`;
  if (pattern?.test(value) === false) yield `expected string to match pattern ${pattern.source.replaceAll('\\/', '/')}`;
  const fault = uri === undefined ? undefined : uriFault(value);
  if (fault !== undefined) yield fault;
}

/** How long the registry takes a text to be. */
export function codePoints(value: string): number {
  let count = 0;
  for (const _ of value) count += 1;
  return count;
}

/** Kept in the stored form even when empty: an argument may be an explicit empty string. */
const keptWhenEmpty = text().optional().meta({ keepEmpty: true });

const inputFields = {
  description: text().optional(),
  isRequired: z.boolean().optional(),
  format: z.enum(['string', 'number', 'boolean', 'filepath']).optional(),
  value: text().optional(),
  isSecret: z.boolean().optional(),
  default: text().optional(),
  placeholder: text().optional(),
  choices: z.array(text()).optional(),
};
const input = object(inputFields);
const inputWithVariables = { ...inputFields, variables: z.record(z.string(), input).optional() };

const keyValueInput = object({ ...inputWithVariables, name: text() });

const argument = object({
  ...inputWithVariables,
  type: text(),
  name: text().optional(),
  value: keptWhenEmpty,
  valueHint: keptWhenEmpty,
  isRepeated: z.boolean().optional(),
});

const transport = object({
  type: text(),
  url: text().optional(),
  headers: z.array(keyValueInput).optional(),
  variables: z.record(z.string(), input).optional(),
});

const packageEntry = object({
  registryType: text({ min: 1 }),
  registryBaseUrl: text({ uri: true }).optional(),
  identifier: text({ min: 1 }),
  version: text({ min: 1, max: 255 }).optional(),
  fileSha256: text({ pattern: /^[a-f0-9]{64}$/ }).optional(),
  runtimeHint: text().optional(),
  transport,
  runtimeArguments: z.array(argument).optional(),
  packageArguments: z.array(argument).optional(),
  environmentVariables: z.array(keyValueInput).optional(),
});

const repository = object({
  url: text({ uri: true }).optional(),
  source: text().optional(),
  id: text().optional(),
  subfolder: text().optional(),
});

const icon = object({
  src: text({ max: 255, uri: true }),
  mimeType: z.enum(['image/png', 'image/jpeg', 'image/jpg', 'image/svg+xml', 'image/webp']).optional(),
  sizes: z.array(text()).optional(),
  theme: z.enum(['light', 'dark']).optional(),
});

/**
 * A server.json, 2025-12-11, with the shapes and bounds that the registry's request layer enforces (HTTP 422 with `errors`).
 * It takes documents in the spelling of the schema: `validateServerJson` first folds keys and drops nulls, as the registry does.
 */
export const serverJsonSchema = object({
  $schema: text({ min: 1, uri: true }),
  name: text({ min: 3, max: 200, pattern: /^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/ }),
  description: text({ min: 1, max: 100 }),
  title: text({ min: 1, max: 100 }).optional(),
  repository: repository.optional(),
  version: text({ min: 1, max: 255 }),
  websiteUrl: text({ uri: true }).optional(),
  icons: z.array(icon).optional(),
  packages: z.array(packageEntry).optional(),
  remotes: z.array(transport).optional(),
  _meta: object({ [PUBLISHER_META]: z.record(z.string(), z.unknown()).optional() }).optional(),
});

export type ServerJson = z.infer<typeof serverJsonSchema>;
export type Package = z.infer<typeof packageEntry>;
export type Transport = z.infer<typeof transport>;
export type Argument = z.infer<typeof argument>;
export type KeyValueInput = z.infer<typeof keyValueInput>;
export type Repository = z.infer<typeof repository>;

export const recordStatuses = ['active', 'deprecated', 'deleted'] as const;
export type RecordStatus = (typeof recordStatuses)[number];

/** What the registry itself knows about a record. Times are RFC 3339. Unknown keys of newer registries are dropped. */
export const officialMetaSchema = z.object({
  status: z.enum(recordStatuses),
  statusChangedAt: z.string(),
  statusMessage: z.string().optional(),
  publishedAt: z.string(),
  updatedAt: z.string(),
  isLatest: z.boolean(),
});
export type OfficialMeta = z.infer<typeof officialMetaSchema>;

/** One published (name, version). */
export interface ServerRecord {
  readonly server: ServerJson;
  readonly _meta: { readonly [OFFICIAL_META]?: OfficialMeta };
}

/** The registry's own metadata of a record; undefined when the registry gives none. */
export function officialMeta(record: ServerRecord): OfficialMeta | undefined {
  return record['_meta'][OFFICIAL_META];
}

/** What the publisher put into a document's `_meta`; undefined when there is nothing. */
export function publisherMeta(server: ServerJson): Readonly<Record<string, unknown>> | undefined {
  return server['_meta']?.[PUBLISHER_META];
}
