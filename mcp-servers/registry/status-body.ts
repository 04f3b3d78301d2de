import { isPlainObject } from '../../lib/registry-api/normal-form.ts';
import { codePoints, recordStatuses, type RecordStatus } from '../../lib/registry-api/server-json.ts';
import type { Reading } from './input.ts';
import type { StatusWish } from './lifecycle.ts';
import type { Detail } from './problem.ts';

const MAX_MESSAGE = 500;

/** Reads the body of the status routes, keys in any case, or lists all that is wrong with it in the official order and words. */
export function statusWishOf(body: unknown): Reading<StatusWish> {
  if (!isPlainObject(body)) return { faults: [{ message: 'expected object', location: 'body', value: body }] };
  const entries = Object.entries(body);
  const read = (name: string) => entries.findLast(([key]) => key.toLowerCase() === name.toLowerCase())?.[1];
  const status = read('status');
  const message = read('statusMessage') ?? null;
  const unknown = entries.filter(([key]) => !['status', 'statusmessage'].includes(key.toLowerCase()));
  const faults = [
    ...(status === undefined
      ? [{ message: 'expected required property status to be present', location: 'body', value: body }]
      : statusFaults(status)),
    ...(message === null ? [] : messageFaults(message)),
    ...unknown.map(([key]) => ({ message: 'unexpected property', location: `body.${key}`, value: body })),
  ];
  if (faults.length > 0) return { faults };
  return { means: { status: status as RecordStatus, message: (message as string | null)?.toWellFormed() ?? null } };
}

function statusFaults(value: unknown): Detail[] {
  if (typeof value !== 'string') return [{ message: 'expected string', location: 'body.status', value }];
  if (recordStatuses.some((status) => status === value)) return [];
  return [{ message: `expected value to be one of "${recordStatuses.join(', ')}"`, location: 'body.status', value }];
}

function messageFaults(value: unknown): Detail[] {
  const location = 'body.statusMessage';
  if (typeof value !== 'string') return [{ message: 'expected string', location, value }];
  return codePoints(value) <= MAX_MESSAGE ? [] : [{ message: `expected length <= ${MAX_MESSAGE}`, location, value }];
}
