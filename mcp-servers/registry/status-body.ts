import { joinPath } from '../../lib/registry-api/fault.ts';
import { excessOf, isPlainObject } from '../../lib/registry-api/normal-form.ts';
import { codePoints, recordStatuses, type RecordStatus } from '../../lib/registry-api/server-json.ts';
import { echoes } from '../../lib/registry-api/shape.ts';
import { MAX_FAULTS } from '../../lib/registry-api/validate.ts';
import type { Reading } from './input.ts';
import type { StatusWish } from './lifecycle.ts';
import type { Detail } from './problem.ts';

const MAX_MESSAGE = 500;

/** Reads the body of the status routes, keys in any case, or lists what is wrong with it in the official order and words. */
export function statusWishOf(body: unknown): Reading<StatusWish> {
  const excess = excessOf(body);
  if (excess !== undefined) return { faults: [{ message: excess, location: 'body' }] };
  const faults = faultsOf(body).slice(0, MAX_FAULTS);
  const echo = echoes();
  const shown = faults.map(({ message, location = 'body', value }) => ({ message, location, value: echo(value) }));
  if (shown.length > 0) return { faults: shown };
  const [status, message] = [valueOf(body, 'status'), valueOf(body, 'statusMessage') ?? null];
  return { means: { status: status as RecordStatus, message: (message as string | null)?.toWellFormed() ?? null } };
}

function faultsOf(body: unknown): Detail[] {
  if (!isPlainObject(body)) return [{ message: 'expected object', location: 'body', value: body }];
  const status = valueOf(body, 'status');
  const message = valueOf(body, 'statusMessage') ?? null;
  const unknown = Object.keys(body).filter((key) => !['status', 'statusmessage'].includes(key.toLowerCase()));
  return [
    ...(status === undefined
      ? [{ message: 'expected required property status to be present', location: 'body', value: body }]
      : statusFaults(status)),
    ...(message === null ? [] : messageFaults(message)),
    ...unknown.map((key) => ({ message: 'unexpected property', location: joinPath('body', key), value: body })),
  ];
}

/** Of keys that differ in their case only the last counts. */
function valueOf(body: unknown, name: string): unknown {
  if (!isPlainObject(body)) return undefined;
  return Object.entries(body).findLast(([key]) => key.toLowerCase() === name.toLowerCase())?.[1];
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
