import { unwatchFile, watchFile } from 'node:fs';

/** Mounted Secrets are replaced by swapping a symbolic link, which only looking at the target shows. */
const LOOK_EVERY_MS = 500;

/** Calls `changed` after any of the files was written or replaced; the result stops it. */
export function watchFiles(paths: readonly string[], changed: () => void): () => void {
  for (const path of paths) watchFile(path, { interval: LOOK_EVERY_MS, persistent: false }, changed);
  return () => {
    for (const path of paths) unwatchFile(path, changed);
  };
}
