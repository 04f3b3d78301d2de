import { spreadOf, type Spread } from './figures.ts';

/** Whether more or less of it is better. */
export type Better = 'higher' | 'lower';

/** One line of bench/results.json. */
export interface Row {
  readonly name: string;
  readonly unit: string;
  readonly better: Better;
  readonly ours: Spread;
  readonly peer: ({ readonly name: string } & Spread) | null;
  /** of the medians; above 1: ours is better. null without a peer */
  readonly ratio: number | null;
  /** the least ratio that is good enough; without a peer, the bound on our median. null: none was set */
  readonly target: number | null;
}

export interface Heading {
  readonly name: string;
  readonly unit: string;
  readonly better: Better;
  readonly target?: number;
}

/** A row, with what its rounds say about how far to trust it. */
export interface Measured {
  readonly row: Row;
  /** of the rounds, one by one */
  readonly ratios?: Spread;
}

/** @param peer one value for each of ours, measured right after it */
export function measuredOf(
  heading: Heading,
  ours: readonly number[],
  peer?: { readonly name: string; readonly values: readonly number[] },
): Measured {
  const { name, unit, better, target = null } = heading;
  const own = rounded(spreadOf(ours));
  if (peer === undefined) return { row: { name, unit, better, ours: own, peer: null, ratio: null, target } };
  const theirs = spreadOf(peer.values);
  const ratio = ratioOf(better, spreadOf(ours).median, theirs.median);
  const ratios = ours.map((value, round) => ratioOf(better, value, peer.values[round] ?? Number.NaN));
  const row = { name, unit, better, ours: own, peer: { name: peer.name, ...rounded(theirs) }, ratio: brief(ratio), target };
  return { row, ratios: rounded(spreadOf(ratios)) };
}

function ratioOf(better: Better, ours: number, theirs: number): number {
  return better === 'higher' ? ours / theirs : theirs / ours;
}

export type Verdict = 'ok' | 'MISSED' | '';

export function verdictOf({ better, ours, ratio, target }: Row): Verdict {
  if (target === null) return '';
  if (ratio !== null) return ratio >= target ? 'ok' : 'MISSED';
  return (better === 'higher' ? ours.median >= target : ours.median <= target) ? 'ok' : 'MISSED';
}

/** Rows of a later run take the place of earlier ones of the same name; the rest stays as it is. */
export function merged(before: readonly Row[], now: readonly Row[]): Row[] {
  const later = new Map(now.map((row) => [row.name, row]));
  const kept = before.map((row) => later.get(row.name) ?? row);
  const known = new Set(before.map(({ name }) => name));
  return [...kept, ...now.filter(({ name }) => !known.has(name))];
}

const HEAD = ['', 'unit', 'ours', '(min – max)', 'peer', '(min – max)', 'ratio', '(min – max)', 'target', ''];

/** For people: a line per row, under the name of the peer that it was measured against. */
export function tableOf(measured: readonly Measured[]): string {
  const peers = [...new Set(measured.map(({ row }) => row.peer?.name ?? ''))];
  return peers
    .map((peer) =>
      section(
        peer,
        measured.filter(({ row }) => (row.peer?.name ?? '') === peer),
      ),
    )
    .join('\n\n');
}

function section(peer: string, measured: readonly Measured[]): string {
  const title = peer === '' ? 'Ours alone' : `Against ${peer}`;
  const used = peer === '' ? [0, 1, 2, 3, 8, 9] : HEAD.map((_, column) => column);
  const lines = [HEAD, ...measured.map(cells)].map((line) => used.map((column) => line[column] ?? ''));
  const widths = used.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const padded = lines.map((line) =>
    line.map((cell, column) => (column < 2 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))),
  );
  return [title, ...padded.map((line) => `  ${line.join('  ')}`.trimEnd())].join('\n');
}

function cells({ row, ratios }: Measured): string[] {
  const { name, unit, better, ours, peer, ratio, target } = row;
  const bound = ratio !== null || better === 'higher' ? '≥' : '≤';
  return [
    name,
    unit,
    shown(ours.median),
    range(ours),
    peer === null ? '' : shown(peer.median),
    peer === null ? '' : range(peer),
    ratio === null ? '' : shown(ratio),
    ratios === undefined ? '' : range(ratios),
    target === null ? '' : `${bound} ${shown(target)}`,
    verdictOf(row),
  ];
}

function range({ min, max }: Spread): string {
  return `(${shown(min)} – ${shown(max)})`;
}

/** As a person reads it: thousands apart, no more digits than mean something. */
export function shown(value: number): string {
  return brief(value).toLocaleString('en-US', { maximumFractionDigits: 3 });
}

function rounded({ min, median, max }: Spread): Spread {
  return { min: brief(min), median: brief(median), max: brief(max) };
}

const DIGITS = 3;

function brief(value: number): number {
  return Math.abs(value) >= 10 ** DIGITS ? Math.round(value) : Number(value.toPrecision(DIGITS));
}
