import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { charts } from './output.ts';

/** Writes charts/ anew. With --check it says instead what there is stale, with exit code 1 for anything. */
const directory = join(import.meta.dirname, '..', 'charts');
const wanted = charts();

if (process.argv.includes('--check')) {
  const stale = [...new Set([...wanted.keys(), ...present()])].filter((path) => wanted.get(path) !== textOf(path));
  for (const path of stale) process.stderr.write(`charts/${path} is stale: run \`make manifests\` and commit it\n`);
  if (stale.length > 0) process.exitCode = 1;
} else {
  rmSync(directory, { recursive: true, force: true });
  for (const [path, text] of wanted) {
    const file = join(directory, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}

function present(): readonly string[] {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name).slice(directory.length + 1));
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(join(directory, path), 'utf8');
  } catch {
    return undefined;
  }
}
