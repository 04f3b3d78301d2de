import { relative } from 'node:path';
import { stripVTControlCharacters, styleText } from 'node:util';
import { createLogUpdate } from 'log-update';

/** Colours by meaning. Each returns its text unchanged where the stream is no terminal, or NO_COLOR is set. */
export interface Paint {
  readonly good: (text: string) => string;
  readonly bad: (text: string) => string;
  readonly warn: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly strong: (text: string) => string;
}

/** Where a command prints. Results go to standard output, one JSON document a line with `--json`; all else goes to standard error. */
export interface Terminal {
  readonly json: boolean;
  readonly paint: Paint;
  /** the colours of `note` */
  readonly paintNote: Paint;
  /** a line for people, as it is; dropped with `--json` */
  line(text?: string): void;
  /**
   * A line of words: what a terminal has no room for goes on below, indented by `hang` blanks.
   * @default hang two more than the line itself
   */
  prose(text: string, hang?: number): void;
  /** text of somebody else as a result: made safe for a terminal, left as it is in a pipe or a file */
  printable(text: string): string;
  /** a result for programs; dropped without `--json` */
  data(value: unknown): void;
  /** words about what is going on or went wrong, to standard error; dropped with `--json` */
  note(text: string): void;
  /** the live area below the lines; `undefined` where nothing can be redrawn */
  readonly live: LiveArea | undefined;
}

export interface LiveArea {
  draw(lines: readonly string[]): void;
  /** leaves what was drawn last where it is, and starts a new area below */
  keep(): void;
  clear(): void;
}

interface Streams {
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
}

export function openTerminal(options: { json: boolean }, { stdout, stderr }: Streams = process): Terminal {
  const { json } = options;
  const live = !json && stdout.isTTY ? createLogUpdate(stdout, { showCursor: true }) : undefined;
  let drawn: readonly string[] = [];
  const area: LiveArea | undefined = live && {
    draw(lines) {
      drawn = lines.flatMap((line) => fitted(line, stdout));
      live(drawn.join('\n'));
    },
    keep() {
      drawn = [];
      live.done();
    },
    clear() {
      drawn = [];
      live.clear();
      live.done();
    },
  };
  const print = (text: string): void => {
    if (json) return;
    if (live === undefined || drawn.length === 0) stdout.write(`${text}\n`);
    else live.persist(text);
  };
  return {
    json,
    paint: paintFor(stdout),
    paintNote: paintFor(stderr),
    line: (text = '') => print(text),
    prose: (text, hang) => print(fitted(text, stdout, hang).join('\n')),
    printable: (text) => (stdout.isTTY ? safe(text, { lines: true }) : text),
    data(value) {
      if (json) stdout.write(`${JSON.stringify(value)}\n`);
    },
    note(text) {
      if (json) return;
      const lines = text.split('\n').flatMap((line) => fitted(line, stderr));
      stderr.write(`${lines.join('\n')}\n`);
    },
    live: area,
  };
}

/** A line in parts for which the terminal has room; in a pipe or a file it stays whole. */
function fitted(text: string, stream: NodeJS.WriteStream, hang = indentOf(text) + 2): string[] {
  // some terminals do not know their width
  return stream.isTTY ? wrap(text, stream.columns || 80, hang) : [text];
}

export function paintFor(stream: NodeJS.WriteStream): Paint {
  const style = (format: Parameters<typeof styleText>[0]) => (text: string) => styleText(format, text, { stream });
  return { good: style('green'), bad: style('red'), warn: style('yellow'), dim: style('dim'), strong: style('bold') };
}

/** No colours: for tests and plain output. */
export const plain: Paint = { good: String, bad: String, warn: String, dim: String, strong: String };

/**
 * Text from files, registries and servers, made safe to print: no escape sequences, and one line unless `lines` is set.
 * What a server says about itself must not be able to move the cursor or repaint what toolyard printed.
 */
export function safe(text: string, options: { lines?: boolean } = {}): string {
  const stripped = stripVTControlCharacters(text);
  return options.lines === true
    ? stripped.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '�')
    : stripped.replaceAll(/[\u0000-\u001f\u007f-\u009f]+/g, ' ');
}

/** A path as somebody in this directory would write it. */
export function shownPath(path: string): string {
  const short = relative(process.cwd(), path);
  return short === '' || short.startsWith('..') ? path : short;
}

/** Breaks a line between words, so that no part is wider than `columns`; all but the first are indented. Colour codes take no width. */
export function wrap(text: string, columns: number, hang: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const [i, word] of text.split(' ').entries()) {
    const longer = i === 0 ? word : `${line} ${word}`;
    if (i === 0 || widthOf(longer) <= columns || widthOf(line) <= hang) {
      line = longer;
      continue;
    }
    lines.push(line);
    line = ' '.repeat(hang) + word;
  }
  return [...lines, line];
}

function indentOf(text: string): number {
  const bare = stripVTControlCharacters(text);
  return bare.length - bare.trimStart().length;
}

function widthOf(text: string): number {
  return stripVTControlCharacters(text).length;
}

/** Columns padded to the widest cell, two blanks apart; the last column is left as it is. Colour codes take no width. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) row.forEach((cell, i) => (widths[i] = Math.max(widths[i] ?? 0, widthOf(cell))));
  return rows.map((row) =>
    row
      .map((cell, i) => (i === row.length - 1 ? cell : cell + ' '.repeat((widths[i] ?? 0) - widthOf(cell))))
      .join('  ')
      .trimEnd(),
  );
}
