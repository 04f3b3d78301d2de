import { request } from 'undici';
import { RegistryClient } from '../../lib/registry-api/client.ts';
import type { Bench, Benchmark } from '../bench.ts';
import { LoadClient } from '../load/client.ts';
import type { LoadRequest } from '../load/job.ts';
import { shown } from '../rows.ts';
import { documentOf, nameOf, OFFICIAL, publish, requireDisk, SIZES, startEmbedded, startOfficial, type Side } from './two-sides.ts';

const CALLERS = 16;
const LARGEST = Math.max(...SIZES);
/** As a registry sees it that a few dozen pipelines publish to, all the time. */
const WRITES_PER_SECOND = 50;

const LIST_TARGET = 8;

/** What is asked again and again: all pages of a list, or all names, in an order that no cache could guess. */
const READS = [
  { what: 'list, limit 30', target: LIST_TARGET, requests: (side: Side) => pages(side, 30) },
  { what: 'list, limit 100', target: LIST_TARGET, requests: (side: Side) => pages(side, 100) },
  { what: 'latest version of a record', target: 3, requests: async (_: Side, size: number) => latestOf(size) },
] as const;

export const reading: Benchmark = {
  name: 'read',
  about: 'lists and single records read a second by 16 callers, against the official registry',
  async run(bench) {
    await requireDisk();
    for (const size of SIZES) await atSize(bench, size);
  },
};

async function atSize(bench: Bench, size: number): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const client = stack.use(new LoadClient());
  const [ours, official] = [await startEmbedded(stack), await startOfficial(stack)];
  bench.say(`publishing ${shown(size)} records to both`);
  for (const side of [ours, official]) await publish(client, side, { from: 0, count: size, callers: CALLERS });
  const two: TwoSides = { client, ours, official, peer: OFFICIAL, size };
  for (const read of READS) await compareReads(bench, two, read);
  if (size < LARGEST) return;
  bench.say('publishing them to an official registry that keeps its lists prepared');
  const prepared = await startOfficial(stack, { PREPARED_LISTING_JSON: 'true' });
  await publish(client, prepared, { from: 0, count: size, callers: CALLERS });
  const [list30, list100] = READS;
  for (const read of [list30, list100]) await compareReads(bench, { ...two, official: prepared, peer: PREPARED }, read);
  await compareBesideWrites(bench, two);
}

/** Off unless it is asked for, and faster. */
const PREPARED = `${OFFICIAL}, PREPARED_LISTING_JSON=true`;

interface TwoSides {
  readonly client: LoadClient;
  readonly ours: Side;
  readonly official: Side;
  /** what the official one is called in the table */
  readonly peer: string;
  /** records in each */
  readonly size: number;
}

async function compareReads(
  bench: Bench,
  { client, ours, official, peer, size }: TwoSides,
  { what, target, requests }: (typeof READS)[number],
): Promise<void> {
  const [fromOurs, fromOfficial] = [await requests(ours, size), await requests(official, size)];
  const against = peer === OFFICIAL ? '' : ', prepared lists';
  await bench.compare({
    name: `${what}, ${CALLERS} callers, ${size === 1 ? '1 record' : `${shown(size)} records`}${against}`,
    unit: '1/s',
    better: 'higher',
    target,
    ours: () => round(bench, client, ours, fromOurs),
    peer: { name: peer, measure: () => round(bench, client, official, fromOfficial) },
  });
}

async function compareBesideWrites(bench: Bench, { client, ours, official, peer, size }: TwoSides): Promise<void> {
  const [fromOurs, fromOfficial] = [await pages(ours, 30), await pages(official, 30)];
  await bench.compare({
    name: `list, limit 30, ${CALLERS} callers, ${shown(size)} records, beside ${WRITES_PER_SECOND} publishes/s`,
    unit: '1/s',
    better: 'higher',
    ours: () => besideWrites(ours, () => round(bench, client, ours, fromOurs)),
    peer: { name: peer, measure: () => besideWrites(official, () => round(bench, client, official, fromOfficial)) },
  });
}

/** Share of the time that the load client may work: beyond, it is the client that is measured. */
const CLIENT_LIMIT = 0.9;

async function round(bench: Bench, client: LoadClient, side: Side, requests: readonly LoadRequest[]): Promise<number> {
  const { answers, seconds, clientSeconds } = await client.run({
    url: side.url,
    callers: CALLERS,
    requests,
    forMs: bench.scale.seconds * 1000,
  });
  const busy = clientSeconds / seconds;
  if (busy > CLIENT_LIMIT)
    bench.note(
      `the load client was busy for ${shown(busy * 100)} % of a round of "${requests[0]?.target}" at ${side.url}: the server may be faster`,
    );
  return answers / seconds;
}

/** Every page once. */
export async function pages({ url }: Side, limit: number): Promise<LoadRequest[]> {
  const found: LoadRequest[] = [];
  for (let cursor: string | undefined = ''; cursor !== undefined;) {
    const target = `/v0.1/servers?limit=${limit}${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`;
    found.push({ method: 'GET', target });
    const { body } = await request(`${url}${target}`);
    const { metadata } = (await body.json()) as { metadata: { nextCursor?: string } };
    cursor = metadata.nextCursor;
  }
  return shuffled(found);
}

export function latestOf(size: number): LoadRequest[] {
  const names = Array.from({ length: size }, (_, index) => nameOf(index));
  return shuffled(names.map((name) => ({ method: 'GET', target: `/v0.1/servers/${encodeURIComponent(name)}/versions/latest` })));
}

/** The same disorder in every run. */
function shuffled<T>(items: readonly T[]): T[] {
  let state = 1;
  const keyed = items.map((item) => {
    state = (state * 48_271) % 0x7f_ff_ff_ff;
    return { item, key: state };
  });
  return keyed.toSorted((a, b) => a.key - b.key).map(({ item }) => item);
}

/** Numbers of the documents that are published meanwhile. */
let nextWrite = LARGEST;

async function besideWrites(side: Side, work: () => Promise<number>): Promise<number> {
  const client = new RegistryClient({ url: side.url, tokens: { token: () => side.token(), renew: () => side.token() } });
  const writes: Promise<unknown>[] = [];
  const timer = setInterval(() => {
    writes.push(client.publish(JSON.parse(documentOf(nextWrite))));
    nextWrite += 1;
  }, 1000 / WRITES_PER_SECOND);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    await Promise.all(writes);
  }
}
