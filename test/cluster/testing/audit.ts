import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { state } from './cluster.ts';

/** One write that the API server was asked for. */
export interface Write {
  readonly user: string;
  readonly verb: string;
  readonly resource: string;
  readonly name: string;
  readonly code: number;
}

const log = join(state, 'log', 'audit.log');

/** A place in the audit log: writes from here on can be read with `writesSince`. */
export async function now(): Promise<number> {
  return (await stat(log)).size;
}

/** What a ServiceAccount of the installation wrote since then; Leases are not in the log. */
export async function writesSince(mark: number, user: string): Promise<readonly Write[]> {
  const writes: Write[] = [];
  for await (const line of createInterface({ input: createReadStream(log, { start: mark }) })) {
    const entry = JSON.parse(line) as AuditEntry;
    if (entry.user.username !== user || entry.objectRef === undefined) continue;
    const { objectRef, verb, responseStatus } = entry;
    const name = `${objectRef.namespace ?? ''}/${objectRef.name ?? ''}`;
    writes.push({ user, verb, resource: objectRef.resource ?? '', name, code: responseStatus?.code ?? 0 });
  }
  return writes;
}

interface AuditEntry {
  readonly user: { readonly username: string };
  readonly verb: string;
  readonly objectRef?: { readonly resource?: string; readonly namespace?: string; readonly name?: string };
  readonly responseStatus?: { readonly code?: number };
}

export const OPERATOR = 'system:serviceaccount:toolyard:operator';
