import { readFileSync } from 'node:fs';

/** What Linux's /proc tells about a process. Where there is no /proc, or no such process, everything is empty. */
export interface ProcessFacts {
  readonly pid: number;
  /** arguments joined by blanks; empty when it is hidden */
  readonly command: string;
  /** pid of its parent, 0 when unknown */
  readonly parent: number;
  /** when it started, in the kernel's ticks since boot: tells it from a later one with its pid. A zombie counts as `gone` */
  readonly started: string;
}

export function processFacts(pid: number): ProcessFacts {
  // the second field, the name, may hold blanks and brackets: fields are counted from its last bracket
  const stat = read(`/proc/${pid}/stat`);
  const [state, parent = '0', ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return {
    pid,
    command: read(`/proc/${pid}/cmdline`).split('\0').filter(Boolean).join(' '),
    parent: Number(parent),
    started: state === 'Z' ? 'gone' : (rest[17] ?? ''),
  };
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
