import { readFile, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';
import { relative } from 'node:path';
import { Bench, type Benchmark } from './bench.ts';
import { onCluster } from './cluster/cluster.ts';
import { fetching } from './fetch/fetch.ts';
import { helpText, readOptions, type Options } from './options.ts';
import { memory } from './memory.ts';
import { changing } from './operator/change.ts';
import { scaling } from './operator/scale.ts';
import { publishing } from './registry/publish.ts';
import { reading } from './registry/read.ts';
import { merged, tableOf, verdictOf, type Row } from './rows.ts';
import { starting } from './start.ts';
import { messageOf } from '../lib/error-message.ts';

const benchmarks: readonly Benchmark[] = [publishing, reading, changing, scaling, fetching, memory, starting, onCluster];

/** As a shell reports Ctrl-C. */
const STOPPED = 130;

async function run({ chosen, partly, output, ...scale }: Options): Promise<number> {
  const stopped = toldToStop();
  const print = progress();
  const bench = new Bench(scale, print, stopped);
  const failures: string[] = [];
  noteOtherLoad(bench);
  for (const benchmark of chosen) {
    try {
      bench.say(`${benchmark.name}: ${benchmark.about}`);
      await benchmark.run(bench);
    } catch (error) {
      if (stopped.aborted) return STOPPED;
      const failure = `${benchmark.name}: ${messageOf(error)}`;
      failures.push(failure);
      print(`CANNOT RUN ${failure}`);
    }
  }
  const rows = bench.measured.map(({ row }) => row);
  await writeFile(output, `${JSON.stringify(merged(partly ? await written(output) : [], rows), undefined, 2)}\n`);
  process.stdout.write(report(bench, failures, output));
  return failures.length === 0 ? 0 : 1;
}

/** The first signal lets what was started be stopped and removed; a second one ends all at once. */
function toldToStop(): AbortSignal {
  const stopped = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopped.abort());
  return stopped.signal;
}

function progress(): (text: string) => void {
  const started = performance.now();
  return (text) => {
    const seconds = Math.round((performance.now() - started) / 1000);
    process.stderr.write(`[${String(seconds).padStart(3)} s] ${text}\n`);
  };
}

function noteOtherLoad(bench: Bench): void {
  const [load = 0] = loadavg();
  if (load > availableParallelism() / 2) bench.note(`other programs kept this machine busy at the start: load average ${load.toFixed(1)}`);
}

async function written(file: string): Promise<Row[]> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Row[];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

function report({ measured, notes }: Bench, failures: readonly string[], output: string): string {
  const verdicts = measured.map(({ row }) => verdictOf(row));
  const [met, missed] = [verdicts.filter((verdict) => verdict === 'ok').length, verdicts.filter((verdict) => verdict === 'MISSED').length];
  const machine = `${availableParallelism()} processors (${cpus()[0]?.model.trim() ?? 'unknown'}), ${Math.round(totalmem() / 2 ** 30)} GiB`;
  const parts = [
    `${machine}, Node ${process.versions.node}`,
    tableOf(measured),
    notes.map((note) => `note: ${note}`).join('\n'),
    failures.map((failure) => `CANNOT RUN ${failure}`).join('\n'),
    `${met} of ${met + missed} targets met${missed > 0 ? `, ${missed} MISSED` : ''}; the figures are in ${relative(process.cwd(), output)}`,
  ];
  return `\n${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

function optionsOrExit(): Options | undefined {
  try {
    return readOptions(process.argv.slice(2), benchmarks);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${helpText(benchmarks)}`);
    return process.exit(2);
  }
}

const options = optionsOrExit();
if (options === undefined) process.stdout.write(helpText(benchmarks));
else process.exitCode = await run(options);
