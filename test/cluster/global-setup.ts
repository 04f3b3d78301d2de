import { install } from './testing/install.ts';

/** The tests share one installation; what it takes is said, since it is what an installation takes. */
export default async function setup(): Promise<void> {
  for (const { step, ms } of await install()) process.stderr.write(`${step}: ${(ms / 1000).toFixed(1)} s\n`);
}
