import { faultLine } from '../../lib/registry-api/fault.ts';
import type { DeclarationStatus, OperatorView } from '../../operator/records/status.ts';
import { conditionOf, nameOf } from '../status.ts';

/** Something that happened and that somebody who watches wants to know. */
export interface Happening {
  readonly tone: 'good' | 'bad' | 'warn' | 'plain';
  /** a record's name and version, or the file while it tells neither; `registry` */
  readonly about: string;
  readonly what: string;
  /** one fault a line, with its JSON path */
  readonly details: readonly string[];
  /** for programs: the declaration as it is now; absent when it is gone */
  readonly declaration?: DeclarationStatus;
}

/**
 * What changed between two looks at the operator's knowledge, told once each. A record that is being written is told about when it is
 * written, so an edit is one happening. Pure.
 */
export function happenings(before: OperatorView | undefined, after: OperatorView): Happening[] {
  const known = new Map(before?.declarations.map((one) => [one.source, one]));
  const now = new Map(after.declarations.map((one) => [one.source, one]));
  const changed = after.declarations.flatMap((one) => (isNews(known.get(one.source), one) ? [tell(one, known.get(one.source))] : []));
  const gone = [...known.values()].flatMap((one) => (now.has(one.source) ? [] : [leaving(one, after)]));
  return [...registryNews(before, after), ...sourceNews(before, after), ...suspicion(before, after), ...changed, ...gone];
}

/** A view to remember for the next comparison: what is just being written stays as it was told last. */
export function told(before: OperatorView | undefined, after: OperatorView): OperatorView {
  const known = new Map(before?.declarations.map((one) => [one.source, one]));
  const declarations = after.declarations.map((one) => (isBeingWritten(one) ? (known.get(one.source) ?? one) : one));
  return { ...after, declarations };
}

function isNews(before: DeclarationStatus | undefined, after: DeclarationStatus): boolean {
  if (isBeingWritten(after)) return false;
  return before === undefined || fingerprint(before) !== fingerprint(after);
}

/** All that is worth telling when it changes. Times of probes and the words of a repeated failure are not. */
function fingerprint({ name, version, digest, state, conditions, faults, tools }: DeclarationStatus): string {
  return JSON.stringify([name, version, digest, state, conditions.map(({ type, reason }) => [type, reason]), faults, tools?.digest]);
}

function isBeingWritten({ conditions }: DeclarationStatus): boolean {
  return conditionOf(conditions, 'Published')?.reason === 'Publishing';
}

function tell(one: DeclarationStatus, before: DeclarationStatus | undefined): Happening {
  const about = nameOf(one);
  const published = conditionOf(one.conditions, 'Published')?.message ?? '';
  const base = { about, declaration: one, details: [] };
  switch (one.state) {
    case 'Published':
      return { ...base, tone: 'good', what: `${publishedWord(before)}${toolsOf(one)}` };
    case 'Deprecated':
      return { ...base, tone: 'warn', what: `deprecated: ${published}` };
    case 'Withdrawing':
      return { ...base, tone: 'warn', what: `its file is gone${fate(one)}` };
    case 'Refused':
      return { ...base, tone: 'bad', ...refusal(one, published) };
    default:
      return { ...base, tone: 'plain', what: pendingWhat(one) };
  }
}

/** What becomes of the record, and when, unless its file comes back. */
function fate({ withdrawAt, onDelete }: DeclarationStatus): string {
  if (onDelete === 'keep') return '; the registry keeps its record';
  if (withdrawAt === undefined) return '';
  const at = new Date(withdrawAt).toTimeString().slice(0, 8);
  return `; it is ${onDelete === 'deprecate' ? 'deprecated' : 'withdrawn'} at ${at} unless it comes back`;
}

function publishedWord(before: DeclarationStatus | undefined): string {
  if (before === undefined || before.state === 'Pending') return 'published';
  if (before.state === 'Deprecated') return 'active again';
  if (before.state === 'Published') return 'updated';
  return 'published';
}

function toolsOf({ tools }: DeclarationStatus): string {
  return tools === undefined ? '' : `, ${tools.count === 1 ? '1 tool' : `${tools.count} tools`}`;
}

function refusal(one: DeclarationStatus, published: string): Pick<Happening, 'what' | 'details'> {
  const accepted = conditionOf(one.conditions, 'Accepted');
  const faults = one.faults ?? [];
  const why = accepted?.status === 'False' ? accepted.message : published;
  const rest = published === why ? '' : `; ${published}`;
  if (faults.length === 0) return { what: `refused: ${why}${rest}`, details: [] };
  const count = faults.length === 1 ? '1 fault' : `${faults.length} faults`;
  return { what: `${count} in ${one.source}${rest}`, details: faults.map(faultLine) };
}

function pendingWhat({ conditions, endpoint }: DeclarationStatus): string {
  const published = conditionOf(conditions, 'Published');
  const isAsked = conditionOf(conditions, 'Reachable')?.reason === 'Asking';
  if (isAsked) return `declared; its server is asked${endpoint === undefined ? '' : ` at ${endpoint}`}`;
  return published === undefined ? 'declared' : `pending: ${published.message}`;
}

function leaving(one: DeclarationStatus, { declarations }: OperatorView): Happening {
  const heir = declarations.find(({ name, version }) => name === one.name && version === one.version);
  const what = heir === undefined ? left(one) : `its file is gone; ${heir.source} declares it`;
  return { tone: 'plain', about: nameOf(one), what, details: [] };
}

function left({ state, onDelete }: DeclarationStatus): string {
  const wasPublished = state === 'Withdrawing' || state === 'Published' || state === 'Deprecated';
  return wasPublished ? endings[onDelete ?? 'delete'] : 'its file is gone';
}

const endings = {
  delete: 'withdrawn from the registry',
  deprecate: 'deprecated in the registry for good',
  keep: 'no longer looked after; the registry keeps its record',
} as const;

function registryNews(before: OperatorView | undefined, { registry }: OperatorView): Happening[] {
  if (before === undefined || before.registry.state === registry.state) return [];
  return registry.state === 'up'
    ? [{ tone: 'good', about: 'registry', what: 'answers again', details: [] }]
    : [{ tone: 'bad', about: 'registry', what: registry.message ?? 'does not answer', details: [] }];
}

function sourceNews(before: OperatorView | undefined, after: OperatorView): Happening[] {
  const [old, now] = [trouble(before), trouble(after)];
  if (old === now) return [];
  return now === undefined
    ? [{ tone: 'good', about: 'catalog', what: 'can be read again', details: [] }]
    : [{ tone: 'bad', about: 'catalog', what: now, details: [] }];
}

/** Why the catalog cannot be read; a file that is just being written is no trouble. */
function trouble(view: OperatorView | undefined): string | undefined {
  const message = view?.source?.message;
  return message?.startsWith('being written') === true ? undefined : message;
}

function suspicion(before: OperatorView | undefined, after: OperatorView): Happening[] {
  if (after.selfSuspicion !== true || before?.selfSuspicion === true) return [];
  const what = 'most servers stopped answering at once: the fault is probably on this machine, so no record is deprecated';
  return [{ tone: 'warn', about: 'operator', what, details: [] }];
}
