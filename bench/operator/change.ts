import { setTimeout as delay } from 'node:timers/promises';
import type { Bench, Benchmark } from '../bench.ts';
import { quantile } from '../figures.ts';
import { shown } from '../rows.ts';
import { Farm } from './farm.ts';
import { until, Yard } from './yard.ts';

/** Declarations that are there already, as in a company's catalogue. */
const DECLARED = 100;

export const changing: Benchmark = {
  name: 'change',
  about: 'time from a changed file to the record that a client reads, with a real operator, registry and MCP servers',
  async run(bench) {
    await using stack = new AsyncDisposableStack();
    const farm = stack.use(await Farm.start(DECLARED, 1));
    const yard = await Yard.create(stack);
    for (const [index, url] of farm.urls.entries()) await yard.declare(nameOf(index), url, 'declared from the beginning');
    await yard.startRegistry();
    await yard.startOperator();
    await until('every declaration published', 50, async () => (await yard.published()) === DECLARED);
    await measureChanges(bench, yard, farm);
  },
};

export function nameOf(index: number): string {
  return `com.example.bench/server-${index}`;
}

/** A round changes so many files of each kind, one after the other. */
const CHANGES = 30;
/** Between two changes a while passes, no two alike, so that they meet the operator at all moments of its rounds. */
const PAUSE_MS = 50;
const LOOK_EVERY_MS = 2;
const TARGETS = [
  { share: 0.5, shown: 'p50', target: 300 },
  { share: 0.99, shown: 'p99', target: 1000 },
];

/** New files, with a server to be asked first, and edited ones. */
export async function measureChanges(bench: Bench, yard: Yard, farm: Farm): Promise<void> {
  const took = { new: [] as number[][], edited: [] as number[][] };
  for (let round = 1; round <= bench.scale.rounds; round += 1) {
    const [added, edited]: [number[], number[]] = [[], []];
    for (let change = 0; change < CHANGES; change += 1) {
      const known = change % farm.urls.length;
      const fresh = `com.example.bench/new-${farm.urls.length}-${round}-${change}`;
      // an address that was never asked: of one that was, the answer would be known
      added.push(await timeOf(yard, { name: fresh, url: `${farm.urls[known]}?new=${round}-${change}`, description: 'new' }));
      await delay(PAUSE_MS * (1 + (change % 7) / 7));
      const description = `edited in round ${round}, change ${change}`;
      edited.push(await timeOf(yard, { name: nameOf(known), url: farm.urls[known] ?? '', description }));
      await delay(PAUSE_MS * (1 + (change % 11) / 11));
    }
    took.new.push(added);
    took.edited.push(edited);
    bench.say(
      `changes, ${round} of ${bench.scale.rounds}: new ${shown(quantile(added, 0.5))} ms, edited ${shown(quantile(edited, 0.5))} ms`,
    );
  }
  for (const [kind, rounds] of Object.entries(took)) {
    for (const { share, shown: which, target } of TARGETS) {
      const name = `${kind} file to readable record, ${which}, ${shown(farm.urls.length)} declared`;
      bench.add(
        { name, unit: 'ms', better: 'lower', target },
        rounds.map((values) => quantile(values, share)),
      );
    }
  }
}

async function timeOf(yard: Yard, { name, url, description }: { name: string; url: string; description: string }): Promise<number> {
  const changed = performance.now();
  await yard.declare(name, url, description);
  await until(`${name} readable`, LOOK_EVERY_MS, () => yard.describes(name, description));
  return performance.now() - changed;
}
