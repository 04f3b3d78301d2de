import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startFetchServer, type FetchServer } from './fetch-server.ts';
import { pdf } from './pdf-file.ts';
import { answer, redirect, startSite, type Site } from './site.ts';

const paragraph = 'Words of a paragraph, with commas, that readers read. '.repeat(8).trim();
const article = `<!doctype html><html><head><title>The title</title></head><body><nav>menu</nav><article><h1>The title</h1><p>${paragraph} <a href="next?a=b">next</a></p><pre><code class="language-js">let a;</code></pre></article></body></html>`;
const markdown = (origin: string) => `# The title\n\n${paragraph} [next](${origin}/next?a=b)\n\n\`\`\`js\nlet a;\n\`\`\``;
const emoji = '😀é漢'.repeat(2_000);

const png = Buffer.from('\x89PNG\r\n\x1A\n\0\0\0\rIHDR....', 'latin1');
const feed = `<rss version="2.0"><channel><title>News</title><item><title>One &amp; only</title><link>/1</link><pubDate>Mon, 30 Nov 2026</pubDate><description>&lt;p&gt;What &lt;b&gt;happened&lt;/b&gt;.&lt;/p&gt;</description></item></channel></rss>`;

let other: Site;
let site: Site;
/** where a site was, and is no more */
let gone: string;
let server: FetchServer;

beforeAll(async () => {
  const closed = await startSite({});
  await closed.close();
  gone = closed.origin;
  other = await startSite({ '/': answer('another site', { 'content-type': 'text/plain' }) });
  site = await startSite({
    '/': answer('home', { 'content-type': 'text/plain' }),
    '/article': answer(article, { 'content-type': 'text/html; charset=utf-8' }),
    '/untyped': answer(article, {}),
    '/json': answer('{"a": "<html>"}', { 'content-type': 'application/json' }),
    '/emoji': answer(emoji, { 'content-type': 'text/plain; charset=utf-8' }),
    '/empty.txt': answer('', { 'content-type': 'text/plain' }),
    '/empty.html': answer(''),
    '/spa': answer('<html><body><div id="root"></div><script src="app.js"></script></body></html>'),
    '/gone': answer('a page about what is gone', { 'content-type': 'text/html' }, 410),
    '/broken': answer('oops', { 'content-type': 'text/html' }, 500),
    '/304': (_request, response) => response.writeHead(304).end(),
    '/echo': (request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ url: request.url, headers: request.headers }));
    },
    '/to-article': redirect('/article', 301),
    '/to-ftp': redirect('ftp://127.0.0.1/file'),
    '/png': answer(png, { 'content-type': 'image/png' }),
    '/large.png': answer(Buffer.concat([png, Buffer.alloc(4_096)]), { 'content-type': 'image/png' }),
    '/zip': answer(Buffer.from('PK\x03\x04\x14\0\0\0', 'latin1'), { 'content-type': 'application/zip' }),
    '/pdf': answer(pdf(['First page', 'Second (page)']), { 'content-type': 'application/pdf' }),
    '/broken.pdf': answer(`%PDF-1.7\n${'x'.repeat(2_000)}`, { 'content-type': 'application/octet-stream' }),
    '/readme.md': answer('# Title\n\n[a](b)\n', { 'content-type': 'text/markdown' }),
    '/negotiated': (request, response) => {
      const markdown = request.headers.accept?.startsWith('text/markdown') === true;
      response.writeHead(200, { 'content-type': markdown ? 'text/markdown' : 'text/html' }).end(markdown ? '# Written as it is' : article);
    },
    '/feed': answer(feed, { 'content-type': 'application/rss+xml' }),
    '/tricks': answer(`<p>${paragraph} a\u202Eb\u0007\u{E0041}c &#x202E;d</p>`, { 'content-type': 'text/html; charset=utf-8' }),
    '/elsewhere': (request, response) => redirect(`${other.origin}/`)(request, response),
  });
  server = await startFetchServer({ FETCH_ALLOW_ORIGINS: `${site.origin},${gone},${other.origin}`, FETCH_MAX_IMAGE_BYTES: '1024' });
});
afterAll(async () => {
  await server.close();
  await Promise.all([site.close(), other.close()]);
});

const at = (path: string): string => `${site.origin}${path}`;
const failure = (text: string) => ({ isError: true, text: `Error executing tool fetch: ${text}` });

describe('what is listed', () => {
  test('one tool, with the schema of mcp-server-fetch and no output schema', async () => {
    const { result } = await server.exchange('tools/list', {});
    expect(result?.['tools']).toEqual([
      {
        name: 'fetch',
        description: expect.stringMatching(/^(?!.*internet access).*start_index/),
        inputSchema: {
          type: 'object',
          title: 'fetchArguments',
          required: ['url'],
          properties: {
            url: { type: 'string', format: 'uri', minLength: 1, title: 'Url', description: 'URL to fetch' },
            max_length: {
              type: 'integer',
              default: 5000,
              minimum: 1,
              maximum: 999999,
              title: 'Max Length',
              description: 'Maximum number of characters to return.',
            },
            start_index: {
              type: 'integer',
              default: 0,
              minimum: 0,
              title: 'Start Index',
              description:
                'On return output starting at this character index, useful if a previous fetch was truncated and more context is required.',
            },
            raw: {
              type: 'boolean',
              default: false,
              title: 'Raw',
              description: 'Get the actual HTML content of the requested page, without simplification.',
            },
          },
        },
        annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
      },
    ]);
  });

  test('one prompt', async () => {
    const { result } = await server.exchange('prompts/list', {});
    expect(result?.['prompts']).toEqual([
      {
        name: 'fetch',
        description: 'Fetch a URL and extract its contents as markdown',
        arguments: [{ name: 'url', description: 'URL to fetch', required: true }],
      },
    ]);
  });
});

describe('a page', () => {
  test('of HTML comes as Markdown under a line that names it', async () => {
    const { result } = await server.exchange('tools/call', { name: 'fetch', arguments: { url: at('/article') } });
    expect(result).toEqual({ content: [{ type: 'text', text: `Contents of ${at('/article')}:\n${markdown(site.origin)}` }] });
  });

  test('without a type is HTML when it looks like it', async () => {
    expect((await server.fetch(at('/untyped'))).text).toContain('# The title');
  });

  test('of HTML comes as it is when that is asked for', async () => {
    expect((await server.fetch(at('/article'), { raw: true })).text).toBe(
      `Content type text/html; charset=utf-8 cannot be simplified to markdown, but here is the raw content:\nContents of ${at('/article')}:\n${article}`,
    );
  });

  test('of anything else comes as it is', async () => {
    expect((await server.fetch(at('/json'))).text).toBe(
      `Content type application/json cannot be simplified to markdown, but here is the raw content:\nContents of ${at('/json')}:\n{"a": "<html>"}`,
    );
  });

  test('that a redirect leads to keeps the name that was asked for, its links their own', async () => {
    const { text } = await server.fetch(at('/to-article'));
    expect(text).toBe(`Contents of ${at('/to-article')}:\n${markdown(site.origin)}`);
  });

  test('that is Markdown already stays as it is, and is asked for where HTML is simplified', async () => {
    expect((await server.fetch(at('/readme.md'))).text).toBe(`Contents of ${at('/readme.md')}:\n# Title\n\n[a](b)\n`);
    expect((await server.fetch(at('/negotiated'))).text).toBe(`Contents of ${at('/negotiated')}:\n# Written as it is`);
    expect((await server.fetch(at('/negotiated'), { raw: true })).text).toContain('<!doctype html>');
  });

  test('that is a feed is a list of its entries', async () => {
    expect((await server.fetch(at('/feed'))).text).toBe(
      `Contents of ${at('/feed')}:\n# News\n\n## [One & only](${site.origin}/1)\n\nMon, 30 Nov 2026\n\nWhat **happened**.`,
    );
    expect((await server.fetch(at('/feed'), { raw: true })).text).toContain(feed);
  });

  test('that is a PDF comes page by page', async () => {
    expect((await server.fetch(at('/pdf'))).text).toBe(
      `Contents of ${at('/pdf')}:\n2 pages\n\n## Page 1\n\nFirst page\n\n## Page 2\n\nSecond (page)`,
    );
  });

  test('that is an image is shown as one, its type and size as text', async () => {
    const image = { type: 'image', data: png.toString('base64'), mimeType: 'image/png' };
    const { result } = await server.exchange('tools/call', { name: 'fetch', arguments: { url: at('/png') } });
    expect(result).toEqual({ content: [{ type: 'text', text: `Contents of ${at('/png')}:\nimage/png, 20 bytes` }, image] });
    const prompted = await server.exchange('prompts/get', { name: 'fetch', arguments: { url: at('/png') } });
    expect(prompted.result).toMatchObject({ messages: [{ content: { text: 'image/png, 20 bytes' } }, { content: image }] });
  });

  test('shows no character that a terminal obeys, turns text around or hides', async () => {
    expect((await server.fetch(at('/tricks'))).text).toMatch(/ abc d$/);
    expect((await server.fetch(at('/tricks'), { raw: true })).text).toContain(' abc &#x202E;d');
  });

  test('that another site gave says which', async () => {
    expect((await server.fetch(at('/elsewhere'))).text).toBe(
      `Redirected to ${other.origin}/\nContent type text/plain cannot be simplified to markdown, but here is the raw content:\nContents of ${at('/elsewhere')}:\nanother site`,
    );
  });

  test.each([
    ['/empty.txt', '<error>No more content available.</error>'],
    ['/empty.html', '<error>Page failed to be simplified from HTML</error>'],
    ['/spa', '<error>Page failed to be simplified from HTML</error>'],
    ['/304', '<error>Page failed to be simplified from HTML</error>'],
  ])('without content says so, and is no failure: %s', async (path, text) => {
    const told = await server.fetch(at(path));
    expect(told.isError).toBe(false);
    expect(told.text).toMatch(new RegExp(`Contents of .*:\n${text}$`));
  });
});

describe('a long text', () => {
  test('comes in parts of code points, each naming where the next begins', async () => {
    let read = '';
    for (let start: number | undefined = 0; start !== undefined;) {
      const { text } = await server.fetch(at('/emoji'), { start_index: start, max_length: 1_501 });
      const [, part = '', next] =
        /Contents of [^\n]*:\n([^<]*)(?:\n\n<error>Content truncated\. Call the fetch tool with a start_index of (\d+) to get more content\.<\/error>)?$/.exec(
          text,
        ) ?? [];
      expect(Array.from(part).length).toBe(Math.min(1_501, 6_000 - start));
      read += part;
      start = next === undefined ? undefined : Number(next);
    }
    expect(read).toBe(emoji);
  });

  test('is 5,000 characters at first, and has an end', async () => {
    expect((await server.fetch(at('/emoji'))).text).toContain('start_index of 5000 to get');
    expect((await server.fetch(at('/emoji'), { start_index: 6_000 })).text).toMatch(/:\n<error>No more content available\.<\/error>$/);
  });
});

describe('what is sent', () => {
  const sent = async (url: string): Promise<{ url: string; headers: Record<string, string> }> => {
    const { text } = await server.fetch(url);
    return JSON.parse(text.slice(text.indexOf('{'))) as { url: string; headers: Record<string, string> };
  };

  test('is the user agent of an autonomous program, or of a person for the prompt', async () => {
    expect((await sent(at('/echo'))).headers['user-agent']).toBe(
      'ModelContextProtocol/1.0 (Autonomous; +https://github.com/modelcontextprotocol/servers)',
    );
    expect(await server.prompt(at('/echo'))).toContain('ModelContextProtocol/1.0 (User-Specified; +https://github.com');
  });

  test('asks for every encoding that is understood', async () => {
    expect((await sent(at('/echo'))).headers).toMatchObject({
      accept: expect.stringMatching(/^text\/markdown, text\/html;.*\*\/\*/),
      'accept-encoding': 'gzip, deflate, br, zstd',
    });
  });

  test('are credentials of the URL as Basic, and no fragment; both stay in its name', async () => {
    const url = at('/echo?q=1#part').replace('//', '//us%65r:p%40ss@');
    const { headers, url: path } = await sent(url);
    expect(headers['authorization']).toBe(`Basic ${Buffer.from('user:p@ss').toString('base64')}`);
    expect(path).toBe('/echo?q=1');
    expect((await server.fetch(url)).text).toContain(`Contents of ${url}:`);
  });
});

describe('a URL is named in its normal form', () => {
  test.each([
    ['with a path', () => site.origin, () => `${site.origin}/`],
    ['with its scheme in lower case', () => at('/').replace('http', 'HTTP'), () => `${site.origin}/`],
    ['with its address in dots', () => at('/').replace('127.0.0.1', '2130706433'), () => `${site.origin}/`],
    ['with its address in full', () => at('/').replace('127.0.0.1', '127.1'), () => `${site.origin}/`],
  ])('%s', async (_name, given, named) => {
    expect((await server.fetch(given())).text).toContain(`Contents of ${named()}:\nhome`);
  });
});

describe('a failure is a result that says what happened', () => {
  test.each([
    ['/gone', 410],
    ['/broken', 500],
    ['/nothing', 404],
  ])('%s', async (path, status) => {
    expect(await server.fetch(at(path))).toEqual(failure(`Failed to fetch ${at(path)} - status code ${status}`));
  });

  test('no server', async () => {
    expect(await server.fetch(`${gone}/x`)).toEqual(failure(`Failed to fetch robots.txt ${gone}/robots.txt due to a connection issue`));
    expect(await server.prompt(`${gone}/x`)).toBe(`Failed to fetch ${gone}/x: ConnectError('All connection attempts failed')`);
  });

  test('another protocol, asked for or redirected to', async () => {
    const unsupported = (scheme: string) => `UnsupportedProtocol("Request URL has an unsupported protocol '${scheme}://'.")`;
    expect(await server.fetch('ftp://127.0.0.1/')).toEqual(failure(`Failed to fetch ftp://127.0.0.1/: ${unsupported('ftp')}`));
    expect(await server.fetch('file:///etc/passwd')).toEqual(failure(`Failed to fetch file:///etc/passwd: ${unsupported('file')}`));
    expect(await server.fetch(at('/to-ftp'))).toEqual(failure(`Failed to fetch ${at('/to-ftp')}: ${unsupported('ftp')}`));
  });

  test('wrong arguments', async () => {
    expect(await server.fetch(at('/'), { max_length: '10', raw: null, other: 1 })).toEqual(
      failure(
        '2 validation errors for fetchArguments\nmax_length\n  Input should be a valid integer\nraw\n  Input should be a valid boolean',
      ),
    );
    const { result } = await server.exchange('tools/call', { name: 'fetch' });
    expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('url\n  Field required') }] });
  });

  test('what is no text, by type and size', async () => {
    const zip = `Failed to fetch ${at('/zip')}: the content is application/zip (8 bytes), which cannot be shown as text`;
    expect(await server.fetch(at('/zip'), { raw: true })).toEqual(failure(zip));
    expect((await server.fetch(at('/large.png'))).text).toMatch(/image\/png \(4116 bytes\).*; images are shown up to 1024 bytes/);
    expect((await server.fetch(at('/pdf'), { raw: true })).text).toMatch(/application\/pdf \(\d+ bytes\).* as text; without raw it can$/);
    expect((await server.fetch(at('/broken.pdf'))).text).toContain(`Failed to fetch ${at('/broken.pdf')}: the PDF is damaged: `);
  });

  test('but an unknown tool or prompt, or a prompt without its URL, is an error of the protocol', async () => {
    expect((await server.exchange('tools/call', { name: 'get', arguments: {} })).error).toMatchObject({ code: -32602 });
    expect((await server.exchange('prompts/get', { name: 'get', arguments: {} })).error).toMatchObject({ code: -32602 });
    expect((await server.exchange('prompts/get', { name: 'fetch', arguments: {} })).error).toEqual({
      code: -32602,
      message: 'URL is required',
    });
  });
});

describe('the prompt', () => {
  test('gives the whole page in one message of the user, without a header line', async () => {
    const { result } = await server.exchange('prompts/get', { name: 'fetch', arguments: { url: at('/article') } });
    expect(result).toEqual({
      description: 'Fetch a URL and extract its contents as markdown',
      messages: [{ role: 'user', content: { type: 'text', text: markdown(site.origin) } }],
    });
    expect(await server.prompt(at('/emoji'))).toBe(
      `Content type text/plain; charset=utf-8 cannot be simplified to markdown, but here is the raw content:\n${emoji}`,
    );
  });

  test('gives a failure as its text', async () => {
    expect(await server.prompt(at('/gone'))).toBe(`Failed to fetch ${at('/gone')} - status code 410`);
    expect(await server.prompt('not a url')).toBe(
      `Failed to fetch not a url: UnsupportedProtocol("Request URL is missing an 'http://' or 'https://' protocol.")`,
    );
  });
});

test('results describe their page in structured content where that is configured', async () => {
  const structured = await startFetchServer({ FETCH_ALLOW_ORIGINS: site.origin, FETCH_STRUCTURED: 'true' });
  try {
    // the client checks results by the schema that was listed
    const { tools } = await structured.client.listTools();
    expect(tools[0]?.outputSchema).toMatchObject({ type: 'object', required: expect.arrayContaining(['url', 'content']) });
    const result = await structured.client.callTool({ name: 'fetch', arguments: { url: at('/article'), max_length: 10 } });
    expect(result.structuredContent).toEqual({
      url: at('/article'),
      type: 'text/html',
      title: 'The title',
      content: '# The titl',
      start_index: 0,
      total_length: Array.from(markdown(site.origin)).length,
      next_start_index: 10,
    });
    expect(result.content).toMatchObject([
      { type: 'text', text: expect.stringMatching(/^Contents of .*:\n# The titl\n\n<error>Content trunc/) },
    ]);
    expect((await structured.fetch(at('/gone'))).isError).toBe(true);
  } finally {
    await structured.close();
  }
});
