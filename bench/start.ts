import { Up, Yard } from '../test/up/running.ts';
import type { Benchmark } from './bench.ts';

export const starting: Benchmark = {
  name: 'start',
  about: 'time from `toolyard up` to both records that ship being published, after the first start and at it',
  async run(bench) {
    const yard = new Yard();
    const took: number[] = [];
    try {
      yard.declareShipped('fetch');
      yard.declareShipped('sandbox');
      // the first one compiles; Node keeps that in the state directory
      const first = await secondsToReady(yard);
      while (took.length < bench.scale.rounds) {
        took.push(await secondsToReady(yard));
        bench.say(`start, ${took.length} of ${bench.scale.rounds}: ${took.at(-1)?.toFixed(2)} s`);
      }
      bench.add({ name: 'toolyard up to both published, after the first start', unit: 's', better: 'lower', target: 3 }, took);
      bench.add({ name: 'toolyard up to both published, first start', unit: 's', better: 'lower' }, [first]);
    } finally {
      yard.remove();
    }
  },
};

async function secondsToReady(yard: Yard): Promise<number> {
  const up = new Up(yard);
  try {
    const { declarations = [] } = await up.ready;
    const seconds = (performance.now() - up.startedAt) / 1000;
    const others = declarations.filter(({ state }) => state !== 'Published');
    if (declarations.length !== 2 || others.length > 0) {
      const states = declarations.map(
        ({ source, state, conditions }) => `${source} ${state}: ${conditions.map(({ message }) => message).join('; ')}`,
      );
      throw new Error(`toolyard up came up with other than two published records: ${states.join('\n')}`);
    }
    return seconds;
  } finally {
    await up.stop();
  }
}
