import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { guardedAgent } from '../../lib/address-guard/guard.ts';
import { anyAddress, publicOnly, type AddressPolicy } from '../../lib/address-guard/policy.ts';
import { convert } from './convert/conversion.ts';

import { FetchMetrics } from './metrics.ts';
import { Pages, type AuditEntry, type PageOptions, type PagesOptions } from './pages.ts';

const KIB = 1024;

let site: Server;
let answer: RequestListener;
let url: URL;
let audited: AuditEntry[];
const agents: { destroy(): Promise<void> }[] = [];

beforeEach(async () => {
  audited = [];
  site = createServer((request, response) => answer(request, response)).listen(0, '127.0.0.1');
  await once(site, 'listening');
  url = new URL(`http://127.0.0.1:${(site.address() as AddressInfo).port}/page`);
});

afterEach(async () => {
  await Promise.all(agents.splice(0).map((agent) => agent.destroy()));
  site.closeAllConnections();
  site.close();
});

function pagesWith(policy: AddressPolicy, some: Partial<PagesOptions> = {}): Pages {
  const dispatcher = guardedAgent(policy);
  agents.push(dispatcher);
  return new Pages({
    dispatcher,
    convert: (conversion) => convert(conversion),
    userAgents: { autonomous: 'Robot/1', manual: 'Person/1' },
    ignoreRobots: true,
    timeoutMs: 5_000.5,
    limits: { wireBytes: 64 * KIB, decodedBytes: 64 * KIB, ratio: 100 },
    imageBytes: 8 * KIB,
    remedy: ({ origin }) => `Allow ${origin}.`,
    perHost: { atOnce: 64, delayMs: 0 },
    cache: { maxBytes: 8192 * KIB, maxFreshMs: 3_600_000 },
    metrics: new FetchMetrics(new Registry()),
    audit: (entry) => audited.push(entry),
    ...some,
  });
}

const page = (pages: Pages, some: Partial<PageOptions> = {}, at = url) =>
  pages.page(at, { raw: false, by: 'manual', principal: 'alice', continuing: false, signal: new AbortController().signal, ...some });

describe('a refusal says what would help', () => {
  const refused = () => `Refused to fetch ${url.href}: 127.0.0.1 resolves to 127.0.0.1, which`;

  test('for an address that may be excepted', async () => {
    await expect(page(pagesWith(publicOnly()))).rejects.toThrow(`${refused()} is not a public address. Allow ${url.origin}.`);
  });

  test('but not for one that is denied, public or not', async () => {
    const denying = publicOnly({ allowOrigins: [url.origin], deny: ['127.0.0.0/8'] });
    await expect(page(pagesWith(denying))).rejects.toThrow(`${refused()} this server is configured not to fetch from.`);
  });
});

describe('a header can say no more than a header', () => {
  test('where the type of a text is named', async () => {
    answer = (_request, response) => response.writeHead(200, { 'content-type': 'text/plain; x="\u009B31m\u00A0"' }).end('text');
    expect((await page(pagesWith(anyAddress()))).prefix).toMatch(/^Content type text\/plain; x="\\x9b31m\\xa0" cannot be simplified/);
  });

  test('where the type of what is no text is named', async () => {
    answer = (_request, response) => response.writeHead(200, { 'content-type': `x/${'y'.repeat(9_000)}` }).end('\0');
    const failure = await page(pagesWith(anyAddress())).catch((error: Error) => error.message);
    expect(failure).toMatch(/the content is x\/y{254}… \(9002 characters\) \(1 bytes\), which cannot be shown as text$/);
  });
});

test('pages that are large together are not all read at once, and one is again when the others are done', async () => {
  const limit = 4096 * KIB;
  answer = (_request, response) => response.writeHead(200, { 'content-type': 'text/plain' }).end('x'.repeat(limit));
  const converting = Promise.withResolvers<void>();
  const pages = pagesWith(anyAddress(), {
    timeoutMs: 60_000,
    limits: { wireBytes: limit, decodedBytes: limit, ratio: 100 },
    convert: async (conversion) => {
      await converting.promise;
      return { text: String(conversion.bytes.length), method: 'text' as const, about: {} };
    },
  });
  // each counts for what it has beyond 1 MiB, and all together for 16 times the limit
  const most = Math.floor((16 * limit) / (limit - 1024 * KIB));
  const outcomes: string[] = [];
  const asking = Array.from({ length: most + 4 }, async (_, n) => {
    outcomes.push(
      await page(pages, {}, new URL(`?${n}`, url)).then(
        ({ text }) => text,
        (error: Error) => error.message,
      ),
    );
  });
  const refused = /^Failed to fetch \S+: this server is reading too many large pages already; try again$/;
  await expect.poll(() => outcomes, { timeout: 45_000 }).toEqual(Array.from({ length: 4 }, () => expect.stringMatching(refused) as string));
  converting.resolve();
  await Promise.all(asking);
  expect(outcomes.slice(4)).toEqual(Array.from({ length: most }, () => String(limit)));
  expect((await page(pages)).text).toBe(String(limit));
}, 60_000);

describe('a page is downloaded', () => {
  let served: number;
  /** Serves the number of the download, with these headers. */
  const serving =
    (headers: Record<string, string>): RequestListener =>
    (_request, response) => {
      served += 1;
      response.writeHead(200, { 'content-type': 'text/plain', ...headers }).end(`download ${served}`);
    };
  beforeEach(() => (served = 0));

  test('once for all its parts, and again when its beginning is asked for', async () => {
    answer = serving({});
    const pages = pagesWith(anyAddress());
    const texts = [];
    for (const continuing of [false, true, true, false]) texts.push((await page(pages, { continuing })).text);
    expect(texts).toEqual(['download 1', 'download 1', 'download 1', 'download 2']);
    expect(audited.map(({ source }) => source)).toEqual(['download', 'continuing', 'continuing', 'download']);
  });

  test('once for everybody while its site calls it fresh, for each form and name by itself', async () => {
    answer = serving({ 'cache-control': 'max-age=60' });
    const pages = pagesWith(anyAddress());
    const some: Partial<PageOptions>[] = [{}, { principal: 'bob' }, { raw: true }, { by: 'autonomous' }];
    const texts = [];
    for (const options of some) texts.push((await page(pages, options)).text);
    expect(texts).toEqual(['download 1', 'download 1', 'download 2', 'download 3']);
  });

  test.each([{ 'cache-control': 'private, max-age=60' }, { 'cache-control': 'max-age=60', 'set-cookie': 'a=1' }])(
    'for each caller whom its site speaks to alone: %j',
    async (headers) => {
      answer = serving(headers);
      const pages = pagesWith(anyAddress());
      const texts = [];
      for (const principal of ['alice', 'bob', 'alice', 'bob']) texts.push((await page(pages, { principal })).text);
      expect(texts).toEqual(['download 1', 'download 2', 'download 1', 'download 2']);
    },
  );

  test('for each caller when credentials were sent', async () => {
    answer = serving({ 'cache-control': 'max-age=60' });
    const pages = pagesWith(anyAddress());
    const [known, other] = ['user:one', 'user:two'].map((login) => new URL(url.href.replace('//', `//${login}@`)));
    const texts = [];
    for (const [principal, at] of [
      ['alice', known],
      ['bob', known],
      ['alice', known],
      ['alice', other],
    ] as const) {
      texts.push((await page(pages, { principal }, at)).text);
    }
    expect(texts).toEqual(['download 1', 'download 2', 'download 1', 'download 3']);
  });

  test('not again when its site says that it has not changed', async () => {
    const conditions: unknown[] = [];
    answer = (request, response) => {
      conditions.push(request.headers['if-none-match']);
      served += 1;
      const headers = { 'content-type': 'text/plain', etag: '"1"', 'cache-control': served === 2 ? 'max-age=60' : 'max-age=0' };
      if (request.headers['if-none-match'] === '"1"') response.writeHead(304, headers).end();
      else response.writeHead(200, headers).end(`download ${served}`);
    };
    const pages = pagesWith(anyAddress());
    const texts = [];
    for (let time = 0; time < 3; time += 1) texts.push((await page(pages)).text);
    expect(texts).toEqual(['download 1', 'download 1', 'download 1']);
    expect(conditions).toEqual([undefined, '"1"']);
    expect(audited.map(({ source, status }) => [source, status])).toEqual([
      ['download', 200],
      ['revalidated', 304],
      ['fresh', 200],
    ]);
  });

  test('again when a 304 is about another version', async () => {
    answer = (request, response) => {
      served += 1;
      if (request.headers['if-none-match'] === undefined)
        response.writeHead(200, { 'content-type': 'text/plain', etag: '"1"' }).end(`download ${served}`);
      else response.writeHead(304, { etag: '"2"' }).end();
    };
    const pages = pagesWith(anyAddress());
    expect([(await page(pages)).text, (await page(pages)).text]).toEqual(['download 1', 'download 3']);
  });

  test('where redirects lead, and only that is asked whether it has changed', async () => {
    const asked: unknown[] = [];
    answer = (request, response) => {
      asked.push([request.url, request.headers['if-none-match']]);
      const headers = { etag: '"1"', 'content-type': 'text/plain' };
      if (request.url === '/page') response.writeHead(302, { location: '/other', etag: '"0"' }).end();
      else if (request.headers['if-none-match'] === '"1"') response.writeHead(304, headers).end();
      else response.writeHead(200, headers).end('the other');
    };
    const pages = pagesWith(anyAddress());
    expect([(await page(pages)).text, (await page(pages)).text]).toEqual(['the other', 'the other']);
    expect(asked).toEqual([
      ['/page', undefined],
      ['/other', undefined],
      ['/page', undefined],
      ['/other', '"1"'],
    ]);
  });

  test('again after a failure, which is not remembered', async () => {
    answer = (_request, response) => {
      served += 1;
      response.writeHead(served === 1 ? 500 : 200, { 'cache-control': 'max-age=60', 'content-type': 'text/plain' }).end('text');
    };
    const pages = pagesWith(anyAddress());
    await expect(page(pages)).rejects.toThrow('status code 500');
    expect((await page(pages)).text).toBe('text');
  });
});

describe('calls for one page at the same time', () => {
  const held = () => {
    const waiting: (() => void)[] = [];
    const closed: unknown[] = [];
    let headers: Record<string, string> = {};
    answer = (request, response) => {
      request.socket.once('close', () => closed.push(request.url));
      waiting.push(() => response.writeHead(200, { 'content-type': 'text/plain', ...headers }).end('text'));
    };
    return { waiting, closed, say: (said: Record<string, string>) => (headers = said) };
  };

  test('share one download, whoever leaves; when all have left it ends at once', async () => {
    const { waiting, closed } = held();
    const pages = pagesWith(anyAddress());
    const leaves = [new AbortController(), new AbortController()] as const;
    const [one, two] = leaves.map(({ signal }) => page(pages, { signal }));
    await expect.poll(() => waiting.length).toBe(1);
    leaves[0].abort(new Error('left'));
    await expect(one).rejects.toThrow('left');
    expect(closed).toEqual([]);
    const three = page(pages, { principal: 'bob' });
    waiting[0]?.();
    expect((await Promise.all([two, three])).map((each) => each?.text)).toEqual(['text', 'text']);
    const alone = page(pages, { signal: leaves[1].signal });
    await expect.poll(() => waiting.length).toBe(2);
    leaves[1].abort(new Error('left too'));
    await expect(alone).rejects.toThrow('left too');
    await expect.poll(() => closed).toEqual(['/page']);
    expect(audited.map(({ outcome, source }) => [outcome, source])).toEqual([
      ['left', undefined],
      ['ok', 'merged'],
      ['ok', 'merged'],
      ['left', undefined],
    ]);
  });

  test('but not what turns out to be for one of them alone', async () => {
    const { waiting, say } = held();
    const pages = pagesWith(anyAddress());
    say({ 'cache-control': 'private' });
    const asking = ['alice', 'bob', 'alice', 'bob'].map((principal) => page(pages, { principal }));
    await expect.poll(() => waiting.length).toBe(1);
    waiting[0]?.();
    await expect.poll(() => waiting.length).toBe(2);
    waiting[1]?.();
    expect((await Promise.all(asking)).map(({ text }) => text)).toEqual(['text', 'text', 'text', 'text']);
    expect(audited.map(({ principal, source }) => `${principal} ${source}`).sort()).toEqual([
      'alice download',
      'alice merged',
      'bob download',
      'bob merged',
    ]);
  });

  test('for more pages of a host than it gets at once wait, within their time', async () => {
    const { waiting } = held();
    const pages = pagesWith(anyAddress(), { perHost: { atOnce: 1, delayMs: 0 }, timeoutMs: 300 });
    const first = page(pages, {}, new URL('?1', url));
    // when its time is over the other one gets its turn, should it have a moment left
    const askedMeanwhile = first.catch(() => waiting.length);
    const outcomes = await Promise.allSettled([first, page(pages, {}, new URL('?2', url))]);
    expect(await askedMeanwhile).toBe(1);
    expect(outcomes.map((outcome) => outcome.status === 'rejected' && (outcome.reason as Error).message)).toEqual([
      `Failed to fetch ${url.href}?1: ReadTimeout('not finished within 0.3 s')`,
      expect.stringMatching(/\?2: (no turn at \S+ in time, which gets at most 1 requests|ReadTimeout\('not finished within 0\.3 s'\))/),
    ]);
  });
});

test('a host that is too busy is left alone for as long as it asks, and callers are told', async () => {
  let asked = 0;
  answer = (_request, response) => {
    asked += 1;
    response.writeHead(429, { 'retry-after': '30' }).end();
  };
  const pages = pagesWith(anyAddress());
  const rest = `${url.host} answered 429 and is left alone until \\S+Z: try again in (29|30) s$`;
  await expect(page(pages)).rejects.toThrow(new RegExp(`^Failed to fetch \\S+ - status code 429; ${rest}`));
  await expect(page(pages)).rejects.toThrow(new RegExp(`^Failed to fetch \\S+: ${rest}`));
  expect(asked).toBe(1);
  expect(audited.map(({ outcome, status }) => [outcome, status])).toEqual([
    ['status', 429],
    ['resting', undefined],
  ]);
});

describe('what is logged of a page', () => {
  test('tells where it came from, and no secret of its URL', async () => {
    answer = (request, response) => {
      if (request.url === '/page?token=secret') response.writeHead(302, { location: '/other?session=secret#secret' }).end();
      else response.writeHead(200, { 'content-type': 'text/plain' }).end('text');
    };
    await page(pagesWith(anyAddress()), {}, new URL(url.href.replace('//', '//secret:secret@').concat('?token=secret#secret')));
    expect(JSON.stringify(audited)).not.toContain('secret');
    expect(audited).toEqual([
      {
        principal: 'alice',
        by: 'manual',
        url: url.href,
        final: url.href.replace('/page', '/other'),
        outcome: 'ok',
        source: 'download',
        status: 200,
        bytes: 4,
        ms: expect.any(Number) as number,
      },
    ]);
  });

  test('tells why there is none', async () => {
    await expect(page(pagesWith(publicOnly()))).rejects.toThrow('Refused to fetch');
    answer = (request) => request.socket.destroy();
    await expect(page(pagesWith(anyAddress()))).rejects.toThrow('RemoteProtocolError');
    expect(audited).toMatchObject([
      { outcome: 'refused', reason: '127.0.0.1 is a loopback address', bytes: 0 },
      { outcome: 'unreachable', reason: 'RemoteProtocolError' },
    ]);
  });
});
