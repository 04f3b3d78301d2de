import { Readable } from 'node:stream';
import { beforeEach, describe, expect, test } from 'vitest';
import { AddressRefused } from '../../lib/address-guard/guard.ts';
import { NoTurn } from './hosts.ts';
import { HopRefused, RequestProblem, type Answer } from './http.ts';
import { RobotsGate } from './robots-gate.ts';

const userAgent = 'ModelContextProtocol/1.0 (Autonomous; +https://example.org)';
const hour = 3_600_000;

let site: () => { status: number; text?: string };
let asked: string[];
let now: number;
let gate: RobotsGate;

beforeEach(() => {
  asked = [];
  now = 0;
  const get = async (url: URL): Promise<Answer> => {
    asked.push(url.href);
    const { status, text = '' } = site();
    return Promise.resolve({
      url,
      status,
      header: () => undefined,
      body: Readable.from([Buffer.from(text)], { objectMode: false }),
      trail: [],
    });
  };
  gate = new RobotsGate({ get, userAgent, now: () => now });
});

async function verdict(url = 'https://site.test/page?q=1#part'): Promise<string> {
  return gate.check(new URL(url), new AbortController().signal).then(
    () => 'allowed',
    (error: Error) => error.message,
  );
}

const closed = (status: number) =>
  `When fetching robots.txt (https://site.test/robots.txt), received status ${status} so assuming that autonomous fetching is not allowed, the user can try manually fetching by using the fetch prompt`;
const unreachable = 'Failed to fetch robots.txt https://site.test/robots.txt due to a connection issue';
const lost = (): never => {
  throw new RequestProblem('ConnectError', 'All connection attempts failed');
};

describe('the status of a robots.txt', () => {
  test.each([
    [200, 'allowed'],
    [404, 'allowed'],
    [410, 'allowed'],
    [429, 'allowed'],
    [401, closed(401)],
    [403, closed(403)],
    [500, closed(500)],
    [503, closed(503)],
  ])('%i', async (status, expected) => {
    site = () => ({ status });
    expect(await verdict()).toBe(expected);
  });

  test('none at all', async () => {
    site = lost;
    expect(await verdict()).toBe(unreachable);
  });
});

test('a disallowed page is refused with the line that forbids it, and no more of the file', async () => {
  site = () => ({ status: 200, text: 'User-agent: *\nDisallow: /page # really\nDisallow: /secret-path' });
  const message = await verdict();
  expect(message).toBe(
    'The sites robots.txt (https://site.test/robots.txt), specifies that autonomous fetching of this page is not allowed, ' +
      `<useragent>${userAgent}</useragent>\n<url>https://site.test/page?q=1#part</url><robots>\nDisallow: /page\n</robots>\n` +
      'The user can try manually fetching the page by using the fetch prompt within their UI.',
  );
  expect(await verdict('https://site.test/other')).toBe('allowed');
});

test('a line is quoted on one line, in the order of its characters, and shortened', async () => {
  const path = `/page\u0085\u001B[2J\u202EDo-as-I-say${'!'.repeat(900)}`;
  site = () => ({ status: 200, text: `User-agent: *\nDisallow: ${path}` });
  const [quoted = ''] = /(?<=<robots>\n).*(?=\n<\/robots>)/s.exec(await verdict(`https://site.test${path}`)) ?? [];
  expect(quoted).toMatch(/^Disallow: \/page\\x85\\x1b\[2J\\u202eDo-as-I-say!{100,200}… \(932 characters\)$/);
});

test('what is remembered of all sites is bounded', async () => {
  const text = `User-agent: *\n${'Allow:/\n'.repeat(60_000)}`;
  site = () => ({ status: 200, text });
  for (const name of ['a', 'b', 'c']) await verdict(`https://${name}.test/`);
  asked = [];
  await verdict('https://c.test/');
  await verdict('https://a.test/');
  expect(asked).toEqual(['https://a.test/robots.txt']);
});

test('a site is asked once an hour, each origin for itself', async () => {
  site = () => ({ status: 200 });
  await verdict();
  await verdict('https://site.test/other');
  await verdict('http://site.test/');
  await verdict('https://site.test:8443/');
  now = hour;
  await verdict();
  const robots = 'https://site.test/robots.txt';
  expect(asked).toEqual([robots, 'http://site.test/robots.txt', 'https://site.test:8443/robots.txt', robots]);
});

test('calls that ask at the same time ask the site once, and one that leaves takes nobody along', async () => {
  site = () => ({ status: 200, text: 'User-agent: *\nDisallow: /secret' });
  const leave = new AbortController();
  const left = gate.check(new URL('https://site.test/a'), leave.signal);
  const others = ['https://site.test/b', 'https://site.test/secret'].map(verdict);
  leave.abort(new Error('left'));
  await expect(left).rejects.toThrow('left');
  expect(await Promise.all(others)).toEqual(['allowed', expect.stringContaining('Disallow: /secret')]);
  expect(asked).toEqual(['https://site.test/robots.txt']);
});

test('a site that may not be asked now is not taken for one that does not answer', async () => {
  site = () => {
    throw new NoTurn('resting', 'site.test answered 429 and is left alone');
  };
  expect(await verdict()).toBe('site.test answered 429 and is left alone');
  site = () => ({ status: 200 });
  expect(await verdict()).toBe('allowed');
});

test('an unreachable site is asked again after a minute', async () => {
  site = lost;
  await verdict();
  now = 59_999;
  await verdict();
  expect(asked).toHaveLength(1);
  now = 60_000;
  site = () => ({ status: 200 });
  expect(await verdict()).toBe('allowed');
});

test('while a site is unreachable its last answer counts on, for a day', async () => {
  site = () => ({ status: 200, text: 'User-agent: *\nDisallow: /secret' });
  await verdict();
  site = () => ({ status: 503 });
  for (now = hour; now < 24 * hour; now += hour) {
    expect(await verdict()).toBe('allowed');
    expect(await verdict('https://site.test/secret')).toContain('Disallow: /secret');
  }
  now = 24 * hour + 60_000;
  expect(await verdict()).toBe(closed(503));
});

test('a file that was cut says nothing in its last, partial line', async () => {
  site = () => ({
    status: 200,
    text: `User-agent: *\nDisallow: /a\n#${'x'.repeat(512 * 1024 - 50)}\nDisallow: /page-that-is-not-this-one`,
  });
  expect(await verdict('https://site.test/page')).toBe('allowed');
  expect(await verdict('https://site.test/a')).toContain('Disallow: /a');
});

test('a refused address is reported as that, and forgotten', async () => {
  site = () => {
    throw new HopRefused(new URL('https://site.test/robots.txt'), new AddressRefused('site.test', '10.0.0.1', 'a private address'));
  };
  expect(await verdict()).toContain('site.test resolves to 10.0.0.1');
  site = () => ({ status: 200 });
  expect(await verdict()).toBe('allowed');
});

test('a call that is given up says nothing about the site', async () => {
  site = lost;
  const given = gate.check(new URL('https://site.test/'), AbortSignal.abort(new Error('the caller left')));
  await expect(given).rejects.toThrow('the caller left');
  site = () => ({ status: 200 });
  expect(await verdict()).toBe('allowed');
});
