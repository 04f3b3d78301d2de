import { deflateSync, gzipSync } from 'node:zlib';
import { pdf } from '../../fetch/pdf-file.ts';
import { labelledPages } from '../../fetch/quality/labels.ts';
import { answer, redirect, startSite, type Route, type Site } from '../../fetch/site.ts';

const text = (type = 'text/plain; charset=utf-8'): Record<string, string> => ({ 'content-type': type });
const latin1 = (characters: string): Buffer => Buffer.from(characters, 'latin1');
const html = text('text/html; charset=utf-8');
const paragraph = 'Words of a paragraph, with commas, that readers read. '.repeat(8).trim();
const page = `<!doctype html><html><head><title>The title</title></head><body><nav>menu</nav><article><h1>The title</h1><p>${paragraph} <a href="next">go on</a></p></article></body></html>`;

/** 6,000 code points, some of two units. */
export const emoji = '😀é漢'.repeat(2_000);

/** Pages that both answer alike, to the character. */
const alike: Readonly<Record<string, Route>> = {
  '/': answer('home', text()),
  '/emoji': answer(emoji, text()),
  '/long.txt': answer('a line of some words\n'.repeat(15_000), text()),
  '/crlf.txt': answer('one\r\ntwo\r\n', text()),
  '/blank.txt': answer(' \n', text()),
  '/combining.txt': answer('e\u0301 \u{1F468}\u200D\u{1F469} nb\u00A0sp', text()),
  '/data.json': answer('{"a": [1, 2],\n "b": "\\u00e9"}', text('application/json')),
  '/problem.json': answer('{"title":"no"}', text('application/problem+json')),
  '/lines.ndjson': answer('{"a":1}\n{"a":2}\n', text('application/x-ndjson')),
  '/style.css': answer('a { color: red }', text('text/css')),
  '/script.js': answer('export const a = 1;', text('text/javascript')),
  '/module.ts': answer('const a: number = 1;', text('video/mp2t')),
  '/table.csv': answer('a,b\n1,"2, 3"\n', text('text/csv')),
  '/conf.yaml': answer('a: 1\nb:\n  - c\n', text('application/yaml')),
  '/conf.toml': answer('[a]\nb = 1\n', text('application/toml')),
  '/plain.xml': answer('<?xml version="1.0"?><a><b/></a>', text('application/xml')),
  '/sitemap.xml': answer('<urlset><url><loc>https://example.org/</loc></url></urlset>', text('text/xml')),
  '/drawing.svg': answer('<svg xmlns="http://www.w3.org/2000/svg"><text>x</text></svg>', text('image/svg+xml')),
  '/calendar.ics': answer('BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n', text('text/calendar')),
  '/log': answer('2026-11-30 started', text('text/x-log; charset=us-ascii')),
  '/koi8.txt': answer(latin1('\xF0\xD2\xC9\xD7\xC5\xD4'), text('text/plain; charset=koi8-r')),
  '/1251.txt': answer(latin1('\xCF\xF0\xE8\xE2\xE5\xF2'), text('text/plain; charset=windows-1251')),
  '/sjis.txt': answer(latin1('\x82\xB1'), text('text/plain; charset=shift_jis')),
  '/gzip.txt': answer(gzipSync('squeezed'), { ...text(), 'content-encoding': 'gzip' }),
  '/deflate.txt': answer(deflateSync('squeezed'), { ...text(), 'content-encoding': 'deflate' }),
  '/empty.txt': answer('', text()),
  '/empty.html': answer('', html),
  '/spa': answer('<html><body><div id="root"></div><script src="app.js"></script></body></html>', html),
  '/304': (_request, response) => response.writeHead(304).end(),
  '/moved': redirect('/data.json', 301),
  '/found': redirect('data.json', 302),
  '/other': redirect('/data.json?x=1', 303),
  '/temporary': redirect('/data.json', 307),
  '/permanent': redirect('/data.json', 308),
  '/cookie': (request, response) => {
    if (request.headers.cookie === 'seen=1') response.writeHead(200, text()).end('welcome back');
    else response.writeHead(302, { location: '/cookie', 'set-cookie': 'seen=1; Path=/' }).end();
  },
  '/agent': (request, response) => response.writeHead(200, text()).end(request.headers['user-agent']),
  '/method': (request, response) => response.writeHead(200, text()).end(`${request.method} ${request.url}`),
  '/authorization': (request, response) => response.writeHead(200, text()).end(request.headers.authorization ?? 'none'),
  '/400': answer('bad', text(), 400),
  '/401': answer('who?', text(), 401),
  '/403': answer('no', html, 403),
  '/410': answer('gone', html, 410),
  '/429': answer('slow', text(), 429),
  '/500': answer('oops', html, 500),
  '/503': answer('busy', text(), 503),
};

const atom =
  '<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title><entry><title>One</title><link href="/1"/><updated>2026-11-30</updated></entry></feed>';

/** Pages that show how the two differ. */
const different: Readonly<Record<string, Route>> = {
  '/article': answer(page, html),
  '/lost': answer(`<html><body><p>Cookies!</p><div hidden id="S:0"><main><p>${paragraph}</p></main></div></body></html>`, html),
  '/1252': answer(latin1('<html><p>caf\xE9'), text('text/html; charset=iso-8859-1')),
  '/meta': answer(latin1(`<html><meta charset=windows-1251><p>${'\xCF\xF0\xE8\xE2\xE5\xF2 '.repeat(30)}`), text('text/html')),
  '/quotes.json': answer('{"page": "<html>"}', text('application/json')),
  '/picture.png': answer(latin1('\x89PNG\r\n\x1A\n\0\0\0\rIHDR....'), text('image/png')),
  '/archive.zip': answer(latin1('PK\x03\x04\x14\0\0\0'), text('application/zip')),
  '/paper.pdf': answer(pdf(['One page of text']), text('application/pdf')),
  '/atom': answer(atom, text('application/atom+xml')),
  '/readme.md': answer('# A readme\n', text('text/markdown')),
  '/negotiated': (request, response) => {
    const markdown = request.headers.accept?.startsWith('text/markdown') === true;
    response.writeHead(200, markdown ? text('text/markdown') : html).end(markdown ? '# Written by hand' : page);
  },
  '/override.txt': answer('a\u202Eb\u200B\u{E0041}c', text()),
  '/large.txt': answer(Buffer.alloc(6 * 1024 * 1024, 'x'), text()),
  '/rest': (_request, response) => response.writeHead(429, { ...text(), 'retry-after': '0' }).end('later'),
  '/loop': redirect('/loop'),
  '/ftp': redirect('ftp://127.0.0.1/file'),
  '/accept': (request, response) => response.writeHead(200, text()).end(request.headers.accept),
};

/** Every page of the local site that both are asked for. */
export interface Sites {
  readonly main: Site;
  /** has a robots.txt that forbids /closed */
  readonly strict: Site;
  /** whose robots.txt fails */
  readonly failing: Site;
  readonly alike: readonly string[];
  readonly labelled: readonly string[];
  readonly pages: number;
  close(): Promise<void>;
}

export async function startSites(): Promise<Sites> {
  const labelled = Object.fromEntries(labelledPages().map(({ name, html: source }) => [`/labelled/${name}`, answer(source, html)]));
  const strict = await startSite({
    '/robots.txt': answer('User-agent: *\nDisallow: /closed\nDisallow: /secret\n', text()),
    '/open': answer('open', text()),
    '/closed': answer('closed', text()),
  });
  const failing = await startSite({ '/robots.txt': answer('', text(), 500), '/page': answer('a page', text()) });
  const away: Route = (request, response) => redirect(`${strict.origin}/open`)(request, response);
  const routes = { ...alike, ...different, ...labelled, '/away': away };
  const main = await startSite(routes);
  return {
    main,
    strict,
    failing,
    alike: Object.keys(alike),
    labelled: Object.keys(labelled),
    pages: Object.keys(routes).length + 3,
    close: async () => void (await Promise.all([main, strict, failing].map((site) => site.close()))),
  };
}
