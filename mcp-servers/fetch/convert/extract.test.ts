import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { extract, isEnough, linear } from './extract.ts';
import { MAX_DEPTH, MAX_ELEMENTS, parseTree } from './tree.ts';

const base = 'https://example.org/docs/page.html';
const paragraph = 'Words of a paragraph, with commas, that readers read. '.repeat(8).trim();

function markdown(html: string): string {
  return extract(html, base).markdown;
}

describe('an article', () => {
  const article = (inner: string) =>
    `<html><head><title>The title</title></head><body><nav>menu</nav><article>${inner}<p>${paragraph}</p></article><footer>foot</footer></body></html>`;

  test('comes with its title, without the furniture around it', () => {
    expect(extract(article('<h1>The title</h1>'), base)).toEqual({
      markdown: `# The title\n\n${paragraph}`,
      method: 'article',
      about: { title: 'The title' },
    });
  });

  test.each([
    ['ATX headings', '<h2>Part</h2>', '## Part'],
    ['absolute links', `<p>${paragraph} <a href="../x?y=(1)">to x</a></p>`, '[to x](https://example.org/x?y=%281%29)'],
    ['absolute images', `<p>${paragraph}<img src="i.png" alt="an  image"></p>`, '![an image](https://example.org/docs/i.png)'],
    [
      'fenced code with its language',
      '<pre><code class="language-js">let a = "&lt;";\n  b()</code></pre>',
      '```js\nlet a = "<";\n  b()\n```',
    ],
    ['tables', '<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2|3</td></tr></table>', '| a | b |\n| --- | --- |\n| 1 | 2\\|3 |'],
    ['nested lists', '<ul><li>one<ol start="3"><li>x</li><li>y</li></ol></li><li>two</li></ul>', '* one\n  3. x\n  4. y\n* two'],
    ['lists that begin elsewhere', '<ol start=" 7th"><li>x</li><li>y</li></ol>', '7. x\n8. y'],
    ['lists that begin nowhere', '<ol start="x"><li>x</li></ol><ol start="-3"><li>y</li></ol>', '1. x\n\n1. y'],
    ['lists that begin beyond Markdown', '<ol start="12345678901"><li>x</li></ol>', '1. x'],
    ['items of several paragraphs', '<ol><li><p>one</p><p>more</p></li><li>two</li></ol>', '1. one\n\n   more\n\n2. two'],
  ])('has %s', (_name, inner, expected) => {
    expect(markdown(article(inner))).toContain(expected);
  });

  test.each(['javascript:alert(1)', 'data:text/html,x', 'vbscript:x', ' '])('keeps the text of a link to %s, not the link', (href) => {
    const text = markdown(article(`<p>${paragraph} <a href="${href}">label</a></p>`));
    expect(text).toContain('label');
    expect(text).not.toContain('](');
  });

  test('does not carry images in its text', () => {
    expect(markdown(article(`<p>${paragraph}<img alt="dot" src="data:image/png;base64,${'A'.repeat(5_000)}"></p>`))).not.toContain('AAAA');
  });

  test('follows the base that a page declares', () => {
    const html = `<html><head><base href="/other/"></head><body><article><p>${paragraph} <a href="x">x</a></p></article></body></html>`;
    expect(markdown(html)).toContain('(https://example.org/other/x)');
    expect(linear(html, base).markdown).toContain('(https://example.org/other/x)');
  });
});

describe('a page with text is never empty', () => {
  const hidden = `<div hidden><p>${paragraph}</p></div>`;
  test.each([
    ['text that scripts would unhide', `<html><body>${hidden}<script>show()</script></body></html>`, 'Words of a paragraph'],
    [
      'text of a hidden main element',
      `<html><body><p>Cookies!</p><main style="display:none"><p>${paragraph}</p></main></body></html>`,
      'Words of a paragraph',
    ],
    ['nothing but navigation', '<html><body><nav><a href="/x">Only menu</a></nav></body></html>', '[Only menu](https://example.org/x)'],
    [
      'no tags but what is needed',
      `<!doctype html><meta charset=utf-8><title>Title</title><!-- x --><p>${paragraph}`,
      `# Title\n\n${paragraph}`,
    ],
    ['a fragment', '<p>hello <b>you', 'hello **you**'],
    ['plain text', 'just words', 'just words'],
    ['no body', '<html><head><title>T</title></head><p>no body', 'no body'],
    ['a frameset', '<html><head></head><frameset><noframes>frames</noframes></frameset></html>', ''],
    ['unclosed elements', `<div><p><b><i>${paragraph}`, 'Words of a paragraph'],
    ['uppercase tags', `<HTML><BODY><P>${paragraph}</P></BODY></HTML>`, 'Words of a paragraph'],
  ])('%s', (_name, html, expected) => {
    expect(markdown(html)).toContain(expected);
  });

  test.each([
    '',
    '<html></html>',
    '<html><body><div id="root"></div><script>app()</script></body></html>',
    '<style>a{}</style>',
    '<!-- x -->',
  ])('and one without is: %s', (html) => {
    expect(markdown(html)).toBe('');
  });

  test('whatever it consists of', () => {
    const tag = fc.constantFrom(
      'div',
      'p',
      'ul',
      'li',
      'table',
      'tr',
      'td',
      'a',
      'main',
      'article',
      'span',
      'h1',
      'pre',
      'form',
      'section',
      'b',
    );
    const piece = fc.oneof(
      tag.map((name) => `<${name}>`),
      tag.map((name) => `</${name}>`),
      fc.constantFrom('<br>', '<img src=x>', '<a href=y>', '<!-- c -->', '<div hidden>', '&amp;', '<', '&#x1F600;'),
      fc.constantFrom('word', ' and ', 'more, '),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const html = `${pieces.join('')}</a></pre></td></tr></table> visible`;
        expect(markdown(html)).not.toBe('');
        expect(linear(html, base).markdown).toContain('visible');
      }),
      { numRuns: 200 },
    );
  });
});

test('tags that are never closed are gone through once', () => {
  const before = process.cpuUsage();
  extract('<html'.repeat(200_000), base);
  extract(`${'<html '.repeat(200_000)}<p>x`, base);
  expect(process.cpuUsage(before).user / 1000).toBeLessThan(3_000);
});

test('an article has to be a good part of what the page holds', () => {
  expect(isEnough(0, 0)).toBe(false);
  expect(isEnough(60, 100)).toBe(true);
  expect(isEnough(40, 100)).toBe(false);
  expect(isEnough(250, 4_000)).toBe(true);
  expect(isEnough(250, 40_000)).toBe(false);
});

describe('what is too deep, too large or too odd for a DOM is read in one linear pass', () => {
  test.each([
    ['deep', `${'<div>'.repeat(MAX_DEPTH + 1)}visible`],
    ['very deep', `${'<div>'.repeat(200_000)}visible`],
    ['many elements', `${'<b>x</b>'.repeat(MAX_ELEMENTS + 1)}visible`],
    ['many attributes', `<p ${Array.from({ length: 100_000 }, (_, n) => `a${n}`).join(' ')}>visible`],
    ['unmatched end tags', `${'<a>'.repeat(200)}${'</b>'.repeat(500_000)}${'<i>'.repeat(60_000)}visible`],
    ['many links', `${'<a href=#x>link</a> '.repeat(MAX_ELEMENTS + 1)}visible`],
  ])('%s', (_name, html) => {
    const before = process.cpuUsage();
    const { markdown: text, method } = extract(html, base);
    expect(method).toBe('linear');
    expect(text).toContain('visible');
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(3_000);
  });

  test('a page at the limits still fits', () => {
    expect(parseTree(`${'<div>'.repeat(MAX_DEPTH)}x`)).toBeDefined();
    expect(parseTree('<p>a<p>b'.repeat(1_000))).toBeDefined();
  });

  test('with lists, code, cells, links and entities in place', () => {
    const html =
      '<h2>Part</h2><ul><li>one</li><li>two <a href="x"><b>linked</b></a></li></ul><pre>a\n  b &lt;</pre><table><tr><td>1<td>2</tr></table>A&amp;B<br>C<script>no()</script><svg><text>no</text></svg><a href="y"><img></a>';
    expect(linear(html, base).markdown).toBe(
      '## Part\n\n* one\n* two [linked](https://example.org/docs/x)\n\n```\na\n  b <\n```\n\n1 | 2\n\nA&B\nC',
    );
  });

  describe('whose short links do not cost the length of the page’s URL each', () => {
    const long = `https://example.org/${'a'.repeat(16_000)}`;
    test.each([
      ['links', '<a href=#>x</a>'],
      ['links without text', '<a href=#></a>'],
      ['links that are none', '<a href=http://[>x</a>'],
      ['images', '<img src=#>'],
      ['bases', '<base href=http://[>'],
    ])('%s', (_name, element) => {
      const before = process.cpuUsage();
      const text = linear(element.repeat(400_000), long).markdown;
      expect(text.length).toBeLessThan(20 * 1024 * 1024);
      expect(process.cpuUsage(before).user / 1000).toBeLessThan(2_500);
    });
  });

  test('long text does not take many times its memory, however it is spaced', () => {
    const text = 'ab c  \n d'.repeat(20_000);
    expect(linear(`<p>${text}</p>`, base).markdown).toBe(text.replace(/\s+/g, ' '));
  });
});
