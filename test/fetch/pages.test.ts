import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startFetchServer, type FetchServer } from './fetch-server.ts';
import { answer, redirect, startSite, type Site } from './site.ts';

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');

const charsets: Record<string, readonly [type: string, body: Buffer, shown: string]> = {
  '/meta-1251': ['text/html', latin1('<meta charset=windows-1251><p>\xCF\xF0\xE8\xE2\xE5\xF2</p>'), 'Привет'],
  '/header-over-meta': ['text/html; charset=koi8-r', latin1('<meta charset=utf-8><p>\xF0\xD2\xC9\xD7\xC5\xD4</p>'), 'Привет'],
  '/bom-over-header': ['text/html; charset=koi8-r', Buffer.from('\uFEFF<p>Привет</p>'), 'Привет'],
  '/utf-16': ['text/html', Buffer.from('\uFEFF<p>Привет</p>', 'utf16le'), 'Привет'],
  '/smart-quotes': ['text/html; charset=iso-8859-1', latin1('<p>\x93quoted\x94 \x80 5</p>'), '“quoted” € 5'],
  '/undeclared-1252': ['text/html', latin1('<p>caf\xE9 \x93x\x94</p>'), 'café “x”'],
  '/undeclared-utf-8': ['text/html', Buffer.from('<p>café 漢字</p>'), 'café 漢字'],
  '/cp949': ['text/html; charset=euc-kr', latin1('<p>\x8C\x63</p>'), '똠'],
  '/hkscs': ['text/html; charset=big5', latin1('<p>\x87\x40</p>'), '䏰'],
  '/plain-1251': ['text/plain; charset=windows-1251', latin1('\xCF\xF0\xE8\xE2\xE5\xF2'), 'Привет'],
  '/xml': ['application/xml', latin1('<?xml version="1.0" encoding="iso-8859-2"?><a>\xB1</a>'), '<a>ą</a>'],
};

let site: Site;
let strict: Site;
let failing: Site;
let server: FetchServer;
let careless: FetchServer;

beforeAll(async () => {
  strict = await startSite({
    '/robots.txt': answer('# rules\nUser-agent: *\nDisallow: /private # keep out\nDisallow: /secret\n', { 'content-type': 'text/plain' }),
    '/private/a': answer('<p>private page'),
    '/public': answer('<p>public page'),
    '/agent': (request, response) => response.writeHead(200, { 'content-type': 'text/plain' }).end(request.headers['user-agent']),
  });
  failing = await startSite({ '/robots.txt': answer('', {}, 503), '/page': answer('<p>a page') });
  site = await startSite({
    ...Object.fromEntries(Object.entries(charsets).map(([path, [type, body]]) => [path, answer(body, { 'content-type': type })])),
    '/robots.txt': answer('<!doctype html><title>Not found</title>', { 'content-type': 'text/html' }),
    '/to-private': (request, response) => redirect(`${strict.origin}/private/a`)(request, response),
    '/to-public': (request, response) => redirect(`${strict.origin}/public`)(request, response),
    '/hidden': answer(
      `<html><body><header>Site</header><div hidden id="S:0"><main><p>${'Streamed words, shown by a script. '.repeat(20)}</p></main></div></body></html>`,
    ),
  });
  [server, careless] = await Promise.all([
    startFetchServer({ FETCH_ALLOW_ORIGINS: [site, strict, failing].map(({ origin }) => origin).join(',') }),
    startFetchServer({ FETCH_ALLOW_ORIGINS: strict.origin, FETCH_IGNORE_ROBOTS: 'true', FETCH_USER_AGENT: 'Robot/2 (me)' }),
  ]);
});
afterAll(async () => {
  await Promise.all([server.close(), careless.close()]);
  await Promise.all([site, strict, failing].map((each) => each.close()));
});

describe('text is read in the charset that it is written in', () => {
  test.each(Object.keys(charsets))('%s', async (path) => {
    expect((await server.fetch(`${site.origin}${path}`)).text).toContain(charsets[path]?.[2]);
  });
});

test('text that only scripts would show is shown', async () => {
  expect((await server.fetch(`${site.origin}/hidden`)).text).toContain('Streamed words');
});

describe('robots.txt', () => {
  test('is asked once per site, and obeyed', async () => {
    expect((await server.fetch(`${strict.origin}/public`)).text).toMatch(/:\npublic page$/);
    const { text, isError } = await server.fetch(`${strict.origin}/private/a`);
    expect(isError).toBe(true);
    expect(text).toMatch(
      /^Error executing tool fetch: The sites robots\.txt \(http:\S+\/robots\.txt\), specifies that autonomous fetching/,
    );
    expect(text).toContain('<robots>\nDisallow: /private\n</robots>');
    expect(text).not.toContain('/secret');
    expect(strict.asked).toEqual(['/robots.txt', '/public']);
  });

  test('is asked at each hop of a redirect, of the site that it leads to', async () => {
    expect((await server.fetch(`${site.origin}/to-public`)).text).toMatch(/:\npublic page$/);
    const { text } = await server.fetch(`${site.origin}/to-private`);
    expect(text).toContain(`The sites robots.txt (${strict.origin}/robots.txt)`);
    expect(strict.asked).not.toContain('/private/a');
  });

  test('that fails forbids', async () => {
    expect((await server.fetch(`${failing.origin}/page`)).text).toBe(
      `Error executing tool fetch: When fetching robots.txt (${failing.origin}/robots.txt), received status 503 so assuming that autonomous fetching is not allowed, the user can try manually fetching by using the fetch prompt`,
    );
  });

  test('does not bind a person', async () => {
    expect(await server.prompt(`${strict.origin}/private/a`)).toBe('private page');
    expect(await server.prompt(`${failing.origin}/page`)).toBe('a page');
  });

  test('does not bind who is configured to ignore it', async () => {
    expect((await careless.fetch(`${strict.origin}/private/a`)).text).toMatch(/:\nprivate page$/);
  });
});

test('a user agent that is configured replaces both', async () => {
  expect((await careless.fetch(`${strict.origin}/agent`)).text).toMatch(/:\nRobot\/2 \(me\)$/);
  expect(await careless.prompt(`${strict.origin}/agent`)).toMatch(/\nRobot\/2 \(me\)$/);
});
