import { describe, expect, test } from 'vitest';
import { Links } from './links.ts';
import { toMarkdown } from './markdown.ts';
import { measure, parseTree, type Element } from './tree.ts';

function tree(html: string): Element {
  const root = parseTree(html);
  if (root === undefined) throw new Error('too deep or large');
  measure(root);
  return root;
}

function markdown(html: string): string {
  return toMarkdown(tree(html), { links: new Links('https://example.org/a/b'), parse: tree, noscript: false });
}

describe('tables', () => {
  test.each([
    ['without headings', '<table><tr><td>a<td>b<tr><td>c<td>d</table>', '|  |  |\n| --- | --- |\n| a | b |\n| c | d |'],
    ['with headings at the side', '<table><tr><th>a<td>1<tr><th>b<td>2</table>', '|  |  |\n| --- | --- |\n| a | 1 |\n| b | 2 |'],
    [
      'with spans',
      '<table><tr><th>a<th colspan=2>b<tr><td rowspan=2>1<td>2<td>3<tr><td>4<td>5</table>',
      '| a | b |  |\n| --- | --- | --- |\n| 1 | 2 | 3 |\n| 1 | 4 | 5 |',
    ],
    ['with cells of several lines', '<table><tr><th>a<tr><td><p>x</p><ul><li>y<li>z</ul></table>', '| a |\n| --- |\n| x<br>y<br>z |'],
    ['within cells', '<table><tr><th>a<tr><td><table><tr><td>1<td>2</table></table>', '| a |\n| --- |\n| 1; 2 |'],
    ['for layout', '<table><tr><td><h2>T</h2><p>x</p><td><p>y</p></table>', '## T\n\nx\n\ny'],
    ['with a caption', '<table><caption>C</caption><tr><th>a<tr><td>1</table>', 'C\n\n| a |\n| --- |\n| 1 |'],
    ['with spans that are made to grow', `<table><tr><td rowspan=9999 colspan=9999>${'x'.repeat(300)}<tr><td>y</table>`, 'y'],
  ])('%s', (_name, html, expected) => {
    expect(markdown(html)).toContain(expected);
  });
});

describe('the rest', () => {
  test.each([
    ['definitions', '<dl><dt>a<dd>b</dd><div><dt>c<dd><p>d</p><p>e</p></div></dl>', '**a**\n: b\n\n**c**\n: d\n\n  e'],
    ['footnotes', '<p>x<sup><a href="#n1">1</a></sup></p><ol><li id="n1">note <a href="#r1">↩</a></ol>', 'x[^1]\n\n[^1]: note'],
    ['a raised link that is no footnote', '<p>x<sup><a href="#n1">1</a></sup></p>', 'x[1](https://example.org/a/b#n1)'],
    ['figures', '<figure><img src=i.png alt=A><figcaption>C</figcaption></figure>', '![A](https://example.org/a/i.png)\n\nC'],
    [
      'images that come late',
      '<img src="data:x" data-src=i.png alt=A><img srcset="s.png 1x, t.png 2x" alt=B>',
      '![A](https://example.org/a/i.png)![B](https://example.org/a/s.png)',
    ],
    ['details', '<details><summary>S</summary><p>x</details>', '**S**\n\nx'],
    ['quotations', '<blockquote><p>a<p>b<ul><li>c</ul></blockquote>', '> a\n>\n> b\n>\n> * c'],
    ['frames with a document', '<iframe srcdoc="&lt;h2>T&lt;/h2>x"></iframe>', '## T\n\nx'],
    ['formulas', '<p>a <math><mi>x</mi><annotation encoding="application/x-tex">x^2</annotation></math>', 'a $x^2$'],
    ['tasks', '<ul><li><input type=checkbox checked> a<li><input type=checkbox> b</ul>', '* [x] a\n* [ ] b'],
    ['ticks in code', '<p><code>a`b</code> <code>`</code>', '``a`b`` `` ` ``'],
    ['fences in code', '<pre>```\nx\n```</pre>', '````\n```\nx\n```\n````'],
    ['lines of code as blocks', '<pre class="brush: js"><div>a</div><div>b</div></pre>', '```js\na\nb\n```'],
    ['white space around marks', '<p>a<b> b </b>c<i></i> d', 'a **b** c d'],
    ['marks of its own', '<p># a *b* c_d_e 1*2', '\\# a \\*b* c_d_e 1*2'],
    ['breaks', '<p>a<br>b<br><br>c', 'a  \nb\n\nc'],
    ['cards', '<a href=x><h3>T</h3><p>y</p></a>', '### [T](https://example.org/a/x)\n\ny'],
    ['links side by side', '<a href=x>x</a><a href=y>y</a>', '[x](https://example.org/a/x) [y](https://example.org/a/y)'],
    ['deleted words', '<p><del>a</del> b', '~~a~~ b'],
    ['readings', '<p><ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>', '漢(kan)'],
  ])('%s', (_name, html, expected) => {
    expect(markdown(html)).toBe(expected);
  });
});
