import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { goQuote, hostnameOf, parseGoUrl, uriFault } from './go-url.ts';

function hostOf(url: string): string | undefined {
  const parsed = parseGoUrl(url);
  return parsed.ok ? parsed.url.host : undefined;
}

test.each([
  ['https://a.example/mcp', 'https', 'a.example'],
  ['HTTPS://A.example:8443', 'https', 'A.example:8443'],
  ['https://user:pw@a.example', 'https', 'a.example'],
  ['https://a@b@c', 'https', 'c'],
  ['https://a.example:', 'https', 'a.example:'],
  ['https://a.example:99999/a b', 'https', 'a.example:99999'],
  ['https://[::1]:1/x', 'https', '[::1]:1'],
  ['https://[fe80::1%25eth0]', 'https', '[fe80::1%25eth0]'],
  ['https:///x', 'https', ''],
  ['https:x', 'https', ''],
  ['mailto:a@b', 'mailto', ''],
  ['//a.example/x', '', 'a.example'],
  ['///x', '', ''],
  ['a/b:c', '', ''],
  ['', '', ''],
])('%s is read with its scheme and host', (url, scheme, host) => {
  expect(parseGoUrl(url)).toEqual({ ok: true, url: { scheme, host } });
});

test.each([
  ['https://a b/', 'invalid character " " in host name'],
  ['https://a\\b/', 'invalid character "\\\\" in host name'],
  ['https://a%20b/', 'invalid URL escape "%20"'],
  ['https://a/%zz', 'invalid URL escape "%zz"'],
  ['https://a#%', 'invalid URL escape "%"'],
  ['https://a:x/', 'invalid port ":x" after host'],
  ['https://a:1:2/', 'invalid port ":1:2" after host'],
  ['https://[::1', "missing ']' in host"],
  ['https://x[::1]', 'invalid IP-literal'],
  ['https://[127.0.0.1]', 'invalid IP-literal'],
  ['https://[fe80::1%25]', 'invalid host'],
  ['https://u"@a', 'net/url: invalid userinfo'],
  ['https://a\n', 'net/url: invalid control character in URL'],
  [':a', 'missing protocol scheme'],
  ['1a:b', 'first path segment in URL cannot contain colon'],
])('%s is refused', (url, fault) => {
  const parsed = parseGoUrl(url);
  expect(parsed.ok ? 'accepted' : parsed.fault).toContain(fault);
});

test('only http and https are strict about colons in the host', () => {
  expect(hostOf('mongodb://a:1,b:2')).toBe('a:1,b:2');
  expect(hostOf('http://a:1,b:2')).toBeUndefined();
});

test('a host name has neither port nor brackets', () => {
  expect(hostnameOf({ scheme: 'https', host: '[::1]:80' })).toBe('::1');
  expect(hostnameOf({ scheme: 'https', host: 'a.example:' })).toBe('a.example');
});

test('an absolute URI needs a scheme, and nothing else', () => {
  expect(uriFault('x:')).toBeUndefined();
  expect(uriFault('/x')).toBe('expected string to be RFC 3986 absolute uri (non-empty scheme)');
  expect(uriFault('https://a b')).toMatch(/^expected string to be RFC 3986 uri: parse "https:\/\/a b": /);
});

test('what browsers read as an https address is read with the same host', () => {
  fc.assert(
    fc.property(fc.webUrl({ validSchemes: ['https'], withFragments: true, withQueryParameters: true }), (url) => {
      expect(hostOf(url)).toBe(new URL(url).host);
    }),
  );
});

test('no text makes the reader fail', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(parseGoUrl(text)).toHaveProperty('ok');
    }),
  );
});

test('nothing invisible is left in a quoted text', () => {
  expect(goQuote('a"\\\n\v\0\u00a0\u202e\u{e0001} b')).toBe('"a\\"\\\\\\n\\v\\x00\\u00a0\\u202e\\U000e0001 b"');
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(goQuote(text)).not.toMatch(/(?! )[\p{C}\p{Z}]/u);
    }),
  );
});
