import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface TemporaryFolder {
  readonly path: string;
  remove(): Promise<void>;
}

/** A folder that does not outlive this process, also when that is told to exit at once. */
export async function temporaryFolder(prefix: string): Promise<TemporaryFolder> {
  const path = await mkdtemp(join(tmpdir(), prefix));
  const removeNow = (): void => rmSync(path, { recursive: true, force: true, maxRetries: 5 });
  process.once('exit', removeNow);
  return {
    path,
    remove: async () => {
      await rm(path, { recursive: true, force: true });
      process.off('exit', removeNow);
    },
  };
}
