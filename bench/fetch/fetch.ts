import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { startIncumbent } from '../../test/differential/fetch/incumbent/start.ts';
import type { Bench, Benchmark } from '../bench.ts';
import { quantile } from '../figures.ts';
import { startPart } from '../part.ts';
import { familyMiB, largestDuring } from '../proc.ts';
import { openSite } from './site.ts';

const PEER = 'mcp-server-fetch 2026.10.24 on Node 26';
const CALLERS = 16;
const ANSWER_MS = 600_000;

/** Sizes of pages, KiB; how often one is asked for in a round, and how many times faster than the incumbent we want to be. */
const SIZES = [
  { kib: 10, calls: 40, cold: 40, cached: 100 },
  { kib: 300, calls: 10, cold: 15, cached: 100 },
  { kib: 1000, calls: 5, cold: 15, cached: 100 },
] as const;

export const fetching: Benchmark = {
  name: 'fetch',
  about: 'time for a page of 10 KB, 300 KB and 1 MB, new and known, alone and among 16, against mcp-server-fetch',
  async run(bench) {
    await using stack = new AsyncDisposableStack();
    const site = await openSite(stack);
    const [ours, theirs] = [await ourSide(stack, site), await theirSide(stack, site)];
    for (const size of SIZES) await alone(bench, { ours, theirs }, size);
    await beside(bench, { ours, theirs });
    await together(bench, { ours, theirs }, 10);
    for (const kib of [300, 1000]) await together(bench, { ours }, kib);
  },
};

interface Side {
  readonly site: string;
  readonly client: Client;
  readonly pid: number;
  /** pages asked for so far: each is asked for under a name of its own */
  asked: number;
}

interface Sides {
  readonly ours: Side;
  readonly theirs: Side;
}

async function ourSide(stack: AsyncDisposableStack, site: string): Promise<Side> {
  const env = { FETCH_ALLOW_ORIGINS: site, FETCH_HOST_REQUESTS: String(CALLERS) };
  const { url, pid } = await startPart(stack, 'mcp-servers/fetch/main.ts', env);
  const client = new Client({ name: 'bench', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)));
  stack.defer(() => client.close());
  return { site, client, pid, asked: 0 };
}

async function theirSide(stack: AsyncDisposableStack, site: string): Promise<Side> {
  const incumbent = await startIncumbent(1, ['--allow-private-ips', '--ignore-robots-txt']);
  stack.defer(() => incumbent.close());
  const [client, pid = Number.NaN] = [incumbent.clients[0], incumbent.pids[0]];
  if (client === undefined) throw new Error('mcp-server-fetch did not start');
  return { site, client, pid, asked: 0 };
}

async function alone(bench: Bench, { ours, theirs }: Sides, { kib, calls, cold, cached }: (typeof SIZES)[number]): Promise<void> {
  const name = `fetch, page of ${kib} KB, 1 caller`;
  const all: number[] = [];
  const peer: number[] = [];
  await bench.compare({
    name: `${name}, new`,
    unit: 'ms',
    better: 'lower',
    target: cold,
    ours: async () => {
      const times = await inTurn(calls, () => call(ours, kib));
      all.push(...times);
      return quantile(times, 0.5);
    },
    peer: {
      name: PEER,
      measure: async () => {
        peer.push(await call(theirs, kib));
        return peer.at(-1) ?? Number.NaN;
      },
    },
  });
  bench.add({ name: `${name}, new, 99th percentile`, unit: 'ms', better: 'lower' }, [quantile(all, 0.99)]);
  await call(ours, kib, 'known');
  const values = peer.slice(1);
  const known: number[] = [];
  for (let round = 0; round < values.length; round += 1) known.push(quantile(await inTurn(calls, () => call(ours, kib, 'known')), 0.5));
  // the incumbent keeps nothing: a page that it has read takes as long again
  bench.add({ name: `${name}, known`, unit: 'ms', better: 'lower', target: cached }, known, { name: PEER, values });
}

/** A small page while a large one is converted. */
async function beside(bench: Bench, sides: Sides): Promise<void> {
  const measure = async (side: Side): Promise<number> => {
    const large = call(side, 1000);
    const small = await call(side, 10);
    await large;
    return small;
  };
  const [ours, theirs]: [number[], number[]] = [[], []];
  for (let round = 0; round < Math.min(bench.scale.rounds, 2); round += 1) {
    ours.push(await measure(sides.ours));
    theirs.push(await measure(sides.theirs));
  }
  bench.add({ name: 'fetch, page of 10 KB while one of 1 MB is converted', unit: 'ms', better: 'lower' }, ours, {
    name: PEER,
    values: theirs,
  });
}

/** The incumbent answers one after the other, so that one round of it tells all; for large pages that would be minutes. */
async function together(bench: Bench, sides: Pick<Sides, 'ours'> & Partial<Sides>, kib: number): Promise<void> {
  const name = `fetch, new pages of ${kib} KB, ${CALLERS} callers`;
  const measure = async (side: Side, forMs: number): Promise<{ rate: number; memory: number }> => {
    const began = performance.now();
    let answers = 0;
    const caller = async (): Promise<void> => {
      do {
        await call(side, kib);
        answers += 1;
      } while (performance.now() - began < forMs);
    };
    const memory = await largestDuring(Promise.all(Array.from({ length: CALLERS }, caller)), () => familyMiB(side.pid));
    return { rate: answers / ((performance.now() - began) / 1000), memory };
  };
  await measure(sides.ours, bench.scale.seconds * 1000);
  const ours = await measure(sides.ours, bench.scale.seconds * 5000);
  const theirs = sides.theirs && (await measure(sides.theirs, 0));
  bench.add({ name, unit: '1/s', better: 'higher' }, [ours.rate], theirs && { name: PEER, values: [theirs.rate] });
  bench.add({ name: `${name}, memory`, unit: 'MiB', better: 'lower' }, [ours.memory], theirs && { name: PEER, values: [theirs.memory] });
}

async function inTurn(times: number, measure: () => Promise<number>): Promise<number[]> {
  const values: number[] = [];
  while (values.length < times) values.push(await measure());
  return values;
}

/** Milliseconds until all of a page is there. @throws Error for any other answer: a load of refusals would measure nothing */
async function call(side: Side, kib: number, name = String((side.asked += 1))): Promise<number> {
  const began = performance.now();
  const request = { name: 'fetch', arguments: { url: `${side.site}/${kib}?${name}`, max_length: 999_999 } };
  const { content, isError } = await side.client.callTool(request, { timeout: ANSWER_MS });
  const took = performance.now() - began;
  const [part] = content;
  if (isError === true || part?.type !== 'text' || !part.text.includes('Paragraph 4 of the article')) {
    throw new Error(`a page of ${kib} KB came as ${JSON.stringify(content).slice(0, 500)}`);
  }
  return took;
}
