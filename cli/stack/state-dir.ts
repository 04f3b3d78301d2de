import { randomBytes } from 'node:crypto';
import {
  closeSync,
  copyFileSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { draftOf, removeDrafts } from '../../lib/draft.ts';
import { CliError, exit } from '../exit.ts';
import { processFacts } from './proc.ts';
import { messageOf } from '../../lib/error-message.ts';

/** What is under `.toolyard/`. Nothing but `up` and the processes that it starts writes here. */
export interface StateDir {
  readonly root: string;
  readonly database: string;
  /** Ed25519 seed of the registry's tokens: 64 hexadecimal digits, mode 600, made once */
  readonly registrySeed: string;
  /** key of the sandbox handles: 64 hexadecimal digits, mode 600, made once */
  readonly sandboxKey: string;
  readonly status: string;
  readonly sandboxes: string;
  readonly lock: string;
  /** compiled code of the parts, by Node: halves the processor time of every start but the first */
  readonly compileCache: string;
  log(part: string): string;
}

export function stateDir(root: string): StateDir {
  return {
    root,
    database: join(root, 'registry.sqlite'),
    registrySeed: join(root, 'registry-seed'),
    sandboxKey: join(root, 'sandbox-key'),
    status: join(root, 'status.json'),
    sandboxes: join(root, 'sandboxes'),
    lock: join(root, 'up.lock'),
    compileCache: join(root, 'compile-cache'),
    log: (part) => join(root, 'logs', `${part}.log`),
  };
}

/** Makes what is missing. Directory and secrets are the user's alone (700, 600). */
export function prepareStateDir(dir: StateDir): void {
  try {
    mkdirSync(join(dir.root, 'logs'), { recursive: true, mode: 0o700 });
    mkdirSync(dir.sandboxes, { recursive: true, mode: 0o700 });
    for (const file of [dir.registrySeed, dir.sandboxKey, dir.lock]) removeDrafts(file);
    makeSecret(dir.registrySeed);
    makeSecret(dir.sandboxKey);
  } catch (cause) {
    const why = messageOf(cause);
    throw new CliError(exit.no, `the state directory ${dir.root} cannot be written: ${why}`, {
      next: 'choose another one with --state DIR',
      cause,
    });
  }
}

/** 256 random bits as hex. A new file appears whole or not at all, so that a crash never leaves half a key. */
function makeSecret(path: string): void {
  if (statSync(path, { throwIfNoEntry: false }) !== undefined) return;
  const draft = draftOf(path);
  const file = openSync(draft, 'wx', 0o600);
  writeSync(file, `${randomBytes(32).toString('hex')}\n`);
  fsyncSync(file);
  closeSync(file);
  renameSync(draft, path);
}

/** Written into the lock by the `up` that runs over this state directory; `servers`, `explain` and `call` read it. */
export interface Running {
  readonly pid: number;
  /** tells it from a later process with the same pid; empty where there is no /proc */
  readonly started: string;
  readonly command: string;
  readonly catalog: string;
  readonly registry: string;
}

/** The `up` that runs over this state directory now. A lock left behind by a killed one does not count. */
export function runningUp(dir: StateDir): Running | undefined {
  const lock = readLock(dir);
  return lock !== undefined && isAlive(lock) ? lock : undefined;
}

/** Whether a lock is there whose owner died without removing it: its children may need a moment to notice. */
export function hasStaleLock(dir: StateDir): boolean {
  const lock = readLock(dir);
  return lock !== undefined && !isAlive(lock);
}

/**
 * Takes the state directory for this process.
 * @throws CliError `inUse`, naming the process that has it
 */
export function takeLock(dir: StateDir, about: { catalog: string; registry: string }): { release(): void } {
  const { pid, started, command } = processFacts(process.pid);
  const mine: Running = { pid, started, command, ...about };
  const draft = draftOf(dir.lock);
  const file = openSync(draft, 'w', 0o600);
  writeSync(file, JSON.stringify(mine));
  closeSync(file);
  try {
    if (!linked(draft, dir.lock)) {
      const other = runningUp(dir);
      if (other !== undefined) throw inUse(dir, other);
      rmSync(dir.lock, { force: true });
      if (!linked(draft, dir.lock)) throw inUse(dir, runningUp(dir));
    }
  } finally {
    rmSync(draft, { force: true });
  }
  return {
    release() {
      if (readLock(dir)?.pid === process.pid) rmSync(dir.lock, { force: true });
    },
  };
}

function inUse(dir: StateDir, other: Running | undefined): CliError {
  const who = other === undefined ? 'another process' : `process ${other.pid} (${other.command || 'toolyard up'})`;
  return new CliError(exit.inUse, `${who} already runs over the state directory ${dir.root}`, {
    next: 'stop it with Ctrl-C where it runs, or give this one its own --state DIR and ports',
  });
}

function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function readLock(dir: StateDir): Running | undefined {
  try {
    return JSON.parse(readFileSync(dir.lock, 'utf8')) as Running;
  } catch {
    return undefined;
  }
}

function isAlive(lock: Running): boolean {
  try {
    process.kill(lock.pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  return processFacts(lock.pid).started === lock.started;
}

/** A log file keeps this much, and one older file of the same size beside it. */
const LOG_BYTES = 10 * 1024 * 1024;

/** What the last run left becomes `NAME.log.1`. */
export function rotateLog(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.size) renameSync(path, `${path}.1`);
}

/** A part's log, for appending. */
export function openLog(path: string): number {
  return openSync(path, 'a', 0o600);
}

/** Cuts a log that has grown past its bound. The writer keeps its descriptor, which appends, so the file is emptied in place. */
export function boundLog(path: string): void {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size <= LOG_BYTES) return;
  copyFileSync(path, `${path}.1`);
  truncateSync(path, 0);
}

/** The last lines of a log, for saying why a process ended. */
export function lastLines(path: string, count: number): string[] {
  try {
    return readFileSync(path, 'utf8').trimEnd().split('\n').slice(-count);
  } catch {
    return [];
  }
}
