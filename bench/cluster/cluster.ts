import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Benchmark } from '../bench.ts';
import { run } from '../../test/cluster/run.ts';
import type { Figure } from './inside.ts';

const home = join(import.meta.dirname, '..', '..');
const cluster = join(home, 'test', 'cluster', 'cluster');

export const onCluster: Benchmark = {
  name: 'cluster',
  about: 'the shipped manifests on the test cluster (make cluster): a ConfigMap until it is a readable record, 500 of them, memory, writes',
  async run(bench) {
    await run(cluster, ['kubectl', 'get', 'nodes']).catch((cause: unknown) => {
      throw new Error('no test cluster runs here: start it with make cluster (root, Linux, Go; half an hour the first time)', { cause });
    });
    bench.say('measuring inside the network of the test cluster');
    for (const { values, ...heading } of await figures(bench.scale.rounds)) bench.add(heading, values);
  },
};

/** The cluster's services are reached from its own network only, so what measures is a process there. */
async function figures(rounds: number): Promise<readonly Figure[]> {
  const args = ['in', process.execPath, join(import.meta.dirname, 'inside.ts'), String(rounds)];
  const child = spawn(cluster, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`the process that measures inside the cluster ended with ${code}; it says why above`);
  return JSON.parse(text) as readonly Figure[];
}
