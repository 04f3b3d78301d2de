import type { Parameters } from 'fast-check';

/** `SEED`, as a failed property prints it, makes all of them draw the same again. */
export function replay(): Pick<Parameters, 'seed'> {
  const seed = process.env['SEED'] ?? '';
  return seed === '' ? {} : { seed: Number(seed) };
}
