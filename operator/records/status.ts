import { z } from 'zod';
import type { UnreadableRecord } from '../../lib/registry-api/answers.ts';
import type { ToolInventory } from './answers.ts';
import type { DeclarationFault } from './declaration.ts';
import { defined } from './defined.ts';
import type { OnDelete } from './record.ts';

export const conditionTypes = ['Accepted', 'Reachable', 'Advertised', 'Published'] as const;

/**
 * One question about a declaration and its answer. `Accepted`: is it valid and may it be declared here? `Reachable`: does its server answer?
 * `Published`: does the registry show exactly this? `Advertised` is there only when an endpoint is probed instead of what the record says.
 */
export interface Condition {
  readonly type: (typeof conditionTypes)[number];
  readonly status: 'True' | 'False' | 'Unknown';
  /** one word in CamelCase, for programs */
  readonly reason: string;
  /** plain words: what is the case, and what to do next when something is */
  readonly message: string;
  /** when `status` last changed, RFC 3339 */
  readonly lastTransitionTime: string;
}

/** One word for all of it: the value of the label `toolyard.dev/state`. */
export type State = 'Published' | 'Deprecated' | 'Pending' | 'Refused' | 'Withdrawing';

export interface DeclarationStatus {
  readonly source: string;
  /** '' when the declaration does not tell */
  readonly name: string;
  readonly version: string;
  readonly state: State;
  readonly conditions: readonly Condition[];
  /** everything wrong with server.json and toolyard.json */
  readonly faults?: readonly DeclarationFault[];
  /** as far as they fit */
  readonly tools?: ToolInventory;
  /** `sha256:` and 64 hex digits of the record as it is to be published: tells which content this status is about */
  readonly digest?: string;
  /** the address that is probed */
  readonly endpoint?: string;
  /** RFC 3339; only while the server does not answer */
  readonly nextProbeAt?: string;
  /** RFC 3339; only while its declaration is gone and may still come back */
  readonly withdrawAt?: string;
  /** what becomes of its record when the declaration goes; absent when it is withdrawn */
  readonly onDelete?: Exclude<OnDelete, 'delete'>;
}

/** What is used of an earlier status. Somebody may have changed it, or an operator of another version written it. */
export const earlierStatus = z.looseObject({
  source: z.string(),
  name: z.string(),
  version: z.string(),
  conditions: z.array(
    z.looseObject({
      type: z.enum(conditionTypes),
      status: z.enum(['True', 'False', 'Unknown']),
      reason: z.string(),
      message: z.string(),
      lastTransitionTime: z.iso.datetime(),
    }),
  ),
  faults: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
  tools: z.object({ count: z.number(), digest: z.string(), names: z.array(z.string()) }).optional(),
});

export interface RegistryState {
  readonly url: string;
  readonly state: 'up' | 'down';
  /** RFC 3339 */
  readonly since: string;
  /** why it is down, and what happens next */
  readonly message?: string;
  /** records that cannot be read, when there are any: nothing is done to their names */
  readonly unreadable?: Unreadable;
}

export interface Unreadable {
  readonly count: number;
  /** the first few of them */
  readonly records: readonly UnreadableRecord[];
}

/** What the operator knows; the content of STATUS_FILE. */
export interface OperatorView {
  readonly version: 1;
  readonly install: string;
  /** when this was written, RFC 3339 */
  readonly updatedAt: string;
  readonly registry: RegistryState;
  /** why the declarations could not be read in full; nothing is withdrawn meanwhile */
  readonly source?: { readonly message: string };
  /** most servers stopped at once, so the fault is probably the operator's: no record is deprecated meanwhile */
  readonly selfSuspicion?: true;
  /** by source */
  readonly declarations: readonly DeclarationStatus[];
}

/** Where the operator shows what it knows: one file, or each ConfigMap for itself. */
export interface StatusSink {
  /** Shows this view, or a later one. A file is written by the time this resolves. @throws when that is not possible */
  write(view: OperatorView): Promise<void>;
  /** Resolves when nothing is being written any more. */
  close(): Promise<void>;
}

/** A status before it is known since when its answers are what they are. */
export interface Description extends Omit<DeclarationStatus, 'conditions'> {
  readonly conditions: readonly Omit<Condition, 'lastTransitionTime'>[];
  /** an answer is still missing that will come by itself */
  readonly provisional: boolean;
}

/** Largest status of one declaration, bytes of JSON: an annotation of this size is still cheap to keep. */
export const MAX_STATUS_BYTES = 8 * 1024;

/** A description with the times at which its answers last changed, cut to MAX_STATUS_BYTES. */
export function withTimes(
  { provisional: _, ...status }: Description,
  before: DeclarationStatus | undefined,
  now: string,
): DeclarationStatus {
  const conditions = status.conditions.map((condition) => {
    const old = before?.conditions.find(({ type }) => type === condition.type);
    return { ...condition, lastTransitionTime: old?.status === condition.status ? old.lastTransitionTime : now };
  });
  return bounded({ ...status, conditions });
}

const MAX_MESSAGE = 500;
/** No name or version that a registry takes is longer; that of a faulty declaration may be. */
const MAX_NAME = 255;

/** Long lists go first: of faults and tool names as many stay as fit. */
function bounded(status: DeclarationStatus): DeclarationStatus {
  const conditions = status.conditions.map((condition) => ({ ...condition, message: cut(condition.message, MAX_MESSAGE) }));
  const named = { name: cut(status.name, MAX_NAME), version: cut(status.version, MAX_NAME) };
  const short: DeclarationStatus = { ...status, ...named, conditions };
  if (bytesOf(short) <= MAX_STATUS_BYTES) return short;
  const { tools, faults, ...rest } = short;
  const faultRoom = MAX_STATUS_BYTES - bytesOf({ ...rest, faults: [], tools: tools === undefined ? undefined : { ...tools, names: [] } });
  const listed = faults?.map(({ path, message }) => ({ path: cut(path, MAX_MESSAGE), message: cut(message, MAX_MESSAGE) }));
  const fitting = { ...rest, ...defined({ faults: listed === undefined ? undefined : asFit(listed, faultRoom) }) };
  if (tools === undefined) return fitting;
  const names = asFit(tools.names, MAX_STATUS_BYTES - bytesOf({ ...fitting, tools: { ...tools, names: [] } }));
  return { ...fitting, tools: { ...tools, names } };
}

function asFit<T>(items: readonly T[], room: number): readonly T[] {
  let left = room;
  const end = items.findIndex((item) => (left -= bytesOf(item) + 1) < 0);
  return end === -1 ? items : items.slice(0, end);
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`;
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** Something about a declaration that is worth telling once: a condition that changed. */
export interface StatusEvent {
  readonly source: string;
  readonly name: string;
  readonly type: 'Normal' | 'Warning';
  readonly about: Condition['type'];
  readonly reason: string;
  readonly message: string;
}

const MAX_EVENT = 1000;

/** What changed between two statuses of one declaration. Repeating a status tells nothing. */
export function eventsBetween(before: DeclarationStatus | undefined, after: DeclarationStatus): readonly StatusEvent[] {
  return after.conditions.flatMap((condition) => {
    const old = before?.conditions.find(({ type }) => type === condition.type);
    if (old?.status === condition.status && old.reason === condition.reason) return [];
    const { source, name } = after;
    const faults = condition.type === 'Accepted' ? (after.faults ?? []).map(({ path, message }) => `${path}: ${message}`).join('; ') : '';
    const message = cut(faults === '' ? condition.message : faults, MAX_EVENT);
    const type = condition.status === 'False' ? 'Warning' : 'Normal';
    return [{ source, name, type, about: condition.type, reason: condition.reason, message }];
  });
}
