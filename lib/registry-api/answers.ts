import { z } from 'zod';
import { RegistryError } from './errors.ts';
import { pathOf } from './fault.ts';
import { excessOf, foldDocument, normalForm } from './normal-form.ts';
import { OFFICIAL_META, officialMetaSchema, type ServerRecord } from './server-json.ts';
import { shapeIssues } from './shape.ts';

/** One page of a list. */
export interface Page {
  readonly records: readonly ServerRecord[];
  /** opaque; undefined on the last page */
  readonly nextCursor: string | undefined;
}

/** A hundred are asked for; others may send more, but not without end. */
const MAX_PAGE_RECORDS = 10_000;

const recordSchema = z.object({
  server: z.unknown(),
  _meta: z.object({ [OFFICIAL_META]: officialMetaSchema.optional() }).optional(),
});
const pageSchema = z.object({
  servers: z.array(z.unknown()).max(MAX_PAGE_RECORDS),
  metadata: z.object({ nextCursor: z.string().nullish() }),
});
const reportSchema = z.object({
  valid: z.boolean(),
  issues: z.array(
    z.object({
      type: z.string(),
      path: z.string(),
      message: z.string(),
      severity: z.enum(['error', 'warning', 'info']),
      reference: z.string().default(''),
    }),
  ),
});

/** What a registry's `/validate` says of a document. */
export type ValidationReport = z.infer<typeof reportSchema>;

/**
 * A registry is untrusted input: these read its answers, dropping fields they do not know, so that a newer registry can be read too.
 * @throws RegistryError `protocol` for any other shape
 */
export function readPage(body: unknown): Page {
  const { servers, metadata } = read(pageSchema, body);
  const nextCursor = metadata.nextCursor ?? '';
  return { records: servers.map(readRecord), nextCursor: nextCursor === '' ? undefined : nextCursor };
}

export function readRecord(body: unknown): ServerRecord {
  const { server, _meta: meta = {} } = read(recordSchema, body);
  const excess = excessOf(server);
  if (excess !== undefined) throw unreadable('server', excess);
  const broken = shapeIssues(foldDocument(server)).find(({ kind }) => kind === 'type' || kind === 'missing');
  if (broken !== undefined) throw unreadable(pathOf(['server', ...broken.at]), broken.message);
  const official = meta[OFFICIAL_META];
  return { server: normalForm(server), _meta: official === undefined ? {} : { [OFFICIAL_META]: official } };
}

export function readReport(body: unknown): ValidationReport {
  return read(reportSchema, body);
}

function read<S extends z.ZodType>(schema: S, body: unknown): z.output<S> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw unreadable(issue?.path.map(String).join('.') ?? '', issue?.message ?? 'unknown shape');
}

function unreadable(path: string, what: string): RegistryError {
  return new RegistryError('protocol', `the answer is not one of an MCP registry: at ${path === '' ? 'its top' : `"${path}"`}: ${what}`);
}
