import type { Parameters } from 'fast-check';

/**
 * How a property draws: `SEED`, as a failed one prints it, makes all of them draw the same again; `TIMES=20` draws 20 times as much.
 */
export function drawing(numRuns: number): Pick<Parameters, 'numRuns' | 'seed'> {
  const { SEED: seed = '', TIMES: times = '' } = process.env;
  return { numRuns: numRuns * (times === '' ? 1 : Number(times)), ...(seed !== '' && { seed: Number(seed) }) };
}
