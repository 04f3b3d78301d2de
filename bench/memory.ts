import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { request } from 'undici';
import { descendants } from '../test/up/running.ts';
import type { Bench, Benchmark } from './bench.ts';
import { LoadClient } from './load/client.ts';
import type { LoadRequest } from './load/job.ts';
import { Yard } from './operator/yard.ts';
import { startPart } from './part.ts';
import { familyMiB, largestDuring, residentMiB, shareMiB } from './proc.ts';
import { latestOf, pages } from './registry/read.ts';
import { OFFICIAL, publish, requireDisk, startEmbedded, startOfficial, type Side } from './registry/two-sides.ts';

const RECORDS = 10_000;
const CALLERS = 16;
/** What a start leaves behind is gone, and nothing was asked yet. */
const SETTLE_MS = 3000;

export const memory: Benchmark = {
  name: 'memory',
  about: 'resident memory of each process, at rest and under load',
  async run(bench) {
    await requireDisk();
    await ofRegistries(bench);
    await ofFetch(bench);
    await ofSandbox(bench);
    await ofOperator(bench);
  },
};

/** At rest and at most under load, MiB. */
interface Footprint {
  readonly rest: number;
  readonly load: number;
}

async function footprint(look: () => number, load: () => Promise<unknown>): Promise<Footprint> {
  await delay(SETTLE_MS);
  const rest = look();
  return { rest, load: await largestDuring(load(), look) };
}

function report(bench: Bench, what: string, ours: Footprint, peer?: { readonly name: string } & Footprint): void {
  for (const [when, of] of [
    ['at rest', (found: Footprint) => found.rest],
    ['at most under load', (found: Footprint) => found.load],
  ] as const) {
    const theirs = peer && { name: peer.name, values: [of(peer)] };
    bench.add({ name: `memory of ${what}, ${when}`, unit: 'MiB', better: 'lower' }, [of(ours)], theirs);
  }
}

/** One after the other: two that fill memory together would look at each other's caches. */
async function ofRegistries(bench: Bench): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const client = stack.use(new LoadClient());
  const embedded = await startEmbedded(stack);
  const ours = await footprint(
    () => residentMiB(embedded.pid),
    () => useRegistry(bench, client, embedded),
  );
  const official = await startOfficial(stack);
  const theirs = await footprint(
    () => residentMiB(official.pid) + postgres().reduce((sum, pid) => sum + shareMiB(pid), 0),
    () => useRegistry(bench, client, official),
  );
  report(bench, 'the registry', ours, { name: OFFICIAL, ...theirs });
}

/** The servers that this process started, without those that ended meanwhile. */
function postgres(): number[] {
  return descendants(process.pid)
    .filter(({ command }) => /^(\S*\/)?postgres\b/.test(command))
    .map(({ pid }) => pid);
}

async function useRegistry(bench: Bench, client: LoadClient, side: Side): Promise<void> {
  await publish(client, side, { from: 0, count: RECORDS, callers: CALLERS });
  const forMs = bench.scale.seconds * 3000;
  for (const requests of [await pages(side, 30), await pages(side, 100), latestOf(RECORDS)]) {
    await client.run({ url: side.url, callers: CALLERS, requests, forMs });
  }
}

async function ofFetch(bench: Bench): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const client = stack.use(new LoadClient());
  const site = await openSite(stack);
  const server = await startPart(stack, 'mcp-servers/fetch/main.ts', { FETCH_ALLOW_ORIGINS: site });
  const call = toolCall('fetch', { url: `${site}/article` });
  const use = async (): Promise<void> => {
    await requireAnswer(server.url, call, 'Paragraph 1 of the article');
    await client.run({ url: server.url, callers: CALLERS, requests: [call], forMs: bench.scale.seconds * 5000 });
  };
  // pages are read in processes of their own
  report(bench, 'the fetch server and its readers', await footprint(() => familyMiB(server.pid), use));
}

/** A page as long as an article. */
async function openSite(stack: AsyncDisposableStack): Promise<string> {
  const sentence = 'It says as much as a sentence of a newspaper does, with <a href="/other">a link</a> and <em>a word that matters</em>. ';
  const paragraphs = Array.from({ length: 40 }, (_, index) => `<p>Paragraph ${index + 1} of the article. ${sentence.repeat(4)}</p>`);
  const page = `<!doctype html><title>Article</title><main><article><h1>Article</h1>${paragraphs.join('')}</article></main>`;
  const server = createServer((req, res) => {
    if (req.url === '/article') res.writeHead(200, { 'content-type': 'text/html' }).end(page);
    else res.writeHead(404).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  stack.defer(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** As many as one caller may have. */
const SANDBOXES = 4;

async function ofSandbox(bench: Bench): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const client = stack.use(new LoadClient());
  const directory = await mkdtemp(join(tmpdir(), 'toolyard-bench-'));
  stack.defer(() => rm(directory, { recursive: true, force: true }));
  const server = await startPart(stack, 'mcp-servers/sandbox/main.ts', { STATE_DIR: directory });
  const use = async (): Promise<void> => {
    const names: string[] = [];
    while (names.length < SANDBOXES) names.push(await createSandbox(server.url));
    const calls = names.map((name) => toolCall('execute_command', { sandbox_claim_name: name, command: 'echo hello' }));
    for (const call of calls) await requireAnswer(server.url, call, 'hello');
    await client.run({ url: server.url, callers: SANDBOXES, requests: calls, forMs: bench.scale.seconds * 5000 });
  };
  report(bench, 'the sandbox server, without its sandboxes', await footprint(() => residentMiB(server.pid), use));
}

async function createSandbox(url: string): Promise<string> {
  const text = await requireAnswer(url, toolCall('create_sandbox', {}), 'sandbox_claim_name');
  return /sb-[a-z2-7]+/.exec(text)?.[0] ?? '';
}

async function ofOperator(bench: Bench): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const yard = await Yard.create(stack);
  await yard.startRegistry();
  await yard.startOperator();
  await delay(SETTLE_MS);
  bench.add({ name: 'memory of the operator, at rest', unit: 'MiB', better: 'lower' }, [residentMiB(yard.operatorPid)]);
}

/** One request of a client of the 2025 era, which needs no session here. */
function toolCall(name: string, args: Readonly<Record<string, unknown>>): LoadRequest {
  return {
    method: 'POST',
    target: '/mcp',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
  };
}

/** @throws Error unless the answer has this in it: a load of refusals would measure nothing */
async function requireAnswer(url: string, { method, target, headers, body }: LoadRequest, part: string): Promise<string> {
  const answer = await request(`${url}${target}`, { method, headers: { ...headers }, body: body ?? null });
  const text = await answer.body.text();
  if (answer.statusCode !== 200 || !text.includes(part))
    throw new Error(`${url}${target} answered ${answer.statusCode}: ${text.slice(0, 500)}`);
  return text;
}
