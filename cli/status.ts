import { readFileSync } from 'node:fs';
import type { Condition, DeclarationStatus, OperatorView } from '../operator/records/status.ts';
import { CliError, exit } from './exit.ts';
import { runningUp, type Running, type StateDir } from './stack/state-dir.ts';

/** What the operator wrote last, and the `toolyard up` that it runs in; without one the status is history. */
export interface KnownStatus {
  readonly status: OperatorView;
  readonly up: Running | undefined;
}

/** @throws CliError `notFound` when no `toolyard up` ever ran over this state directory */
export function readStatus(dir: StateDir): KnownStatus {
  let text: string;
  try {
    text = readFileSync(dir.status, 'utf8');
  } catch (cause) {
    throw new CliError(exit.notFound, `there is no ${dir.status}`, {
      next: 'start the stack with toolyard up (make up), or name its state directory with --state DIR',
      cause,
    });
  }
  try {
    const status = JSON.parse(text) as OperatorView;
    if (status.version !== 1) throw new Error(`it has version ${String(status.version)}`);
    return { status, up: runningUp(dir) };
  } catch (cause) {
    throw new CliError(exit.no, `${dir.status} is not a status file that this release reads`, {
      next: 'restart toolyard up: it writes a new one',
      cause,
    });
  }
}

/** The address of the registry that a command should ask: the one given, else that of the `up` that runs over the state directory. */
export function registryAddress(dir: StateDir, given: string | undefined): string {
  const url = given ?? runningUp(dir)?.registry;
  if (url !== undefined) return url;
  throw new CliError(exit.unreachable, `no toolyard up runs over the state directory ${dir.root}`, {
    next: 'start it with toolyard up (make up), or name a registry with --registry URL',
  });
}

/** A record's name and version, or the file while it tells neither. */
export function nameOf({ name, version, source }: DeclarationStatus): string {
  if (name === '') return source;
  return version === '' ? name : `${name} ${version}`;
}

export function conditionOf(conditions: readonly Condition[], type: Condition['type']): Condition | undefined {
  return conditions.find((condition) => condition.type === type);
}
