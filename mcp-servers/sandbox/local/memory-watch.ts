import { privateMemory, processTree } from './processes.ts';

/** Twice what a fast program fills in between is what can be used beyond the limit. */
export const WATCH_INTERVAL_MS = 100;

/**
 * Stands in for a memory control group where this user may make none: adds up what a sandbox's processes use, many times a second. Counts
 * what they have mapped, not what files in memory hold: those have limits of their own.
 * @returns ends the watch
 */
export function watchMemory(pid: number, limitBytes: number, onExceeded: () => void): () => void {
  const timer = setInterval(() => {
    if (memoryOf(pid) <= limitBytes) return;
    clearInterval(timer);
    onExceeded();
  }, WATCH_INTERVAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}

function memoryOf(pid: number): number {
  return processTree(pid).reduce((sum, process) => sum + privateMemory(process), 0);
}
