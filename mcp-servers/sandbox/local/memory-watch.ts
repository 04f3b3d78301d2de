import { statfsSync } from 'node:fs';
import { childrenOf, privateMemory, processTree } from './processes.ts';

/** Twice what a fast program fills in between is what can be used beyond the limit. */
export const WATCH_INTERVAL_MS = 100;
/** What the kernel keeps of a file that has no content. */
const BYTES_PER_FILE = 1024;

export interface Watched {
  /** of the sandbox's program on the host */
  readonly pid: number;
  /** as in Launch */
  readonly memoryMounts: readonly string[];
  readonly limitBytes: number;
}

/**
 * Stands in for a memory control group where this user may make none: adds up, many times a second, what a sandbox's processes have mapped
 * and what its files hold. What is both counts twice.
 * @returns ends the watch
 */
export function watchMemory({ pid, memoryMounts, limitBytes }: Watched, onExceeded: () => void): () => void {
  const timer = setInterval(() => {
    const [inside] = childrenOf(pid);
    const mapped = processTree(pid).map(privateMemory);
    const held = inside === undefined ? [] : memoryMounts.map((path) => heldByFiles(`/proc/${inside}/root${path}`));
    if ([...mapped, ...held].reduce((sum, bytes) => sum + bytes, 0) <= limitBytes) return;
    clearInterval(timer);
    onExceeded();
  }, WATCH_INTERVAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}

function heldByFiles(mount: string): number {
  try {
    const { blocks, bfree, bsize, files, ffree } = statfsSync(mount);
    return (blocks - bfree) * bsize + (files - ffree) * BYTES_PER_FILE;
  } catch {
    // it is ending
    return 0;
  }
}
