import type { RecordStatus } from '../../../lib/registry-api/server-json.ts';
import type { Declaration } from './operator-status.ts';

/** The words of the pages, in the order in which they are shown: what clients get, then what its declaration waits for, then what is gone. */
export const states = ['published', 'deprecated', 'withdrawing', 'pending', 'refused', 'deleted'] as const;
export type State = (typeof states)[number];

/** Each as its sentence goes on. */
export const meanings: Readonly<Record<State, string>> = {
  published: 'clients find it',
  deprecated: 'clients find it, with a warning',
  withdrawing: 'its declaration is gone, and it soon will be',
  pending: 'declared, waits for its server or the registry',
  refused: 'its declaration cannot be used',
  deleted: 'kept, and hidden from clients',
};

const ofRecord: Readonly<Record<RecordStatus, State>> = { active: 'published', deprecated: 'deprecated', deleted: 'deleted' };

/** Of most names nothing else is known; there may be tens of thousands. */
const ofRecordAlone: Readonly<Record<RecordStatus, readonly State[]>> = {
  active: ['published'],
  deprecated: ['deprecated'],
  deleted: ['deleted'],
};

/** What the registry itself knows is not taken from the operator, who may have said it earlier. */
const ofDeclaration: Readonly<Record<Declaration['state'], State | undefined>> = {
  Published: undefined,
  Deprecated: undefined,
  Withdrawing: 'withdrawing',
  Pending: 'pending',
  Refused: 'refused',
};

/** Every state that a name is in: that of its record, and those of declarations that are not what the registry shows. */
export function statesOf(status: RecordStatus | undefined, declarations: readonly Declaration[]): readonly State[] {
  if (declarations.length === 0) return status === undefined ? [] : ofRecordAlone[status];
  const found = new Set([status === undefined ? undefined : ofRecord[status], ...declarations.map(({ state }) => ofDeclaration[state])]);
  return states.filter((state) => found.has(state));
}
