import { readFileSync } from 'node:fs';
import { CliError, exit } from './exit.ts';
import { runningUp, type Running, type StateDir } from './stack/state-dir.ts';

export type ConditionType = 'Accepted' | 'Reachable' | 'Published';
export interface Condition {
  readonly type: ConditionType;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
}
export interface DeclarationStatus {
  readonly source: string;
  readonly name: string;
  readonly version: string;
  readonly state: string;
  readonly conditions: readonly Condition[];
  readonly faults?: readonly { path: string; message: string }[];
  readonly tools?: { count: number; digest: string; names: readonly string[] };
  readonly endpoint?: string;
  readonly nextProbeAt?: string;
}
export interface StatusFile {
  readonly version: 1;
  readonly install: string;
  readonly updatedAt: string;
  readonly registry: { url: string; state: 'up' | 'down'; since: string; message?: string };
  readonly declarations: readonly DeclarationStatus[];
}

/** What the operator wrote last, and the `toolyard up` that it runs in; without one the status is history. */
export interface KnownStatus {
  readonly status: StatusFile;
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
    const status = JSON.parse(text) as StatusFile;
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
