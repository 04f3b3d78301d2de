import type { DeclarationStatus, OperatorView } from '../../operator/records/status.ts';
import { conditionOf } from '../status.ts';
import type { PartState } from './part-state.ts';

/** What runs as a process of its own. */
export const partNames = ['registry', 'fetch', 'sandbox'] as const;
export type PartName = (typeof partNames)[number];

/** `ready`: declarations and registry were both read. */
export type OperatorState = { is: 'waiting' } | { is: 'running'; view: OperatorView; ready: boolean };

/** All that is known about a running stack; a new one on each change. */
export interface StackModel {
  /** base addresses, `http://127.0.0.1:PORT` */
  readonly urls: Readonly<Record<PartName, string>>;
  readonly parts: Readonly<Record<PartName, PartState>>;
  readonly operator: OperatorState;
}

/** Whether there is something to sum up: no part is still starting, and every declaration has its first answer. Pure. */
export function isSettled({ parts, operator }: StackModel): boolean {
  if (partNames.some((name) => ['starting', 'restarting'].includes(parts[name].is))) return false;
  return operator.is === 'running' && operator.ready && operator.view.declarations.every(hasAnswer);
}

/** Its server answered or failed to, or it was decided without asking. */
export function hasAnswer({ state, conditions }: DeclarationStatus): boolean {
  return state !== 'Pending' || conditionOf(conditions, 'Reachable')?.status === 'False';
}

export function viewOf({ operator }: StackModel): OperatorView | undefined {
  return operator.is === 'running' ? operator.view : undefined;
}
