import { createHash } from 'node:crypto';
import { cp, mkdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { run } from './run.ts';

/** Copies a file or directory into a root file system. */
export const install = async (from: string, root: string, to = from): Promise<void> => {
  await mkdir(dirname(join(root, to)), { recursive: true });
  await cp(from, join(root, to), { dereference: true, recursive: true });
};

/** What the dynamic linker loads for a program, and the linker itself. */
export async function libraries(program: string): Promise<readonly string[]> {
  const lines = await run('ldd', [program]);
  return [...lines.matchAll(/(\/\S+) \(0x/g)].map(([, path = '']) => path);
}

/** A key out of texts, and of files by size and time of change. */
export async function keyOf(texts: readonly string[], files: readonly string[] = []): Promise<string> {
  const hash = createHash('sha256');
  for (const text of texts) hash.update(`${text}\0`);
  for (const file of files) {
    const { size, mtimeMs } = await stat(file);
    hash.update(`${file} ${size} ${mtimeMs}\0`);
  }
  return hash.digest('hex').slice(0, 16);
}
