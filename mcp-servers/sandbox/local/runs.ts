import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { z } from 'zod';
import type { Log } from '../../../lib/log.ts';
import { removeGroup } from './cgroup.ts';
import { kill, processesNaming, processStart } from './processes.ts';

const RUN_NAME = /^run-(\d+)-(\d+)-[0-9a-f]+$/;
const groupsFile = z.array(z.string());

/**
 * Everything that one server process keeps on disk and in control groups, so that a later one can clear up after it: STATE_DIR/run-PID-START-RANDOM,
 * of which only its owner reads anything.
 */
export class RunDirectory {
  /** absolute */
  readonly path: string;

  /** @throws Error when stateDir cannot be written */
  constructor(stateDir: string) {
    const unique = randomBytes(4).toString('hex');
    this.path = join(resolve(stateDir), `run-${process.pid}-${processStart(process.pid) ?? '0'}-${unique}`);
    mkdirSync(resolve(stateDir), { recursive: true, mode: 0o700 });
    mkdirSync(this.path, { mode: 0o700 });
  }

  /** Name of the control group of this run, unique on this machine. */
  get groupName(): string {
    return groupName(this.path);
  }

  /** Records the control groups that are to be removed should this process be killed. */
  own(cgroups: readonly string[]): void {
    writeFileSync(join(this.path, 'cgroups.json'), JSON.stringify(cgroups));
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

/**
 * Clears up after servers that were killed: their processes, control groups and files. Those of living servers are left alone; what resists
 * is logged and left to the next one.
 * @throws Error when stateDir is there and cannot be read
 */
export async function sweep(stateDir: string, log: Log): Promise<void> {
  const root = resolve(stateDir);
  if (!existsSync(root)) return;
  for (const name of readdirSync(root)) {
    const [, pid, start] = RUN_NAME.exec(name) ?? [];
    if (pid === undefined || processStart(Number(pid)) === start) continue;
    try {
      await clearUp(join(root, name));
      log.info({ run: name }, 'cleared up after a server that was killed');
    } catch (error) {
      log.warn({ run: name, err: error }, 'could not clear up after a server that was killed');
    }
  }
}

async function clearUp(path: string): Promise<void> {
  for (const orphan of processesNaming(path)) kill(orphan);
  for (const directory of recordedGroups(path)) await removeGroup(directory);
  rmSync(path, { recursive: true, force: true });
}

function groupName(path: string): string {
  return `toolyard-${basename(path)}`;
}

/** Nothing but groups that bear the run's name: a damaged record must not end anything else. */
function recordedGroups(path: string): string[] {
  try {
    const groups = groupsFile.parse(JSON.parse(readFileSync(join(path, 'cgroups.json'), 'utf8')));
    return groups.filter((directory) => basename(directory) === groupName(path));
  } catch {
    return [];
  }
}
