import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** A page and what a person would want of it. */
export interface Labelled {
  readonly name: string;
  readonly html: string;
  /** texts that belong to its content */
  readonly keep: readonly string[];
  /** texts that its site has on every page */
  readonly drop: readonly string[];
}

/** Shares of what was labelled: kept of the content, left out of the rest. */
export interface Score {
  readonly kept: number;
  readonly left: number;
  readonly missing: readonly string[];
  readonly stray: readonly string[];
}

const folder = join(import.meta.dirname, 'pages');
const LABELS = /<!-- keep\n([^]*?)drop\n([^]*?)-->\s*$/;

/** Pages written for this, in the styles of the web. Their labels are the comment at their end, one text a line. */
export function labelledPages(): readonly Labelled[] {
  return readdirSync(folder)
    .toSorted()
    .map((file) => {
      const html = readFileSync(join(folder, file), 'utf8');
      const [, keep, drop] = LABELS.exec(html) ?? [];
      if (keep === undefined || drop === undefined) throw new Error(`${file} does not end with its labels`);
      return { name: file.replace('.html', ''), html: html.replace(LABELS, ''), keep: linesOf(keep), drop: linesOf(drop) };
    });
}

/** Markdown's marks are taken out of both sides, since two writers set them differently. */
export function scoreOf({ keep, drop }: Labelled, markdown: string): Score {
  const text = plain(markdown);
  const missing = keep.filter((line) => !text.includes(plain(line)));
  const stray = drop.filter((line) => text.includes(plain(line)));
  return { kept: share(keep.length - missing.length, keep.length), left: share(drop.length - stray.length, drop.length), missing, stray };
}

/** A page's score as one number, of 2. */
export function sumOf({ kept, left }: Score): number {
  return kept + left;
}

function plain(markdown: string): string {
  return markdown
    .replace(/!?\[([^\][]*(?:\[[^\]]*\][^\][]*)*)\]\([^()\s]*(?:\s+"[^"]*")?\)/g, '$1')
    .replace(/\[\^\w+\]:?/g, '')
    .replace(/^\s*(?:[#>*+-]+|\|?[\s|:-]+\||:)\s/gm, ' ')
    .replace(/[\\`*_~|]+/g, ' ')
    .replace(/<br>/g, ' ')
    .replace(/\s+/g, ' ')
    .replace(/ (?=[.,;:!?)\]])|(?<=[([]) /g, '')
    .toLowerCase()
    .trim();
}

function share(part: number, whole: number): number {
  return whole === 0 ? 1 : part / whole;
}

function linesOf(text: string): readonly string[] {
  return text.split('\n').filter((line) => line !== '');
}
