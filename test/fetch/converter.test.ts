import { afterAll, describe, expect, test } from 'vitest';
import type { Conversion } from '../../mcp-servers/fetch/convert/conversion.ts';
import { Converter } from '../../mcp-servers/fetch/convert/converter.ts';

const converter = new Converter({ warm: 1, most: 2, memoryMb: 256 });
afterAll(() => converter.close());

const ARTICLE_MS = 1_500;
const patient = (): AbortSignal => AbortSignal.timeout(9_000);

function page(html: string, some: Partial<Conversion> = {}): Conversion {
  return {
    bytes: Buffer.from(html),
    complete: true,
    kind: 'html',
    charset: undefined,
    base: 'https://example.org/a/',
    to: 'markdown',
    ...some,
  };
}

const paragraph = 'Words of a paragraph, with commas, that readers read. '.repeat(8);

test('a page becomes Markdown, a text stays as it is', async () => {
  const html = `<title>T</title><article><p>${paragraph}<a href="b">link</a></p></article>`;
  expect((await converter.convert(page(html), patient(), ARTICLE_MS)).text).toMatch(
    /^# T\n\nWords .* \[link\]\(https:\/\/example\.org\/a\/b\)$/,
  );
  expect(await converter.convert(page(html, { to: 'text' }), patient(), ARTICLE_MS)).toEqual({ text: html, method: 'text' });
});

describe('a page that exhausts its worker', () => {
  test('in time is converted in the way that never takes long, and others go on meanwhile', async () => {
    // a few hundred thousand siblings of one parent make Readability quadratic; kept below the element limit by being text and comments
    const slow = `<body>${`${'<b>x</b>'.repeat(40)}<br>`.repeat(600)}<p>${'a <!-- --> '.repeat(400_000)}</p></body>`;
    const other = page(`<article><p>${paragraph}</p></article>`);
    const [hostile, harmless] = await Promise.all([
      converter.convert(page(slow), patient(), ARTICLE_MS),
      converter.convert(other, patient(), ARTICLE_MS),
    ]);
    expect(harmless.text).toContain('Words of a paragraph');
    expect(hostile.text.length).toBeGreaterThan(10_000);
  });

  test('in memory, too', async () => {
    const small = new Converter({ warm: 1, most: 1, memoryMb: 24 });
    const html = `<body>${`<p class="c" id="i">${'word '.repeat(20)}</p>`.repeat(20_000)}</body>`;
    const { method, text } = await small.convert(page(html), patient(), 8_000);
    expect(method).toBe('linear');
    expect(text).toContain('word word');
    await small.close();
  });
});

test('a call that is given up frees its worker at once', async () => {
  const leave = new AbortController();
  const given = converter.convert(page(`<p>${'a <!-- --> '.repeat(400_000)}</p>`), leave.signal, ARTICLE_MS);
  leave.abort(new Error('the caller left'));
  await expect(given).rejects.toThrow('the caller left');
  expect((await converter.convert(page('<p>next'), patient(), ARTICLE_MS)).text).toBe('next');
});

test('more conversions than workers wait for their turn', async () => {
  const pages = Array.from({ length: 8 }, (_, index) => converter.convert(page(`<p>page ${index}`), patient(), ARTICLE_MS));
  expect((await Promise.all(pages)).map(({ text }) => text)).toEqual(Array.from({ length: 8 }, (_, index) => `page ${index}`));
});
