import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Benchmark, Scale } from './bench.ts';

/** What `make bench` was asked for. */
export interface Options extends Scale {
  readonly chosen: readonly Benchmark[];
  /** not all of them: the file keeps the rows of the others */
  readonly partly: boolean;
  readonly output: string;
}

const usage = {
  only: { type: 'string', multiple: true },
  rounds: { type: 'string', default: '5' },
  seconds: { type: 'string', default: '1' },
  endpoints: { type: 'string', default: '1000' },
  output: { type: 'string', default: join(import.meta.dirname, 'results.json') },
  help: { type: 'boolean' },
} as const;

export function helpText(benchmarks: readonly Benchmark[]): string {
  return `make bench [ARGS="--only NAME …"]: measures toolyard beside its peers, by turns, and writes the figures to bench/results.json

  --only NAME     this benchmark alone; again for more. Its rows take the place of those in the file, which keeps the others
  --rounds N      counted rounds of each measurement, after one that is not (5)
  --seconds S     length of a round where time decides it (1)
  --endpoints N   live MCP endpoints that "scale" has probed (1000)
  --output FILE   where the figures go (bench/results.json)

${benchmarks.map(({ name, about }) => `  ${name.padEnd(14)}  ${about}`).join('\n')}

Exits with 0 when all was measured, whether targets were met or not; 1 when something could not run; 2 for wrong options.
`;
}

/** @returns undefined when help was asked for. @throws Error for wrong options */
export function readOptions(args: readonly string[], benchmarks: readonly Benchmark[]): Options | undefined {
  const { only = [], output, help, ...numbers } = parseArgs({ args: [...args], options: usage }).values;
  if (help === true) return undefined;
  const unknown = only.filter((name) => !benchmarks.some((benchmark) => benchmark.name === name));
  if (unknown.length > 0) throw new Error(`--only: there is no benchmark ${unknown.join(', ')}`);
  const chosen = benchmarks.filter(({ name }) => only.length === 0 || only.includes(name));
  const partly = chosen.length < benchmarks.length;
  const scale = {
    rounds: Math.ceil(above0('--rounds', numbers.rounds)),
    seconds: above0('--seconds', numbers.seconds),
    endpoints: Math.ceil(above0('--endpoints', numbers.endpoints)),
  };
  return { chosen, partly, output, ...scale };
}

function above0(option: string, text: string): number {
  const value = Number(text);
  if (value > 0 && Number.isFinite(value)) return value;
  throw new Error(`${option}: a number above 0, not ${text}`);
}
