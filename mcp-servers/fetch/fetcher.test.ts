import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { guardedAgent } from '../../lib/address-guard/guard.ts';
import { anyAddress, publicOnly, type AddressPolicy } from '../../lib/address-guard/policy.ts';
import { convert } from './convert/conversion.ts';
import { Fetcher, type FetcherOptions } from './fetcher.ts';
import { FetchMetrics } from './metrics.ts';

const KIB = 1024;

let site: Server;
let answer: RequestListener;
let url: URL;
const agents: { destroy(): Promise<void> }[] = [];

beforeEach(async () => {
  site = createServer((request, response) => answer(request, response)).listen(0, '127.0.0.1');
  await once(site, 'listening');
  url = new URL(`http://127.0.0.1:${(site.address() as AddressInfo).port}/page`);
});

afterEach(async () => {
  await Promise.all(agents.splice(0).map((agent) => agent.destroy()));
  site.closeAllConnections();
  site.close();
});

function fetcherWith(policy: AddressPolicy, some: Partial<FetcherOptions> = {}): Fetcher {
  const dispatcher = guardedAgent(policy);
  agents.push(dispatcher);
  return new Fetcher({
    dispatcher,
    convert: (conversion) => Promise.resolve(convert(conversion)),
    userAgents: { autonomous: 'Robot/1', manual: 'Person/1' },
    ignoreRobots: true,
    timeoutMs: 5_000.5,
    limits: { wireBytes: 64 * KIB, decodedBytes: 64 * KIB, ratio: 100 },
    remedy: ({ origin }) => `Allow ${origin}.`,
    metrics: new FetchMetrics(new Registry()),
    ...some,
  });
}

const page = (fetcher: Fetcher) => fetcher.page(url, { raw: false, by: 'manual', signal: new AbortController().signal });

describe('a refusal says what would help', () => {
  const refused = () => `Refused to fetch ${url.href}: 127.0.0.1 resolves to 127.0.0.1, which`;

  test('for an address that may be excepted', async () => {
    await expect(page(fetcherWith(publicOnly()))).rejects.toThrow(`${refused()} is not a public address. Allow ${url.origin}.`);
  });

  test('but not for one that is denied, public or not', async () => {
    const denying = publicOnly({ allowOrigins: [url.origin], deny: ['127.0.0.0/8'] });
    await expect(page(fetcherWith(denying))).rejects.toThrow(`${refused()} this server is configured not to fetch from.`);
  });
});

describe('a header can say no more than a header', () => {
  test('where the type of a text is named', async () => {
    answer = (_request, response) => response.writeHead(200, { 'content-type': 'text/plain; x="\u009B31m\u00A0"' }).end('text');
    expect((await page(fetcherWith(anyAddress()))).prefix).toMatch(/^Content type text\/plain; x="\\x9b31m\\xa0" cannot be simplified/);
  });

  test('where the type of what is no text is named', async () => {
    answer = (_request, response) => response.writeHead(200, { 'content-type': `x/${'y'.repeat(9_000)}` }).end('\0');
    const failure = await page(fetcherWith(anyAddress())).catch((error: Error) => error.message);
    expect(failure).toMatch(/the content is x\/y{254}… \(9002 characters\) \(1 bytes\), which cannot be shown as text$/);
  });
});

test('pages that are large together are not all read at once, and one is again when the others are done', async () => {
  const limit = 4096 * KIB;
  answer = (_request, response) => response.writeHead(200, { 'content-type': 'text/plain' }).end('x'.repeat(limit));
  const converting = Promise.withResolvers<void>();
  const fetcher = fetcherWith(anyAddress(), {
    limits: { wireBytes: limit, decodedBytes: limit, ratio: 100 },
    convert: async (conversion) => {
      await converting.promise;
      return { text: String(conversion.bytes.length), method: 'text' };
    },
  });
  // each counts for what it has beyond 1 MiB, and all together for 16 times the limit
  const most = Math.floor((16 * limit) / (limit - 1024 * KIB));
  const outcomes: string[] = [];
  const pages = Array.from({ length: most + 4 }, async () => {
    outcomes.push(
      await page(fetcher).then(
        ({ text }) => text,
        (error: Error) => error.message,
      ),
    );
  });
  const refused = `Failed to fetch ${url.href}: this server is reading too many large pages already; try again`;
  await expect.poll(() => outcomes, { timeout: 5_000 }).toEqual(Array.from({ length: 4 }, () => refused));
  converting.resolve();
  await Promise.all(pages);
  expect(outcomes.slice(4)).toEqual(Array.from({ length: most }, () => String(limit)));
  expect((await page(fetcher)).text).toBe(String(limit));
});
