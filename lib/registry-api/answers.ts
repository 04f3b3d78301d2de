import { z } from 'zod';
import { RegistryError } from './errors.ts';
import { foldDocument, MAX_NESTING, nestsDeeperThan, normalForm } from './normal-form.ts';
import { OFFICIAL_META, officialMetaSchema, type ServerRecord } from './server-json.ts';
import { pathOf } from './fault.ts';
import { shapeIssues } from './shape.ts';

/** One page of a list. */
export interface Page {
  readonly records: readonly ServerRecord[];
  /** opaque; undefined on the last page */
  readonly nextCursor: string | undefined;
}

const recordSchema = z.object({
  server: z.unknown(),
  _meta: z.object({ [OFFICIAL_META]: officialMetaSchema.optional() }).optional(),
});
const pageSchema = z.object({
  servers: z.array(recordSchema),
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

/** The envelope of a list adds three levels to a document's own. */
const ENVELOPE_NESTING = 3;

/**
 * A registry is untrusted input: these read its answers, dropping fields they do not know, so that a newer registry can be read too.
 * @throws RegistryError `protocol` for any other shape
 */
export function readPage(body: unknown): Page {
  const { servers, metadata } = read(pageSchema, body);
  const nextCursor = metadata.nextCursor ?? '';
  return { records: servers.map(recordOf), nextCursor: nextCursor === '' ? undefined : nextCursor };
}

export function readRecord(body: unknown): ServerRecord {
  return recordOf(read(recordSchema, body));
}

export function readReport(body: unknown): ValidationReport {
  return read(reportSchema, body);
}

function read<S extends z.ZodType>(schema: S, body: unknown): z.output<S> {
  if (nestsDeeperThan(body, MAX_NESTING + ENVELOPE_NESTING)) throw unreadable('', `nested deeper than ${MAX_NESTING} levels`);
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw unreadable(issue?.path.map(String).join('.') ?? '', issue?.message ?? 'unknown shape');
}

function recordOf({ server, _meta = {} }: z.output<typeof recordSchema>): ServerRecord {
  const broken = shapeIssues(foldDocument(server)).find(({ kind }) => kind === 'type' || kind === 'missing');
  if (broken !== undefined) throw unreadable(pathOf(['server', ...broken.at]), broken.message);
  const official = _meta[OFFICIAL_META];
  return { server: normalForm(server), _meta: official === undefined ? {} : { [OFFICIAL_META]: official } };
}

function unreadable(path: string, what: string): RegistryError {
  return new RegistryError('protocol', `the answer is not one of an MCP registry: at ${path === '' ? 'its top' : `"${path}"`}: ${what}`);
}
