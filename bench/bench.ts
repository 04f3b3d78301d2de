import { measuredOf, shown, type Heading, type Measured } from './rows.ts';

/** One thing to measure, which may give several rows. */
export interface Benchmark {
  /** for --only */
  readonly name: string;
  /** one line for --help */
  readonly about: string;
  /** @throws Error saying what it needs that is not here, or what went wrong */
  readonly run: (bench: Bench) => Promise<void>;
}

export interface Scale {
  /** counted rounds of each side */
  readonly rounds: number;
  /** length of one round where it is a matter of time, seconds */
  readonly seconds: number;
  /** live MCP endpoints of `scale` */
  readonly endpoints: number;
}

/** One side of a comparison. */
export type Measure = () => Promise<number>;

export interface Comparison extends Heading {
  readonly ours: Measure;
  readonly peer: { readonly name: string; readonly measure: Measure };
}

/** What a benchmark is given: takes the rounds, says its progress, collects the rows. */
export class Bench {
  readonly scale: Scale;
  readonly measured: Measured[] = [];
  /** what a reader of the table has to know too */
  readonly notes: string[] = [];
  readonly #print: (text: string) => void;
  readonly #stopped: AbortSignal;

  /** @param stopped ends the measuring between two rounds, so that what was started is cleaned up */
  constructor(scale: Scale, print: (text: string) => void, stopped: AbortSignal) {
    this.scale = scale;
    this.#print = print;
    this.#stopped = stopped;
  }

  /** Tells of progress. @throws when the run was told to stop */
  say(text: string): void {
    this.#stopped.throwIfAborted();
    this.#print(text);
  }

  note(text: string): void {
    this.notes.push(text);
  }

  /** Ours and the peer by turns, so that a machine that slows down slows both; the first round of each warms up and does not count. */
  async compare({ ours, peer, ...heading }: Comparison): Promise<void> {
    const [own, theirs]: [number[], number[]] = [[], []];
    for (let round = 0; round <= this.scale.rounds; round += 1) {
      const [a, b] = [await ours(), await peer.measure()];
      const which = round === 0 ? 'warm-up' : `${round} of ${this.scale.rounds}`;
      this.say(`${heading.name}, ${which}: ours ${shown(a)} ${heading.unit}, ${peer.name} ${shown(b)}`);
      if (round === 0) continue;
      own.push(a);
      theirs.push(b);
    }
    this.measured.push(measuredOf(heading, own, { name: peer.name, values: theirs }));
  }

  /** Values that were measured already, one a round. */
  add(heading: Heading, ours: readonly number[], peer?: { readonly name: string; readonly values: readonly number[] }): void {
    const measured = measuredOf(heading, ours, peer);
    this.measured.push(measured);
    this.say(`${heading.name}: ${shown(measured.row.ours.median)} ${heading.unit}`);
  }
}
