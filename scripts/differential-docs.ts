import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { allowedDifferences } from '../test/differential/differences.ts';

/** Writes the table in docs/differential.md from the list that the tests use; with --check says whether it is up to date instead (exit code 1 when not). */
const page = fileURLToPath(new URL('../docs/differential.md', import.meta.url));
const text = readFileSync(page, 'utf8');
const [before, after] = [/^<!-- written by .*-->\n/m, /^<!-- end -->$/m].map((mark) => mark.exec(text));
if (!before || !after) throw new Error(`${page} has lost the comments between which the table stands`);

const rows = allowedDifferences.map(({ what, official, embedded, why }) => `| ${[what, official, embedded, why].map(cell).join(' | ')} |`);
const table = ['| what | official | embedded | why |', '|---|---|---|---|', ...rows].join('\n');
const wanted = `${text.slice(0, before.index + before[0].length)}\n${table}\n\n${text.slice(after.index)}`;

if (!process.argv.includes('--check')) writeFileSync(page, wanted);
else if (text !== wanted) {
  process.stderr.write('docs/differential.md is stale: run `make docs` and commit it\n');
  process.exitCode = 1;
}

function cell(words: string): string {
  return words.replaceAll('|', String.raw`\|`);
}
