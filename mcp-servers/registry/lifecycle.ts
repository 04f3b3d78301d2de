import type { RecordStatus } from '../../lib/registry-api/server-json.ts';
import { compareVersions, pickLatest } from '../../lib/registry-api/version-order.ts';
import { Problem } from './problem.ts';
import type { RecordState } from './store.ts';
import type { Micros } from './time.ts';

/**
 * What one write request does to the records of its name. Pure: facts in, one verdict out.
 * Source of all rules and phrases: modelcontextprotocol/registry v1.8.8, internal/service and internal/api/handlers/v0.
 */
export type Verdict =
  | { readonly do: 'refuse'; readonly problem: Problem }
  | { readonly do: 'insert'; readonly record: RecordState; readonly dethroned: RecordState | undefined }
  | { readonly do: 'replace'; readonly record: RecordState }
  /** those that lose `isLatest` first */
  | { readonly do: 'save'; readonly states: readonly RecordState[] };

/** What a caller's token allows on one name. */
export interface Rights {
  readonly publish: boolean;
  readonly edit: boolean;
}

export interface StatusWish {
  readonly status: RecordStatus;
  /** null is absent, and clears a message; the empty string is a message */
  readonly message: string | null;
}

export const MAX_VERSIONS_PER_NAME = 10_000;

/** Ours: the official registry has no such bound, and more memory. */
export const MAX_BYTES_PER_NAME = 32 * 1024 * 1024;

export interface PublishFacts {
  readonly name: string;
  readonly version: string;
  /** versions of the name, deleted ones included */
  readonly count: number;
  readonly taken: boolean;
  readonly latest: RecordState | undefined;
}

/** A new record is always active. It becomes latest only if it ranks above the latest one, even when that is deleted. */
export function planPublish({ name, version, count, taken, latest }: PublishFacts, now: Micros): Verdict {
  if (count >= MAX_VERSIONS_PER_NAME) {
    return refusePublish(`maximum number of versions for this server reached (${MAX_VERSIONS_PER_NAME}): ${name} has ${count}`);
  }
  if (taken) return refusePublish(`invalid version: cannot publish duplicate version: ${name}@${version} already exists`);
  const isLatest = latest === undefined || succeeds(version, latest.version);
  const times = { statusChangedAt: now, publishedAt: now, updatedAt: now };
  return {
    do: 'insert',
    record: { name, version, status: 'active', statusMessage: null, ...times, isLatest },
    // Losing the flag is no update: syncing clients are not told.
    dethroned: isLatest && latest !== undefined ? { ...latest, isLatest: false } : undefined,
  };
}

/** Equal precedence keeps the older record; where no order is defined the later publication wins, and that is the new one. */
function succeeds(version: string, latest: string): boolean {
  return (compareVersions(version, latest) ?? 1) > 0;
}

export interface EditFacts {
  /** the record at the path of the request */
  readonly current: RecordState | undefined;
  readonly rights: Rights;
  /** what the request's document says */
  readonly name: string;
  readonly version: string;
  /** the first fault that keeps the document out, if any */
  readonly fault: Problem | undefined;
}

/** Only the document and `updatedAt` change; an identical document counts as a change too. */
export function planEdit({ current, rights, name, version, fault }: EditFacts, now: Micros): Verdict {
  if (current === undefined || current.status === 'deleted') return refuse(404, 'Server not found');
  if (!rights.edit) return refuse(403, 'You do not have edit permissions for this server');
  if (name !== current.name) return refuse(400, 'Cannot rename server');
  if (version !== current.version) return refuse(400, 'Version in request body must match URL path parameter');
  if (fault !== undefined) return { do: 'refuse', problem: fault };
  return { do: 'replace', record: { ...current, updatedAt: now } };
}

/** @param states every version of the name */
export function planStatus(
  states: readonly RecordState[],
  version: string,
  wish: StatusWish,
  { rights, now }: { rights: Rights; now: Micros },
): Verdict {
  const current = states.find((state) => state.version === version);
  if (current === undefined) return refuse(404, 'Server version not found');
  if (!rights.publish && !rights.edit) return refuse(403, NO_RIGHTS);
  if (wish.status === 'active' && wish.message !== null)
    return refuse(400, 'status_message cannot be provided when setting status to active');
  if (!differs(current, wish)) return refuse(400, 'No changes to apply: status and message are already set to the provided values');
  if (!isStorable(wish)) return UNSTORABLE;
  return save(states, (state) => (state === current ? withStatus(state, wish, now) : state));
}

/** All versions at once; those that have the status and message already stay untouched. @param states every version of the name */
export function planStatusOfAll(
  states: readonly RecordState[],
  wish: StatusWish,
  { rights, now }: { rights: Rights; now: Micros },
): Verdict {
  if (states.length === 0) return refuse(404, 'Server not found');
  if (!rights.publish && !rights.edit) return refuse(403, NO_RIGHTS);
  const allowed = wish.status !== 'active' || wish.message === null;
  if (!allowed || !states.some((state) => differs(state, wish))) {
    return refuse(400, 'No changes to apply: all versions already have the requested status and message');
  }
  if (!isStorable(wish)) return UNSTORABLE;
  return save(states, (state) => (differs(state, wish) ? withStatus(state, wish, now) : state));
}

const NO_RIGHTS = 'You do not have publish or edit permissions for this server';

function refuse(status: number, detail: string): Verdict {
  return { do: 'refuse', problem: new Problem(status, detail) };
}

const UNSTORABLE: Verdict = {
  do: 'refuse',
  problem: new Problem(400, 'Failed to update server status', [{ message: 'statusMessage holds a NUL character' }]),
};

/** PostgreSQL's text holds no NUL. */
function isStorable({ message }: StatusWish): boolean {
  return message?.includes('\0') !== true;
}

function refusePublish(cause: string): Verdict {
  return { do: 'refuse', problem: new Problem(400, 'Failed to publish server', [{ message: cause }]) };
}

function differs(state: RecordState, wish: StatusWish): boolean {
  return state.status !== wish.status || state.statusMessage !== wish.message;
}

function withStatus(state: RecordState, { status, message }: StatusWish, now: Micros): RecordState {
  const statusChangedAt = state.status === status ? state.statusChangedAt : now;
  return { ...state, status, statusMessage: message, statusChangedAt, updatedAt: now };
}

/** Applies a change to every version, then decides anew which of them is the latest. */
function save(states: readonly RecordState[], change: (state: RecordState) => RecordState): Verdict {
  const changed = states.map(change);
  const winner = pickLatest(changed.map((state) => ({ ...state, deleted: state.status === 'deleted' })));
  const after = changed.map((state) => withFlag(state, state.version === winner?.version));
  const moved = after.filter((state, index) => state !== states[index]);
  return { do: 'save', states: [...moved.filter(({ isLatest }) => !isLatest), ...moved.filter(({ isLatest }) => isLatest)] };
}

function withFlag(state: RecordState, isLatest: boolean): RecordState {
  return state.isLatest === isLatest ? state : { ...state, isLatest };
}
