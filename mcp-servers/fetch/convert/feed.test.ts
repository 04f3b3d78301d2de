import { expect, test } from 'vitest';
import { feedText } from './feed.ts';

const base = 'https://example.org/feeds/all.xml';

test('RSS: title, link, author, date and summary of each entry', () => {
  const feed = feedText(
    `<?xml version="1.0"?><!-- made --><rss version="2.0"><channel><title>News &amp; more</title><link>https://example.org/news/</link>
    <description>What happens</description><language>en</language>
    <item><title>One</title><link>one.html</link><dc:creator>Ada</dc:creator><pubDate>Mon, 30 Nov 2026</pubDate>
    <description><![CDATA[<p>It <b>rained</b>.</p><script>no()</script>]]></description></item>
    <item><guid>2</guid><description>Plain &lt; words</description></item></channel></rss>`,
    base,
  );
  expect(feed?.markdown).toBe(
    '# News & more\n\nWhat happens\n\n## [One](https://example.org/news/one.html)\n\nAda, Mon, 30 Nov 2026\n\nIt **rained**.\n\n## Untitled\n\nPlain < words',
  );
  expect(feed?.about).toEqual({ title: 'News & more', language: 'en' });
});

test('Atom: alternate links, nested authors, updates', () => {
  const feed = feedText(
    `<feed xmlns="http://www.w3.org/2005/Atom"><title>Log</title><updated>2026-11-30</updated><entry><title type="html">A &amp;lt;b&amp;gt;</title>
    <link rel="self" href="/api/1"/><link href="/1"/><author><name>Bo</name></author><updated>2026-11-29</updated><content type="html">&lt;ul&gt;&lt;li&gt;x&lt;/li&gt;&lt;/ul&gt;</content></entry></feed>`,
    base,
  );
  expect(feed?.markdown).toBe('# Log\n\n## [A &lt;b&gt;](https://example.org/1)\n\nBo, 2026-11-29\n\n* x');
});

test.each(['<a/>', '<feed><title>no Atom</title></feed>', '<rss></rss>', 'text', '<html><rss></rss></html>'])('no feed: %s', (xml) => {
  expect(feedText(xml, base)).toBeUndefined();
});

test('no entity but XML’s own means anything', () => {
  const xml =
    '<!DOCTYPE rss [<!ENTITY x SYSTEM "file:///etc/passwd">]><rss><channel><title>T</title><item><title>&x; &amp;</title></item></channel></rss>';
  expect(feedText(xml, base)?.markdown ?? '').not.toContain('root:');
});
