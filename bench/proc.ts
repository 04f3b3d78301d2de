import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { descendants } from '../test/up/running.ts';

/** What the kernel says about a process; Linux alone tells it like this. */

const KIB_PER_MIB = 1024;
/** Linux has shown times in hundredths of a second to programs on every machine since 2.6. */
const TICKS_PER_SECOND = 100;

/** Resident memory, MiB. @throws Error when there is no such process, or no /proc */
export function residentMiB(pid: number): number {
  return kilobytes(`/proc/${pid}/status`, 'VmRSS') / KIB_PER_MIB;
}

/**
 * Resident memory of a process and of all that it started, MiB. Of the latter only their shares (PSS): what several hold together, as
 * PostgreSQL's processes do their buffers, counts once.
 */
export function familyMiB(pid: number): number {
  return residentMiB(pid) + descendants(pid).reduce((sum, child) => sum + shareMiB(child.pid), 0);
}

/** 0 for a process that has just ended. */
export function shareMiB(pid: number): number {
  try {
    return kilobytes(`/proc/${pid}/smaps_rollup`, 'Pss') / KIB_PER_MIB;
  } catch {
    return 0;
  }
}

/** Processor time so far, in user and in kernel mode together, seconds. */
export function processorSeconds(pid: number): number {
  const fields = statOf(pid);
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** The largest of what `look` gives, several times a second, until the work is done. */
export async function largestDuring(work: Promise<unknown>, look: () => number): Promise<number> {
  let largest = look();
  const done = new AbortController();
  const looking = (async () => {
    while (!done.signal.aborted) {
      largest = Math.max(largest, look());
      await delay(LOOK_EVERY_MS, undefined, { signal: done.signal }).catch(() => {});
    }
  })();
  try {
    await work;
  } finally {
    done.abort();
    await looking;
  }
  return largest;
}

const LOOK_EVERY_MS = 100;

function kilobytes(file: string, field: string): number {
  const found = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(readFileSync(file, 'utf8'))?.[1];
  if (found === undefined) throw new Error(`${file} has no ${field}`);
  return Number(found);
}

/** The fields after the name, which may hold blanks and brackets itself. */
function statOf(pid: number): string[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}
