import { readdirSync, readFileSync } from 'node:fs';

/** Start of a process, in clock ticks since boot: with its number it names one process for good. Undefined when there is none. */
export function processStart(pid: number): string | undefined {
  return statOf(pid)?.[19];
}

/** A process and everything it started that lives, in no order. Kernel without CONFIG_PROC_CHILDREN: the process alone. */
export function processTree(pid: number): number[] {
  const found: number[] = [];
  const open = [pid];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    found.push(next);
    open.push(...childrenOf(next));
  }
  return found;
}

/** Oldest first, of a process with one thread. */
export function childrenOf(pid: number): number[] {
  return listed(`/proc/${pid}/task`).flatMap((thread) => numbers(read(`/proc/${pid}/task/${thread}/children`)));
}

/** Memory that exists only for this process: anonymous, and shared without a file behind it. Bytes; 0 when it is gone. */
export function privateMemory(pid: number): number {
  const status = read(`/proc/${pid}/status`);
  const kilobytes = ['RssAnon', 'RssShmem'].map((field) => Number(new RegExp(`^${field}:\\s*(\\d+)`, 'm').exec(status)?.[1] ?? 0));
  return kilobytes.reduce((sum, value) => sum + value, 0) * 1024;
}

/** Processes, of those this user may look at, whose command line names a path. */
export function processesNaming(path: string): number[] {
  return listed('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && pid !== process.pid)
    .filter((pid) => read(`/proc/${pid}/cmdline`).includes(path));
}

export function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // it was faster
  }
}

/** Fields of /proc/PID/stat from the third on: the second, a name in brackets, may hold anything. */
function statOf(pid: number): string[] | undefined {
  const stat = read(`/proc/${pid}/stat`);
  return stat === '' ? undefined : stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** The numbers in a file that lists processes. A process outside of this one's namespace is listed as 0, which no caller could use. */
export function numbers(text: string): number[] {
  return text
    .split(/\s+/)
    .map(Number)
    .filter((pid) => pid > 0);
}

function listed(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
