import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { convert, type Conversion } from './conversion.ts';

async function convertHtml(html: string, to: Conversion['to']): Promise<string> {
  return (await convert({ bytes: Buffer.from(html), complete: true, kind: 'html', charset: 'utf-8', base: 'https://example.org/', to }))
    .text;
}

const paragraph = 'Words of a paragraph, with commas, that readers read. '.repeat(8);

test.each([
  ['a tag that is none, before a character of two units', `<p>text</Words, ${paragraph}😀`],
  ['a title that is cut within one', `<title>${'x'.repeat(299)}😀</title><article><p>${paragraph}</article>`],
  ['a reference to half of one', `<p>&#xD83D; ${paragraph}`],
])('text is well-formed Unicode in spite of %s', async (_name, html) => {
  expect((await convertHtml(html, 'markdown')).isWellFormed()).toBe(true);
  expect((await convertHtml(html, 'linear')).isWellFormed()).toBe(true);
});

test('text is well-formed whatever a page consists of', async () => {
  const piece = fc.oneof(
    fc.constantFrom('<p>', '</p', '</', '<a href="', '">', '<title>', '<ol start=x>', '<li>', '&#xDFFF;', '&', '<!--', '<![CDATA[', '\0'),
    fc.string({ unit: 'binary', maxLength: 8 }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 20 }), fc.constantFrom('markdown' as const, 'linear' as const), async (pieces, to) => {
      expect((await convertHtml(pieces.join(''), to)).isWellFormed()).toBe(true);
    }),
    { numRuns: 300 },
  );
});

test('text that is only decoded stays as it is', async () => {
  expect(await convertHtml('<p>as <b>it</b> is', 'text')).toBe('<p>as <b>it</b> is');
});
