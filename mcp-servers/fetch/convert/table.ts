import type { Element, Node } from './tree.ts';

interface Cell {
  readonly element: Element;
  readonly columns: number;
  readonly rows: number;
}

/** A table's cells as they stand in the source. */
export interface Grid {
  readonly rows: readonly (readonly Cell[])[];
  readonly captions: readonly Node[];
  /** made for its looks: its cells are read one after the other */
  readonly isLayout: boolean;
}

/** A cell may claim to reach over more than there is. */
const MAX_SPAN = 64;
/** Longer text is not said again in each row that it reaches into, characters. */
const MAX_REPEATED = 200;
/** Cells with blanks for those that others reach into; a table may not multiply. */
const MAX_CELLS = 200_000;

/** The rows of a table, without those of the tables in it. */
export function gridOf(table: Element): Grid {
  const rows: Cell[][] = [];
  const captions: Node[] = [];
  const see = (element: Element): void => {
    for (const child of element.children) {
      if (typeof child === 'string' || child.dropped) continue;
      if (child.name === 'tr') rows.push(cellsOf(child));
      else if (child.name === 'caption') captions.push(child);
      else if (/^t(head|body|foot)$/.test(child.name)) see(child);
    }
  };
  see(table);
  return { rows, captions, isLayout: isLayout(table, rows) };
}

function cellsOf(row: Element): Cell[] {
  const cells: Cell[] = [];
  for (const child of row.children) {
    if (typeof child === 'string' || child.dropped || (child.name !== 'td' && child.name !== 'th')) continue;
    cells.push({ element: child, columns: spanOf(child.attributes['colspan']), rows: spanOf(child.attributes['rowspan']) });
  }
  return cells;
}

function spanOf(text: string | undefined): number {
  const span = Number(text ?? 1);
  return Number.isInteger(span) && span >= 1 ? Math.min(span, MAX_SPAN) : 1;
}

function isLayout(table: Element, rows: readonly (readonly Cell[])[]): boolean {
  const { role } = table.attributes;
  if (role === 'presentation' || role === 'none') return true;
  const cells = rows.flat();
  if (cells.some(({ element }) => element.name === 'th')) return false;
  if (rows.length <= 1 || rows.every((row) => row.length <= 1)) return true;
  return cells.some(({ element }) => holds(element, /^(table|h[1-6]|pre|article|section)$/));
}

function holds(element: Element, names: RegExp): boolean {
  return (
    element.holdsBlock &&
    element.children.some((child) => typeof child !== 'string' && !child.dropped && (names.test(child.name) || holds(child, names)))
  );
}

/**
 * A table as Markdown. Columns that a cell reaches over stay empty, rows repeat it: each row can be read by itself. Without a row of
 * headings the first line is empty, since Markdown has no other.
 * @param render a cell's text, on one line
 */
export function tableOf({ rows }: Grid, render: (cell: Element) => string): string {
  const lines = laidOut(rows, render).filter((line) => line.some((text) => text !== ''));
  const width = lines.reduce((most, line) => Math.max(most, line.length), 0);
  if (width === 0 || lines.length * width > MAX_CELLS) return lines.map((line) => line.join(' | ')).join('\n');
  const written = lines.map((line) => `| ${Array.from({ length: width }, (_, column) => line[column] ?? '').join(' | ')} |`);
  const rule = `|${' --- |'.repeat(width)}`;
  if (isHead(rows[0] ?? [])) written.splice(1, 0, rule);
  else written.unshift(`|${'  |'.repeat(width)}`, rule);
  return written.join('\n');
}

function isHead(row: readonly Cell[]): boolean {
  return row.length > 0 && (row.every(({ element }) => element.name === 'th') || row[0]?.element.parent?.parent?.name === 'thead');
}

function laidOut(rows: readonly (readonly Cell[])[], render: (cell: Element) => string): string[][] {
  const lines: string[][] = [];
  /** what cells of earlier rows say in this one, by column */
  const reaching = new Map<number, { text: string; rows: number }>();
  let cells = 0;
  for (const row of rows) {
    const line: string[] = [];
    const skip = (): void => {
      for (let above = reaching.get(line.length); above !== undefined && above.rows > 0; above = reaching.get(line.length)) {
        above.rows -= 1;
        line.push(above.text);
      }
    };
    for (const { element, columns, rows: height } of row) {
      skip();
      const text = render(element)
        .replaceAll(/\s*\n\s*/g, ' ')
        .replaceAll('|', String.raw`\|`);
      const wide = Math.min(columns, MAX_CELLS - cells);
      cells += wide;
      for (let column = 0; column < wide; column += 1) {
        const says = column === 0 ? text : '';
        const again = says.length <= MAX_REPEATED ? says : '';
        reaching.set(line.length, { text: again, rows: height - 1 });
        line.push(says);
      }
    }
    skip();
    lines.push(line);
  }
  return lines;
}
