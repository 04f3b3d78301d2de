import { readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** Where a file is written before it takes the place of the old one, so that no reader sees a part of it. */
export function draftOf(path: string, pid: number | string = process.pid): string {
  return `${path}.${pid}.tmp`;
}

/**
 * Removes the drafts of a file that processes left which were killed while they wrote. To be called before this process writes one: what bears
 * its number is then of an earlier process.
 */
export function removeDrafts(path: string): void {
  for (const name of namesIn(dirname(path))) {
    const pid = /\.(\d+)\.tmp$/.exec(name)?.[1];
    if (pid === undefined || name !== draftOf(basename(path), pid) || isOther(Number(pid))) continue;
    try {
      rmSync(join(dirname(path), name), { force: true });
    } catch {
      // one that cannot be removed harms nobody
    }
  }
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

/** Whether another process of this number runs. */
function isOther(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
