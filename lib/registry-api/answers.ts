import { z } from 'zod';
import { RegistryError } from './errors.ts';
import { pathOf, shown } from './fault.ts';
import { excessOf, foldDocument, isPlainObject, normalForm } from './normal-form.ts';
import { OFFICIAL_META, officialMetaSchema, type ServerJson, type ServerRecord } from './server-json.ts';
import { shapeIssues } from './shape.ts';
import { MAX_FAULTS } from './validate.ts';

/** A record of a list that is in no shape to be read. Its texts are the registry's, cut, and without control characters. */
export interface UnreadableRecord {
  /** as far as the record tells them */
  readonly name?: string;
  readonly version?: string;
  /** where, and what */
  readonly fault: string;
}

/** One page of a list. */
export interface Page {
  readonly records: readonly ServerRecord[];
  /** left out of `records`: the fault of one must not hide the others */
  readonly unreadable: readonly UnreadableRecord[];
  /** opaque; undefined on the last page */
  readonly nextCursor: string | undefined;
  /** of the whole answer */
  readonly characters: number;
}

/** A hundred are asked for; others may send more, but not without end. */
const MAX_PAGE_RECORDS = 10_000;

/** Three times what the official registry makes of its longest name and version, escaped. It goes into a request's first line. */
const MAX_CURSOR = 4096;

const recordSchema = z.object({
  server: z.unknown(),
  _meta: z.object({ [OFFICIAL_META]: officialMetaSchema.optional() }).optional(),
});
const pageSchema = z.object({
  servers: z.array(z.unknown()).max(MAX_PAGE_RECORDS),
  metadata: z.object({ nextCursor: z.string().max(MAX_CURSOR).nullish() }),
});
const words = z.string().transform((text) => shown(text));
const reportSchema = z.object({
  valid: z.boolean(),
  issues: z
    .array(
      z.object({
        type: words,
        path: words,
        message: words,
        severity: z.enum(['error', 'warning', 'info']),
        reference: words.default(''),
      }),
    )
    .transform((issues) => issues.slice(0, MAX_FAULTS)),
});

/** What a registry's `/validate` says of a document. */
export type ValidationReport = z.infer<typeof reportSchema>;

/** Longest text of an unreadable record that is repeated; no name that the registry takes is longer. */
const MAX_TEXT = 255;

/**
 * A registry is untrusted input: these read its answers, dropping fields they do not know, so that a newer registry can be read too.
 * @throws RegistryError `protocol` for any other shape
 */
export function readPage(body: unknown, characters: number): Page {
  const { servers, metadata } = read(pageSchema, body);
  const nextCursor = metadata.nextCursor ?? '';
  const judged = servers.map(understand);
  return {
    records: judged.flatMap((one) => ('record' in one ? [one.record] : [])),
    unreadable: judged.flatMap((one) => ('record' in one ? [] : [one.unreadable])),
    nextCursor: nextCursor === '' ? undefined : nextCursor,
    characters,
  };
}

export function readRecord(body: unknown): ServerRecord {
  const understood = understand(body);
  if ('record' in understood) return understood.record;
  throw unreadable(understood.unreadable.fault);
}

function understand(body: unknown): { readonly record: ServerRecord } | { readonly unreadable: UnreadableRecord } {
  const parsed = recordSchema.safeParse(body);
  if (!parsed.success) return { unreadable: unreadableRecord(body, faultOf(parsed.error)) };
  const { server, _meta: meta = {} } = parsed.data;
  const excess = excessOf(server);
  if (excess !== undefined) return { unreadable: unreadableRecord(body, `at "server": ${excess}`) };
  const broken = shapeIssues(foldDocument(server)).find(({ kind }) => kind === 'type' || kind === 'missing');
  if (broken !== undefined) {
    return { unreadable: unreadableRecord(body, `at "${pathOf(['server', ...broken.at])}": ${broken.message}`) };
  }
  const official = meta[OFFICIAL_META];
  return { record: { server: normalForm(server), _meta: official === undefined ? {} : { [OFFICIAL_META]: official } } };
}

function unreadableRecord(body: unknown, fault: string): UnreadableRecord {
  const server = isPlainObject(body) && isPlainObject(body['server']) ? body['server'] : {};
  // keys in another spelling count too, but folding recurses
  const folded = excessOf(server) === undefined ? foldDocument(server) : server;
  const { name, version } = isPlainObject(folded) ? folded : {};
  return {
    // what is replaced is in no name that a registry takes, so no text becomes another one's name
    ...(typeof name === 'string' && { name: shown(name, MAX_TEXT) }),
    ...(typeof version === 'string' && { version: shown(version, MAX_TEXT) }),
    fault: shown(fault, MAX_TEXT),
  };
}

/** A record that came where those of another name were asked for. */
export function strayRecord({ name, version }: ServerJson): UnreadableRecord {
  return { name: shown(name, MAX_TEXT), version: shown(version, MAX_TEXT), fault: 'it is not of the name that was asked for' };
}

export function readReport(body: unknown): ValidationReport {
  return read(reportSchema, body);
}

function read<S extends z.ZodType>(schema: S, body: unknown): z.output<S> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw unreadable(faultOf(parsed.error));
}

function faultOf({ issues: [issue] }: z.ZodError): string {
  const path = issue?.path.map(String).join('.') ?? '';
  return `at ${path === '' ? 'its top' : `"${path}"`}: ${issue?.message ?? 'unknown shape'}`;
}

function unreadable(fault: string): RegistryError {
  return new RegistryError('protocol', `the answer is not one of an MCP registry: ${fault}`);
}
