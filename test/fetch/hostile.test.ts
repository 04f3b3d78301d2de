import { readdir, readFile } from 'node:fs/promises';
import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectTo, startFetchServer, type FetchServer } from './fetch-server.ts';
import { fileOf, pdf } from './pdf-file.ts';
import { answer, dripping, endlessly, raw, redirect, startSite, type Route, type Site } from './site.ts';

const MIB = 1024 * 1024;
/** Long enough for every hostile page, short enough for what ends only at the deadline. */
const TIMEOUT_SECONDS = 5;
const HASTY_SECONDS = 1.5;
const html = { 'content-type': 'text/html; charset=utf-8' };
const text = { 'content-type': 'text/plain; charset=utf-8' };

const bomb = Buffer.alloc(24 * MIB, 'words ');
const htmlBomb = Buffer.concat([Buffer.from('<html><body>'), Buffer.alloc(24 * MIB, '<p>words ')]);
const brotli = (bytes: Uint8Array) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } });
const encoded = (encoding: string, body: Uint8Array, headers: Record<string, string>): Route =>
  answer(body, { ...headers, 'content-encoding': encoding });

const streamed =
  (write: (stream: NodeJS.WritableStream) => void, headers: Record<string, string> = text): Route =>
  (_request, response) => {
    response.writeHead(200, headers);
    write(response);
  };

/** A page whose content inflates to 64 MiB of operators. */
function bombPdf(): Buffer {
  const content = deflateSync(Buffer.alloc(64 * MIB, '(x) Tj ')).toString('latin1');
  return fileOf([
    '<</Type/Catalog/Pages 2 0 R>>',
    '<</Type/Pages/Kids[3 0 R]/Count 1>>',
    '<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>',
    `<</Length ${content.length}/Filter/FlateDecode>>stream\n${content}\nendstream`,
  ]);
}

const used = new WeakSet<object>();

let site: Site;
let forbidden: Site;
let server: FetchServer;
let hasty: FetchServer;

beforeAll(async () => {
  forbidden = await startSite({ '/': answer('inside', text), '/robots.txt': answer('', text) });
  const chain = Object.fromEntries(
    Array.from({ length: 23 }, (_, n) => [`/chain/${n}`, n === 0 ? answer('end', text) : redirect(`/chain/${n - 1}`)]),
  );
  site = await startSite({
    ...chain,
    '/ok': answer('<html><body><p>harmless page</p></body></html>', html),
    '/gzip': encoded('gzip', gzipSync(bomb), text),
    '/br': encoded('br', brotli(bomb), text),
    '/zstd': encoded('zstd', zstdCompressSync(bomb), text),
    '/gzip-gzip': encoded('gzip, gzip', gzipSync(gzipSync(bomb)), text),
    '/html-gzip': encoded('gzip', gzipSync(htmlBomb), html),
    '/endless': streamed(endlessly('endless words '.repeat(1_000))),
    '/endless-html': streamed(endlessly('<div>endless words '.repeat(1_000)), html),
    '/pieces': raw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n');
      endlessly('1\r\nx\r\n'.repeat(1_000))(socket);
    }),
    '/drip': streamed(dripping('drop ', 100)),
    '/silent': () => {},
    '/short': raw((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 5000\r\n\r\nonly this')),
    '/long': raw((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 4\r\n\r\nfour and more')),
    '/flood': raw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      endlessly(`x-flood: ${'a'.repeat(1_000)}\r\n`)(socket);
    }),
    '/hints': raw(endlessly('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n')),
    '/no-http': raw((socket) => socket.end('220 mail.example.org ESMTP\r\n')),
    '/hang-up': raw((socket) => socket.destroy()),
    '/once': (request, response) => {
      if (used.has(request.socket)) request.socket.destroy();
      else response.writeHead(200, text).end('served');
      used.add(request.socket);
    },
    '/wide-headers': answer('fine', { ...text, 'x-policy': 'a'.repeat(12_000), 'x-more': 'b'.repeat(12_000) }),
    '/bad-gzip': encoded('gzip', Buffer.from('this is not gzip at all'), text),
    '/odd-encoding': encoded('sdch', Buffer.from('what?'), text),
    '/deep': answer(`<html><body>${'<div>'.repeat(2_000)}deep inside${'</div>'.repeat(2_000)}`, html),
    '/bottomless': answer(`<html><body>${'<div><a>'.repeat(200_000)}deep inside${'</b>'.repeat(100_000)}`, html),
    '/line': answer(`<html><body><p>${'word '.repeat(2 * MIB)}</p>`, html),
    '/line.txt': answer('x'.repeat(10 * MIB), text),
    '/attributes': answer(`<html><body><p ${Array.from({ length: 200_000 }, (_, n) => `a${n}=1`).join(' ')}>inside</p>`, html),
    '/siblings': answer(`<html><body><div>${'<p>a, b, c</p><span>x</span>'.repeat(24_000)}</div>`, html),
    '/nested-tables': answer(`<html><body>${'<table><tr><td>'.repeat(60)}inside${'<td rowspan=64 colspan=64>x'.repeat(3_000)}`, html),
    '/nested-lists': answer(`<html><body>${'<ul><li>'.repeat(120)}${'inside<br>'.repeat(100_000)}`, html),
    '/frames': answer(`<html><body><p>inside</p>${`<iframe srcdoc="${'&lt;p>framed'.repeat(20_000)}"></iframe>`.repeat(20)}`, html),
    '/json-ld': answer(`<html><body><script type="application/ld+json">${'['.repeat(100_000)}</script><p>inside`, html),
    '/feed-entities': answer(
      `<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY a "${'x'.repeat(1_000)}"><!ENTITY b "${'&a;'.repeat(1_000)}">]><rss><channel><title>News</title><item><title>&b;&b;</title></item></channel></rss>`,
      { 'content-type': 'application/rss+xml' },
    ),
    '/feed-deep': answer(`<rss><channel><title>News</title><item><title>One</title>${'<a>'.repeat(500_000)}`, {
      'content-type': 'text/xml',
    }),
    '/feed-long': answer(`<rss><channel><title>News</title>${'<item><title>One</title><link>/1</link></item>'.repeat(60_000)}`, {
      'content-type': 'text/xml',
    }),
    '/pdf-bomb': answer(bombPdf(), { 'content-type': 'application/pdf' }),
    '/pdf-loop': answer(fileOf(['<</Type/Catalog/Pages 2 0 R>>', '<</Type/Pages/Kids[2 0 R 2 0 R]/Count 1000000>>']), {
      'content-type': 'application/pdf',
    }),
    '/pdf-many': answer(pdf(Array.from({ length: 3_000 }, (_, n) => `Page text ${n + 1}`)), { 'content-type': 'application/pdf' }),
    '/pdf-encrypted': answer(
      pdf(['secret'], `/Encrypt<</Filter/Standard/V 2/R 3/Length 128/P -4/O<${'41'.repeat(32)}>/U<${'42'.repeat(32)}>>>/ID[<00><00>]`),
      { 'content-type': 'application/pdf' },
    ),
    '/pdf-cut': answer(pdf(['whole']).subarray(0, 300), { 'content-type': 'application/pdf' }),
    '/endless-png': streamed(endlessly(Buffer.concat([Buffer.from('\x89PNG\r\n\x1A\n\0\0\0\rIHDR', 'latin1'), Buffer.alloc(16_384)])), {
      'content-type': 'image/png',
    }),
    '/loop': redirect('/loop'),
    '/ping': redirect('/pong'),
    '/pong': redirect('/ping'),
    '/far': redirect(`/${'a'.repeat(20_000)}`),
    '/nowhere': redirect('http://'),
    '/metadata': redirect('http://169.254.169.254/latest/meta-data/'),
    '/mapped': redirect('http://[::ffff:169.254.169.254]/'),
    '/number': redirect('http://2852039166/'),
    '/cookie': (request, response) => {
      if (request.headers.cookie === 'seen=1') response.writeHead(200, text).end('welcome back');
      else response.writeHead(302, { location: '/cookie', 'set-cookie': 'seen=1; Path=/; HttpOnly' }).end();
    },
    '/inside': (_request, response) => response.writeHead(302, { location: `${forbidden.origin}/` }).end(),
    '/inside-relative': (_request, response) => response.writeHead(302, { location: `//${new URL(forbidden.origin).host}/` }).end(),
  });
  const start = (seconds: number) => startFetchServer({ FETCH_ALLOW_ORIGINS: site.origin, FETCH_TIMEOUT_SECONDS: String(seconds) });
  [server, hasty] = await Promise.all([start(TIMEOUT_SECONDS), start(HASTY_SECONDS)]);
});
afterAll(async () => {
  await Promise.all([server.close(), hasty.close()]);
  await site.close();
  await forbidden.close();
});

const at = (path: string): string => `${site.origin}${path}`;

/** The hostile page, and how a harmless one did meanwhile. */
async function beside(path: string, options: Record<string, unknown> = {}) {
  const started = performance.now();
  const seconds = (): number => (performance.now() - started) / 1_000;
  const [hostile, harmless] = await Promise.all([
    server.fetch(at(path), options).then((told) => ({ ...told, seconds: seconds() })),
    server.fetch(at('/ok')).then((told) => ({ ...told, seconds: seconds() })),
  ]);
  expect(harmless.text).toBe(`Contents of ${at('/ok')}:\nharmless page`);
  expect(harmless.seconds).toBeLessThan(4);
  expect(hostile.seconds).toBeLessThan(TIMEOUT_SECONDS + 2);
  return hostile;
}

describe('compression bombs and bodies without end are cut, and their beginning is shown', () => {
  test.each(['/gzip', '/br', '/zstd', '/gzip-gzip', '/html-gzip', '/endless', '/endless-html'])('%s', async (path) => {
    const { text: told, isError } = await beside(path);
    expect(isError).toBe(false);
    expect(told).toMatch(/:\n(endless )?words/);
    expect(told).toContain('Content truncated');
  });

  test('and the end of what was read says that it is not the end', async () => {
    const { text: told } = await beside('/line.txt', { start_index: 5 * MIB - 10, max_length: 999_999 });
    expect(told).toMatch(/:\nx{10}\n\n<error>The page is larger than this server reads; only its first 5242880 bytes are here\.<\/error>$/);
  });
});

describe('a server that does not get on with it is given up at the deadline', () => {
  test.concurrent.each(['/drip', '/silent'])('%s', async (path) => {
    const started = performance.now();
    expect(await hasty.fetch(at(path))).toEqual({
      isError: true,
      text: `Error executing tool fetch: Failed to fetch ${at(path)}: ReadTimeout('not finished within ${HASTY_SECONDS} s')`,
    });
    expect((performance.now() - started) / 1_000).toBeLessThan(HASTY_SECONDS + 1);
  });

  test('or at once, when it only promises to', async () => {
    expect((await beside('/hints')).text).toContain(
      `Failed to fetch ${at('/hints')}: RemoteProtocolError('more than 16 interim responses')`,
    );
  });

  test('and its connection is closed', async () => {
    await expect.poll(async () => (await site.open()) <= 2, { timeout: 8_000 }).toBe(true);
  });
});

describe('a broken answer is a failure', () => {
  test.each([
    ['/short', "RemoteProtocolError('peer closed connection without sending complete message body'"],
    ['/flood', "RemoteProtocolError('"],
    ['/no-http', "RemoteProtocolError('"],
    ['/hang-up', "RemoteProtocolError('Server disconnected without sending a response.'"],
    ['/bad-gzip', "DecodingError('"],
    ['/odd-encoding', "DecodingError('"],
  ])('%s', async (path, kind) => {
    const { text: told, isError } = await beside(path);
    expect(isError).toBe(true);
    expect(told).toContain(`Failed to fetch ${at(path)}: ${kind}`);
  });

  test('but not one whose length or headers are merely odd', async () => {
    expect((await beside('/long')).text).toMatch(/:\nfour$/);
    expect((await beside('/wide-headers')).text).toMatch(/:\nfine$/);
  });
});

test('a kept connection that is closed when it is used again is no failure', async () => {
  for (let time = 0; time < 4; time += 1) expect((await server.fetch(at('/once'))).text).toMatch(/:\nserved$/);
});

describe('a page built against its reader is read all the same', () => {
  test.each([
    ['/deep', 'deep inside'],
    ['/bottomless', 'deep inside'],
    ['/line', 'word word'],
    ['/attributes', 'inside'],
    ['/siblings', 'a, b, c'],
    ['/pieces', 'xxxxx'],
    ['/nested-tables', 'inside'],
    ['/nested-lists', 'inside'],
    ['/frames', 'inside'],
    ['/json-ld', 'inside'],
    ['/feed-entities', '<item><title>&b;&b;</title>'],
    ['/feed-deep', '# News'],
    ['/feed-long', '## [One]('],
    ['/pdf-many', 'Page text 1'],
  ])('%s', async (path, content) => {
    const { text: told, isError } = await beside(path);
    expect(isError).toBe(false);
    expect(told).toContain(content);
  });
});

describe('a PDF or an image that cannot be shown says why', () => {
  test.each([
    ['/pdf-bomb', /the PDF is damaged|has no text|too much for its converter|Page 1/],
    ['/pdf-loop', /the PDF is damaged|has no text|too much for its converter/],
    ['/pdf-encrypted', /the PDF is protected by a password$/],
    ['/pdf-cut', /the PDF is damaged: /],
    ['/endless-png', /image\/png \(of unknown size\), which cannot be shown as text; images are shown up to 1048576 bytes/],
  ])('%s', async (path, why) => {
    expect((await beside(path)).text).toMatch(why);
  });
});

describe('redirects', () => {
  test('are followed 20 times, not 21', async () => {
    expect((await beside('/chain/20')).text).toMatch(/:\nend$/);
    const { text: told } = await beside('/chain/21');
    expect(told).toContain(`Failed to fetch ${at('/chain/21')}: TooManyRedirects('Exceeded maximum allowed redirects.')`);
  });

  test.each(['/loop', '/ping'])('that lead back are noticed at once: %s', async (path) => {
    const before = site.asked.length;
    expect((await server.fetch(at(path))).text).toContain('TooManyRedirects');
    expect(site.asked.length - before).toBeLessThan(4);
  });

  test('that need a cookie get it', async () => {
    expect((await server.fetch(at('/cookie'))).text).toMatch(/:\nwelcome back$/);
  });

  test.each(['/far', '/nowhere'])('to what is no URL fail: %s', async (path) => {
    expect((await server.fetch(at(path))).text).toContain("RemoteProtocolError('Invalid URL in location header: ");
  });

  test.each([
    ['/metadata', '169.254.169.254'],
    ['/mapped', '::ffff:a9fe:a9fe'],
    ['/number', '169.254.169.254'],
    ['/inside', '127.0.0.1'],
    ['/inside-relative', '127.0.0.1'],
  ])('into the private network are refused before a byte is sent: %s', async (path, address) => {
    const { text: told, isError } = await server.fetch(at(path));
    expect(isError).toBe(true);
    expect(told).toMatch(/^Error executing tool fetch: Refused to fetch http:\S+: /);
    expect(told).toContain(`resolves to ${address}, which is not a public address. Start the server with http://`);
    expect(forbidden.connections()).toBe(0);
  });
});

describe('what is not allowed cannot be had by asking for it directly', () => {
  test.each([
    ['the port of another origin', () => forbidden.origin],
    ['its name', () => forbidden.origin.replace('127.0.0.1', 'localhost')],
    ['its name with a dot', () => forbidden.origin.replace('127.0.0.1', 'localhost.')],
    ['the allowed port under another name', () => site.origin.replace('127.0.0.1', 'localhost')],
    ['a mapped address', () => forbidden.origin.replace('127.0.0.1', '[::ffff:127.0.0.1]')],
  ])('%s', async (_name, origin) => {
    expect((await server.fetch(`${origin()}/`)).text).toContain('which is not a public address');
    expect(await server.prompt(`${origin()}/`)).toMatch(/^Refused to fetch http:.*\/: /);
    expect(forbidden.connections()).toBe(0);
  });
});

describe('a caller who leaves takes the fetch along', () => {
  test.each(['2025-11-25', '2026-07-28'] as const)('by cancelling the call, in %s', async (revision) => {
    const page = `/drip?cancelled-${revision}`;
    const client = await connectTo(server.process, undefined, revision === '2026-07-28' ? revision : undefined);
    const leave = new AbortController();
    const given = client.callTool({ name: 'fetch', arguments: { url: at(page) } }, { signal: leave.signal });
    await expect.poll(() => site.asked).toContain(page);
    leave.abort();
    await expect(given).rejects.toThrow(/abort/i);
    await expect.poll(() => site.cut, { timeout: 3_000 }).toContain(page);
    await client.close();
  });

  test('by disconnecting, in 2025-11-25', async () => {
    const client = await connectTo(server.process);
    const given = client.callTool({ name: 'fetch', arguments: { url: at('/drip?disconnected') } });
    await expect.poll(() => site.asked).toContain('/drip?disconnected');
    await Promise.all([expect(given).rejects.toThrow(/closed/i), client.close()]);
    await expect.poll(() => site.cut, { timeout: 3_000 }).toContain('/drip?disconnected');
  });
});

test('names that nobody answers for leave threads for the rest', async (context) => {
  const tasks = `/proc/${server.process.child.pid}/task`;
  const ids = await readdir(tasks).catch(() => context.skip('threads can be counted on Linux only'));
  const names = await Promise.all(ids.map(async (id) => readFile(`${tasks}/${id}/comm`, 'utf8').catch(() => '')));
  expect(names.filter((name) => name.startsWith('libuv-worker')).length).toBeGreaterThanOrEqual(128);
});

test('many hostile pages at once leave the server in good health', async () => {
  const hostile = ['/gzip', '/html-gzip', '/endless', '/endless-html', '/bottomless', '/siblings', '/line', '/pieces'];
  await Promise.all([...hostile, ...hostile].map((path) => server.fetch(at(path))));
  expect((await server.fetch(at('/ok'))).text).toContain('harmless page');
  const status = await readFile(`/proc/${server.process.child.pid}/status`, 'utf8').catch(() => '');
  const peakMib = Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
  expect(peakMib).toBeLessThan(1_500);
});

test('a server that is killed leaves no process behind', async (context) => {
  const { pid = 0 } = hasty.process.child;
  const list = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => context.skip('children are listed on Linux only'));
  const children = list.trim().split(' ').map(Number);
  expect(children.filter(isRunning).length).toBeGreaterThan(0);
  hasty.process.child.kill('SIGKILL');
  await expect.poll(() => children.filter(isRunning), { timeout: 5_000 }).toEqual([]);
});

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
