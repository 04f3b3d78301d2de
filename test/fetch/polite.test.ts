import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Progress } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { connectTo, startFetchServer, type FetchServer } from './fetch-server.ts';
import { answer, startSite, type Route, type Site } from './site.ts';

const text = { 'content-type': 'text/plain; charset=utf-8' };
const long = 'words and words. '.repeat(2_000);
/** Requests that wait for the test to answer them. */
const held: (() => void)[] = [];
const hold: Route = (_request, response) => held.push(() => response.writeHead(200, text).end('held'));
const release = (): void => held.splice(0).forEach((end) => end());

let site: Site;
let busy: Site;
let server: FetchServer;
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'toolyard-fetch-'));
  let times = 0;
  busy = await startSite({
    '/robots.txt': answer('', text),
    '/page': (_request, response) => {
      times += 1;
      if (times === 1) response.writeHead(503, { 'retry-after': '2' }).end();
      else response.writeHead(200, text).end('rested');
    },
  });
  site = await startSite({
    '/long': answer(long, text),
    '/unstored': answer(long, { ...text, 'cache-control': 'no-store' }),
    '/fresh': answer('fresh page', { ...text, 'cache-control': 'max-age=600' }),
    '/mine': (request, response) =>
      response
        .writeHead(200, { ...text, 'cache-control': 'private, max-age=600' })
        .end(`copy ${site.asked.filter((path) => path === request.url).length}`),
    '/tagged': (request, response) => {
      if (request.headers['if-none-match'] === '"1"') response.writeHead(304, { etag: '"1"' }).end();
      else response.writeHead(200, { ...text, etag: '"1"' }).end('tagged page');
    },
    '/held': hold,
    ...Object.fromEntries(Array.from({ length: 6 }, (_, n) => [`/turn/${n}`, hold])),
    '/slow': (_request, response) => {
      response.writeHead(200, { ...text, 'content-length': '5000' });
      let sent = 0;
      const timer = setInterval(() => ((sent += 100) < 5_000 ? response.write('x'.repeat(100)) : response.end('x'.repeat(100))), 100);
      response.on('close', () => clearInterval(timer));
    },
  });
  const digest = (token: string) => createHash('sha256').update(token).digest('hex');
  await writeFile(join(directory, 'tokens.json'), JSON.stringify({ alice: digest('a'), bob: digest('b') }));
  server = await startFetchServer({ FETCH_ALLOW_ORIGINS: `${site.origin},${busy.origin}`, METRICS_PORT: '0' });
});
afterAll(async () => {
  await Promise.all([server.close(), site.close(), busy.close()]);
  await rm(directory, { recursive: true });
});
beforeEach(() => {
  site.asked.splice(0);
  site.cut.splice(0);
});

const modern = () => connectTo(server.process, undefined, '2026-07-28');
const at = (path: string): string => `${site.origin}${path}`;
const asked = (path: string): number => site.asked.filter((each) => each === path).length;

describe('later parts of a page', () => {
  test.each(['/long', '/unstored'])('are not downloaded again: %s', async (path) => {
    let read = '';
    for (let start = 0; start < long.length; start += 5_000) {
      const { text: told } = await server.fetch(at(path), { start_index: start });
      read += /Contents of [^\n]*:\n([^<]*?)(\n\n<error>|$)/.exec(told)?.[1] ?? '';
    }
    expect(read).toBe(long);
    expect(asked(path)).toBe(1);
  });
});

describe('a page is downloaded', () => {
  test('once while its site calls it fresh', async () => {
    for (let time = 0; time < 3; time += 1) expect((await server.fetch(at('/fresh'))).text).toMatch(/:\nfresh page$/);
    await server.fetch(at('/fresh#part'));
    expect(asked('/fresh')).toBe(1);
  });

  test('once while its site says that it has not changed', async () => {
    for (let time = 0; time < 3; time += 1) expect((await server.fetch(at('/tagged'))).text).toMatch(/:\ntagged page$/);
    expect(asked('/tagged')).toBe(3);
    expect(server.process.log()).toMatch(/"url":"[^"]*\/tagged","outcome":"ok","source":"revalidated"/);
  });

  test('once for calls that come together', async () => {
    const calls = Array.from({ length: 5 }, () => server.fetch(at('/held')));
    await expect.poll(() => held.length).toBe(1);
    release();
    for (const { text: told } of await Promise.all(calls)) expect(told).toMatch(/:\nheld$/);
    expect(asked('/held')).toBe(1);
  });

  test('for each principal by itself when its site speaks to each alone, who have the calls of a minute each', async () => {
    const env = { FETCH_ALLOW_ORIGINS: site.origin, AUTH: 'tokens', AUTH_TOKENS_FILE: join(directory, 'tokens.json') };
    const strict = await startFetchServer({ ...env, CALLS_PER_MINUTE: '3' }, 'a');
    const bob = await connectTo(strict.process, 'b');
    expect((await strict.fetch(at('/mine'))).text).toMatch(/:\ncopy 1$/);
    const { content } = await bob.callTool({ name: 'fetch', arguments: { url: at('/mine') } });
    expect(content).toEqual([{ type: 'text', text: expect.stringMatching(/:\ncopy 2$/) }]);
    expect((await strict.fetch(at('/mine'))).text).toMatch(/:\ncopy 1$/);
    await strict.fetch(at('/mine'));
    expect(await strict.fetch(at('/mine'))).toEqual({
      isError: true,
      text: expect.stringMatching(/^This server takes 3 calls a minute from one caller \(CALLS_PER_MINUTE\)\. Try again in \d+ s\.$/),
    });
    await expect(strict.prompt(at('/mine'))).rejects.toThrow('Try again in');
    expect(strict.process.log()).toContain('"principal":"bob","by":"autonomous"');
    await bob.close();
    await strict.close();
  });
});

describe('a host', () => {
  test('gets four requests at a time, and the others their turn', async () => {
    const calls = Array.from({ length: 6 }, (_, n) => server.fetch(at(`/turn/${n}`)));
    await expect.poll(() => held.length).toBe(4);
    await expect.poll(async () => metric('toolyard_fetch_host_waiting')).toBe(2);
    expect(held).toHaveLength(4);
    release();
    await expect.poll(() => held.length).toBe(2);
    release();
    for (const { text: told } of await Promise.all(calls)) expect(told).toMatch(/:\nheld$/);
  });

  test('that asks to be left alone is, and calls are told for how long', async () => {
    const url = `${busy.origin}/page`;
    const rest = /127\.0\.0\.1:\d+ answered 503 and is left alone until \d{4}-\S+Z: try again in [12] s$/;
    const first = await server.fetch(url);
    expect(first).toEqual({ isError: true, text: expect.stringMatching(rest) });
    expect(first.text).toContain(`Failed to fetch ${url} - status code 503; `);
    const second = await server.fetch(url);
    expect(second).toEqual({ isError: true, text: expect.stringMatching(rest) });
    expect(second.text).not.toContain('status code');
    expect(busy.asked).toEqual(['/robots.txt', '/page']);
    await expect.poll(async () => (await server.fetch(url)).text, { timeout: 6_000 }).toMatch(/:\nrested$/);
  });
});

describe('a slow page', () => {
  test('is reported on while it comes, once a second', async () => {
    const told: Progress[] = [];
    const call = { name: 'fetch', arguments: { url: at('/slow') } };
    await server.client.callTool(call, { onprogress: (progress) => told.push(progress) });
    expect(told.length).toBeGreaterThanOrEqual(3);
    expect(told.length).toBeLessThanOrEqual(8);
    for (const [n, { progress, total, message }] of told.entries()) {
      expect(progress).toBeGreaterThan(told[n - 1]?.progress ?? 0);
      expect(total).toBe(5_001);
      expect(message).toMatch(new RegExp(`^received ${progress} of 5000 bytes from 127\\.0\\.0\\.1:\\d+$`));
    }
  });

  test('ends at once when the last caller who wants it has left', async () => {
    const [one, two] = [await modern(), await modern()];
    const leaves = [new AbortController(), new AbortController()] as const;
    const call = { name: 'fetch', arguments: { url: at('/slow?left') } };
    const calls = [one, two].map((client, n) => client.callTool(call, { ...(leaves[n] && { signal: leaves[n].signal }) }));
    await expect.poll(() => asked('/slow?left')).toBe(1);
    leaves[0].abort();
    await expect(calls[0]).rejects.toThrow(/abort/i);
    await expect.poll(() => server.process.log()).toMatch(/"url":"[^"]*\/slow","outcome":"left"/);
    expect(site.cut).toEqual([]);
    leaves[1].abort();
    await expect(calls[1]).rejects.toThrow(/abort/i);
    await expect.poll(() => site.cut).toEqual(['/slow?left']);
    await expect.poll(async () => metric('toolyard_fetch_downloads_in_flight')).toBe(0);
    await Promise.all([one.close(), two.close()]);
  });
});

test('what is logged names no query, fragment or credentials', async () => {
  await server.fetch(at('/fresh?key=s3cret#s3cret').replace('//', '//user:s3cret@'));
  const line = server.process
    .log()
    .split('\n')
    .find((each) => each.includes('"msg":"page"') && each.includes('/fresh') && each.includes('"source":"download"'));
  expect(line).toContain(`"principal":"anonymous","by":"autonomous","url":"${at('/fresh')}","outcome":"ok"`);
  expect(server.process.log()).not.toContain('s3cret');
});

/** The value of a metric without labels, as it is scraped. */
async function metric(name: string): Promise<number> {
  const url = /"metricsUrl":"([^"]+)"/.exec(server.process.log())?.[1] ?? '';
  const scraped = await (await fetch(url)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(scraped)?.[1]);
}
