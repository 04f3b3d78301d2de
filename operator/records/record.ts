import { z } from 'zod';
import {
  OFFICIAL_META,
  PUBLISHER_META,
  type RecordStatus,
  type ServerJson,
  type ServerRecord,
} from '../../lib/registry-api/server-json.ts';

/** The key inside the publisher's own `_meta` that marks a record as kept by toolyard. */
export const STAMP_KEY = 'toolyard.dev';

export const onDeletes = ['delete', 'deprecate', 'keep'] as const;
/** What becomes of a record that is no longer declared. */
export type OnDelete = (typeof onDeletes)[number];

/** Who keeps a record. It travels in the record itself, so that a restarted operator, or another one, needs no memory. */
export interface Stamp {
  readonly install: string;
  readonly source: string;
  /** absent means delete; stamped because the declaration that says so is gone when it is needed */
  readonly onDelete?: OnDelete;
}

const stampSchema = z.object({ install: z.string(), source: z.string(), onDelete: z.enum(onDeletes).optional().catch(undefined) });

/** One (name, version) as the registry shows it. */
export interface PublishedRecord {
  readonly name: string;
  readonly version: string;
  readonly document: ServerJson;
  readonly status: RecordStatus;
  readonly statusMessage?: string;
  readonly isLatest: boolean;
  /** Unix time, ms */
  readonly publishedAt: number;
  /** absent: published by somebody else, by hand for example */
  readonly stamp?: Stamp;
}

/** @returns undefined for a record without the registry's own metadata: its status is not known, so nothing can be decided about it */
export function publishedRecord({ server, _meta }: ServerRecord): PublishedRecord | undefined {
  const official = _meta[OFFICIAL_META];
  if (official === undefined) return undefined;
  const stamp = stampOf(server);
  return {
    name: server.name,
    version: server.version,
    document: server,
    status: official.status,
    isLatest: official.isLatest,
    publishedAt: Date.parse(official.publishedAt) || 0,
    ...(official.statusMessage !== undefined && { statusMessage: official.statusMessage }),
    ...(stamp !== undefined && { stamp }),
  };
}

/** What the publisher keeps in a document's `_meta`. */
export function publisherMeta({ _meta }: ServerJson): Readonly<Record<string, unknown>> {
  return _meta?.[PUBLISHER_META] ?? {};
}

/** A document with this mark in the publisher's `_meta`, whatever else the publisher keeps there. */
export function stamped(document: ServerJson, stamp: Stamp): ServerJson {
  const { onDelete, ...mark } = stamp;
  const written = onDelete === undefined || onDelete === 'delete' ? mark : stamp;
  return { ...document, _meta: { [PUBLISHER_META]: { ...publisherMeta(document), [STAMP_KEY]: written } } };
}

/** A document as its publisher wrote it. */
export function unstamped(published: ServerJson): ServerJson {
  const { _meta, ...document } = published;
  const { [STAMP_KEY]: _mark, ...provided } = publisherMeta(published);
  return Object.keys(provided).length === 0 ? document : { ...document, _meta: { [PUBLISHER_META]: provided } };
}

export function isLive({ status }: PublishedRecord): boolean {
  return status !== 'deleted';
}

function stampOf(document: ServerJson): Stamp | undefined {
  const parsed = stampSchema.safeParse(publisherMeta(document)[STAMP_KEY]);
  if (!parsed.success) return undefined;
  const { install, source, onDelete } = parsed.data;
  return { install, source, ...(onDelete !== undefined && { onDelete }) };
}
