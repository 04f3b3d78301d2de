/** Draws that a seed repeats. Source: Mulberry32. */
export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** from 0 up to 1 */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  below(bound: number): number {
    return Math.floor(this.next() * bound);
  }

  /** @throws RangeError when there is nothing to choose from */
  oneOf<T>(choices: readonly T[]): T {
    const [chosen] = choices.slice(this.below(choices.length));
    if (chosen === undefined) throw new RangeError('nothing to choose from');
    return chosen;
  }
}

/** FAULTS_SEED repeats a run: the same faults and changes in the same order; what processes do meanwhile is theirs. */
export function drawnSeed(): number {
  const asked = process.env['FAULTS_SEED'] ?? '';
  return asked === '' ? Math.floor(Math.random() * 2 ** 31) : Number(asked);
}
