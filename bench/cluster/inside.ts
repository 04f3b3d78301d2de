import { setTimeout as delay } from 'node:timers/promises';
import { now, OPERATOR, writesSince } from '../../test/cluster/testing/audit.ts';
import { install } from '../../test/cluster/testing/install.ts';
import { leaderMetrics, metricsOf, type Metrics } from '../../test/cluster/testing/metrics.ts';
import { declareInTurn, declareTogether, settled } from '../../test/cluster/testing/scale.ts';
import { clear } from '../../test/cluster/testing/yard.ts';
import { quantile } from '../figures.ts';
import type { Heading } from '../rows.ts';

/** A row, with the values of its rounds. */
export interface Figure extends Heading {
  readonly values: readonly number[];
}

const MANY = 500;
const IN_TURN = 20;
/** All 500 at once take the cluster a while. */
const MOST_ROUNDS_OF_MANY = 3;
const IDLE_SECONDS = 120;
const AN_HOUR = 3600;
/** Of the memory of each process, MB (not MiB), as the issue of the part has it. */
const MEMORY_TARGET = 100;

/** Runs in the cluster's network: `node inside.ts ROUNDS` prints the figures as JSON. */
const rounds = Number(process.argv[2] ?? 1);
const say = (text: string): void => void process.stderr.write(`        ${text}\n`);
const namesOf = (what: string, count: number): readonly string[] => Array.from({ length: count }, (_, index) => `${what}-${index}`);

async function main(): Promise<readonly Figure[]> {
  await install();
  await clear();
  const inTurn = await repeated(rounds, 'one at a time', (round) => declareInTurn(namesOf(`bench-${round}`, IN_TURN)));
  await clear();
  const together = await repeated(Math.min(rounds, MOST_ROUNDS_OF_MANY), `${MANY} at once`, async (round) => {
    if (round > 0) await clear();
    return declareTogether(namesOf(`bench-${round}`, MANY));
  });
  await settled(MANY);
  const idle = await whileIdle();
  const working = await leaderMetrics();
  const others = (await metricsOf('operator')).filter(({ pod }) => pod !== working.pod);
  await clear();
  const memory = `memory of the operator on Kubernetes`;
  return [
    ...quantiles('ConfigMap applied to record readable, one at a time', inTurn),
    ...quantiles(`ConfigMap applied to record readable, ${MANY} at once`, together),
    ...idle,
    { name: `${memory}, ${MANY} ConfigMaps`, unit: 'MB', better: 'lower', target: MEMORY_TARGET, values: [megabytes(working)] },
    ...others.map((other): Figure => ({ name: `${memory}, standing by`, unit: 'MB', better: 'lower', values: [megabytes(other)] })),
  ];
}

async function repeated(
  times: number,
  what: string,
  measure: (round: number) => Promise<readonly number[]>,
): Promise<readonly (readonly number[])[]> {
  const took = [];
  while (took.length < times) {
    const values = await measure(took.length);
    took.push(values);
    say(`${what}, ${took.length} of ${times}: p50 ${Math.round(quantile(values, 0.5))} ms, p99 ${Math.round(quantile(values, 0.99))} ms`);
  }
  return took;
}

function quantiles(what: string, took: readonly (readonly number[])[]): readonly Figure[] {
  return (
    [
      ['p50', 0.5],
      ['p99', 0.99],
    ] as const
  ).map(([shown, share]) => ({
    name: `${what}, ${shown}`,
    unit: 'ms',
    better: 'lower',
    values: took.map((values) => quantile(values, share)),
  }));
}

/** What is written to the API server while nothing changes. */
async function whileIdle(): Promise<readonly Figure[]> {
  say(`nothing changes for ${IDLE_SECONDS} s`);
  const [mark, before] = [await now(), await leases()];
  await delay(IDLE_SECONDS * 1000);
  const perHour = (count: number): number => (count / IDLE_SECONDS) * AN_HOUR;
  const of = `while ${MANY} ConfigMaps stay as they are`;
  return [
    {
      name: `API writes per hour ${of}, without the Lease`,
      unit: '',
      better: 'lower',
      target: 0,
      values: [perHour((await writesSince(mark, OPERATOR)).length)],
    },
    { name: `renewals of the Lease per hour`, unit: '', better: 'lower', values: [perHour((await leases()) - before)] },
  ];
}

async function leases(): Promise<number> {
  return (await metricsOf('operator')).reduce(
    (sum, of) => sum + of.sum('toolyard_kube_requests_total', 'verb="update",resource="leases"'),
    0,
  );
}

function megabytes(metrics: Metrics): number {
  return metrics.sum('process_resident_memory_bytes') / 1e6;
}

process.stdout.write(JSON.stringify(await main()));
