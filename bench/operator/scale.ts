import { setTimeout as delay } from 'node:timers/promises';
import type { Bench, Benchmark } from '../bench.ts';
import { largestDuring, processorSeconds, residentMiB } from '../proc.ts';
import { shown } from '../rows.ts';
import { measureChanges, nameOf } from './change.ts';
import { Farm } from './farm.ts';
import { until, Yard } from './yard.ts';

/** Servers with an endpoint that the public registry listed when it was last probed as a whole. */
const PUBLIC_REGISTRY = 16_000;
const FARM_PROCESSES = 4;
const CONVERGING_ROUNDS = 3;
/** The operator's default, and how far it lets probes drift apart. */
const INTERVAL_SECONDS = 30;
const JITTER = 0.1;
/** Beyond the jitter: time that a probe takes, and waits for its turn. */
const GRACE_SECONDS = 1;
const WINDOWS = 2;

export const scaling: Benchmark = {
  name: 'scale',
  about: 'many declarations from empty to converged, then what it takes to probe their servers for ever',
  async run(bench) {
    const { endpoints } = bench.scale;
    await using stack = new AsyncDisposableStack();
    bench.say(`starting ${shown(endpoints)} endpoints`);
    const farm = stack.use(await Farm.start(endpoints, FARM_PROCESSES));
    const yard = await Yard.create(stack);
    const atRest = await memoryWithoutDeclarations(yard);
    for (const [index, url] of farm.urls.entries()) await yard.declare(nameOf(index), url, `server ${index}`);
    await converge(bench, yard);
    await probeForEver(bench, { yard, farm, atRest });
    await measureChanges(bench, yard, farm);
  },
};

async function memoryWithoutDeclarations(yard: Yard): Promise<number> {
  await yard.startRegistry();
  await yard.startOperator();
  await until('an empty catalogue read', 50, async () => (await yard.published()) === 0);
  await delay(1000);
  const memory = residentMiB(yard.operatorPid);
  await yard.stop();
  return memory;
}

/** From an empty registry and an operator that is being started to a registry that lists every declaration. */
async function converge(bench: Bench, yard: Yard): Promise<void> {
  const { endpoints, rounds } = bench.scale;
  const took: number[] = [];
  while (took.length < Math.min(rounds, CONVERGING_ROUNDS)) {
    await yard.stop();
    await yard.startRegistry();
    const started = performance.now();
    await yard.startOperator();
    await until(`${endpoints} declarations published`, 50, async () => (await yard.published()) === endpoints);
    took.push((performance.now() - started) / 1000);
    const readable = await yard.readable();
    if (readable !== endpoints) throw new Error(`the operator says that ${endpoints} are published, the registry lists ${readable}`);
    bench.say(`converged after ${shown(took.at(-1) ?? 0)} s`);
  }
  bench.add({ name: `${shown(endpoints)} declarations from empty to converged`, unit: 's', better: 'lower' }, took);
}

interface Running {
  readonly yard: Yard;
  readonly farm: Farm;
  /** of an operator without declarations, MiB */
  readonly atRest: number;
}

async function probeForEver(bench: Bench, { yard, farm, atRest }: Running): Promise<void> {
  const { endpoints } = bench.scale;
  const windowMs = INTERVAL_SECONDS * (1 + JITTER) * 1000;
  const of = `${shown(endpoints)} endpoints probed every ${INTERVAL_SECONDS} s`;
  // what converging left behind should not count
  await delay(5000);
  const before = { written: await yard.writes(), busy: processorSeconds(yard.operatorPid) };
  await farm.count();
  const [busy, memory]: [number[], number[]] = [[], []];
  for (let window = 1; window <= WINDOWS; window += 1) {
    bench.say(`${of}: window ${window} of ${WINDOWS}, ${shown(windowMs / 1000)} s`);
    const from = processorSeconds(yard.operatorPid);
    memory.push(await largestDuring(delay(windowMs), () => residentMiB(yard.operatorPid)));
    busy.push(((processorSeconds(yard.operatorPid) - from) / (windowMs / 1000)) * 100);
  }
  const { requests, longestSilenceMs } = await farm.count();
  const limit = INTERVAL_SECONDS * (1 + JITTER) + GRACE_SECONDS;
  bench.add({ name: `${of}: longest time without a probe`, unit: 's', better: 'lower', target: limit }, [longestSilenceMs / 1000]);
  bench.add({ name: `${of}: processor of the operator`, unit: '% of one', better: 'lower' }, busy);
  bench.add({ name: `${of}: memory of the operator`, unit: 'MiB', better: 'lower' }, memory);
  bench.add({ name: `${of}: writes to the registry`, unit: '', better: 'lower', target: 0 }, [(await yard.writes()) - before.written]);
  const probes = (endpoints * WINDOWS * windowMs) / 1000 / INTERVAL_SECONDS;
  const perProbe = (processorSeconds(yard.operatorPid) - before.busy) / probes;
  const perEndpoint = (Math.max(...memory) - atRest) / endpoints;
  bench.note(
    `a probe took the operator ${shown(perProbe * 1000)} ms of processor time and ${shown(requests / probes)} requests, an endpoint ` +
      `${shown(perEndpoint * 1024)} KiB beside the ${shown(atRest)} MiB of an idle operator, garbage included; the public registry's ` +
      `${shown(PUBLIC_REGISTRY)} endpoints every ${INTERVAL_SECONDS} s would so take ` +
      `${shown((perProbe * PUBLIC_REGISTRY) / INTERVAL_SECONDS)} processors and at most ${shown(atRest + perEndpoint * PUBLIC_REGISTRY)} MiB`,
  );
}
