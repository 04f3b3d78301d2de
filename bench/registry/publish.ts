import { LoadClient } from '../load/client.ts';
import type { Bench, Benchmark } from '../bench.ts';
import { shown } from '../rows.ts';
import { OFFICIAL, publish, requireDisk, SIZES, startEmbedded, startOfficial, type Side } from './two-sides.ts';

/** Documents in a round: the same number for both, so that both grow alike; at the rate of the slower one some 1 to 2 s. */
const LOADS = [
  { callers: 1, count: 1_000, target: 1.5 },
  { callers: 16, count: 3_000, target: 2.5 },
];

export const publishing: Benchmark = {
  name: 'publish',
  about: 'records published a second, by 1 and by 16 callers, against the official registry',
  async run(bench) {
    await requireDisk();
    for (const size of SIZES) await atSize(bench, size);
  },
};

async function atSize(bench: Bench, size: number): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const client = stack.use(new LoadClient());
  const [ours, official] = [await startEmbedded(stack), await startOfficial(stack)];
  bench.say(`publishing ${size} records to both`);
  for (const side of [ours, official]) await publish(client, side, { from: 0, count: size, callers: 16 });
  const next = new Map([ours, official].map((side) => [side, size]));
  const round = async (side: Side, load: { callers: number; count: number }): Promise<number> => {
    const from = next.get(side) ?? 0;
    next.set(side, from + load.count);
    const { answers, seconds } = await publish(client, side, { from, ...load });
    return answers / seconds;
  };
  for (const { target, ...load } of LOADS) {
    await bench.compare({
      name: `publish, ${load.callers === 1 ? '1 caller' : `${load.callers} callers`}, from ${shown(size)} records on`,
      unit: '1/s',
      better: 'higher',
      target,
      ours: () => round(ours, load),
      peer: { name: OFFICIAL, measure: () => round(official, load) },
    });
  }
}
