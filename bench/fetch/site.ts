import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const KIB = 1024;
const SENTENCE = 'It says as much as a sentence of a newspaper does, with <a href="/other">a link</a> and <em>a word that matters</em>. ';

/** A page like an article or a manual of that length: paragraphs, headings, lists, code and tables, and a site around them. */
export function articleOf(kib: number): string {
  const parts: string[] = [];
  let length = 0;
  for (let index = 1; length < kib * KIB; index += 1) {
    const part = partOf(index);
    length += part.length;
    parts.push(part);
  }
  const nav = '<header><nav><a href="/">Home</a> <a href="/news">News</a></nav></header>';
  const aside = '<aside><h3>Related</h3><ul><li><a href="/1">One more</a></li></ul></aside><footer>All rights reserved</footer>';
  return `<!doctype html><html lang="en"><head><title>Article | Site</title></head><body>${nav}<main><article><h1>Article</h1>${parts.join('\n')}</article></main>${aside}</body></html>`;
}

function partOf(index: number): string {
  if (index % 10 === 0) return `<h2>Part ${index}</h2>`;
  if (index % 25 === 1) return `<ul><li>one ${index}</li><li>two <b>bold</b></li></ul>`;
  if (index % 40 === 2) return `<pre><code class="language-js">let a = ${index};\nuse(a);</code></pre>`;
  if (index % 50 === 3) return `<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>${index}</td></tr></table>`;
  return `<p>Paragraph ${index} of the article. ${SENTENCE.repeat(1 + (index % 3))}</p>`;
}

/** Serves `/KIB` as a page of that size that may be kept for an hour; a query makes it another page. */
export async function openSite(stack: AsyncDisposableStack): Promise<string> {
  const pages = new Map<string, string>();
  const server = createServer((request, response) => {
    const [path = ''] = (request.url ?? '').split('?', 1);
    const kib = Number(path.slice(1));
    const found = Number.isInteger(kib) && kib > 0;
    const page = pages.get(path) ?? (found ? articleOf(kib) : '');
    pages.set(path, page);
    response.writeHead(found ? 200 : 404, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'max-age=3600' }).end(page);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  stack.defer(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
