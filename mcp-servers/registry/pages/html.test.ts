import { assert, property, string } from 'fast-check';
import { expect, test } from 'vitest';
import { cut, html, outsideLink } from './html.ts';

test('whatever is filled in stays text, in content and in quoted attributes', () => {
  assert(
    property(string({ unit: 'binary' }), (text) => {
      const { markup } = html`<p title="${text}">${text}</p>`;
      expect(markup.match(/[<>"]/g)).toEqual(['<', '"', '"', '>', '<', '>']);
      expect(markup).not.toContain("'");
    }),
  );
});

test('characters that hide or move others are shown as what they are: not text', () => {
  expect(html`${'a\u202eb\u2066c\u0000d\u001b[31me\u200bf\ud800g'}`.markup).toBe('a\ufffdb\ufffdc\ufffdd\ufffd[31me\ufffdf\ufffdg');
});

test('lines, joined emoji and letters of every script stay', () => {
  const text = 'two\nlines 👩\u200d💻 می\u200cخواهم עברית';
  expect(html`${text}`.markup).toBe(text);
});

test.each(['javascript:alert(1)', 'JAVASCRIPT://a/%0aalert(1)', 'data:text/html,x', 'file:///etc/passwd', ' //a.example', '', 'https://'])(
  'no link leads to %s',
  (url) => {
    expect(outsideLink(url, 'website').markup).toBe('<bdi>website</bdi>');
  },
);

test('a link of the web is one, and tells nobody where it was followed from', () => {
  expect(outsideLink('https://a.example/"><x>', 'website').markup).toBe(
    '<a href="https://a.example/%22%3E%3Cx%3E" rel="noreferrer noopener nofollow"><bdi>website</bdi></a>',
  );
});

test('a cut text is never longer than it may be, and never ends in half a character', () => {
  expect(cut('abc', 3)).toBe('abc');
  expect(cut('abcd', 3)).toBe('ab…');
  expect(cut('a😀bc', 3).isWellFormed()).toBe(true);
});
