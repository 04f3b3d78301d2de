import { afterAll, describe, expect, test } from 'vitest';
import type { Conversion } from '../../mcp-servers/fetch/convert/conversion.ts';
import { Converter } from '../../mcp-servers/fetch/convert/converter.ts';

const converter = new Converter({ keep: 1, most: 2, memoryMb: 256 });
afterAll(() => converter.close());

const patient = (): AbortSignal => AbortSignal.timeout(9_000);
/** Half of the time that is left is for the article. */
const soon = (): number => performance.now() + 1_000;
const later = (): number => performance.now() + 9_000;

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
  expect((await converter.convert(page(html), patient(), later())).text).toMatch(
    /^# T\n\nWords .* \[link\]\(https:\/\/example\.org\/a\/b\)$/,
  );
  expect(await converter.convert(page(html, { to: 'text' }), patient(), later())).toEqual({ text: html, method: 'text', about: {} });
});

/** Within the limits of a DOM, and many seconds for Readability. */
const slow = page(`${'<blockquote>'.repeat(250)}${'a<br>'.repeat(49_000)}`);

describe('a page that exhausts its worker', () => {
  test('in time is converted in the way that never takes long, and others go on meanwhile', async () => {
    const [hostile, harmless] = await Promise.all([
      converter.convert(slow, patient(), soon()),
      converter.convert(page(`<article><p>${paragraph}</p></article>`), patient(), later()),
    ]);
    expect(harmless.text).toContain('Words of a paragraph');
    expect(hostile).toMatchObject({ method: 'linear', text: expect.stringMatching(/^(a\n)+a$/) });
  });

  test('in time does not wait for its turn a second time', async () => {
    const alone = new Converter({ keep: 1, most: 1, memoryMb: 256 });
    const order: string[] = [];
    await Promise.all([
      alone.convert(slow, patient(), soon()).then(() => order.push('slow')),
      alone.convert(page('<p>next'), patient(), later()).then(() => order.push('next')),
    ]);
    expect(order).toEqual(['slow', 'next']);
    alone.close();
  });

  test.each([
    ['by many elements', `<p class="c" id="i">${'word '.repeat(10)}</p>`.repeat(90_000)],
    ['by a long text', `<p>${'word '.repeat(2_000_000)}`],
  ])('in memory, %s, too', async (_name, html) => {
    const small = new Converter({ keep: 1, most: 1, memoryMb: 32 });
    const { method, text } = await small.convert(page(html), patient(), later());
    expect(method).toBe('linear');
    expect(text).toMatch(/^(word\s+)+word$/);
    small.close();
  });
});

test('a call that is given up frees its worker at once', async () => {
  const leave = new AbortController();
  const given = converter.convert(slow, leave.signal, later());
  leave.abort(new Error('the caller left'));
  await expect(given).rejects.toThrow('the caller left');
  expect((await converter.convert(page('<p>next'), patient(), later())).text).toBe('next');
});

test('more conversions than workers wait for their turn', async () => {
  const pages = Array.from({ length: 8 }, (_, index) => converter.convert(page(`<p>page ${index}`), patient(), later()));
  expect((await Promise.all(pages)).map(({ text }) => text)).toEqual(Array.from({ length: 8 }, (_, index) => `page ${index}`));
});
