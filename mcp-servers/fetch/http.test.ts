import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as fc from 'fast-check';
import { Agent, errors } from 'undici';
import { describe, expect, test } from 'vitest';
import { guardedAgent } from '../../lib/address-guard/guard.ts';
import { publicOnly } from '../../lib/address-guard/policy.ts';
import { Cookies } from './cookies.ts';
import { get, HopRefused, problemOf, RequestProblem } from './http.ts';

const coded = (code: string, message = 'details'): Error => Object.assign(new Error(message), { code });

test.each([
  [coded('ECONNREFUSED'), "ConnectError('All connection attempts failed')"],
  [new AggregateError([coded('EHOSTUNREACH'), coded('ENETUNREACH')]), "ConnectError('All connection attempts failed')"],
  [coded('ENOTFOUND'), "ConnectError('[Errno -2] Name or service not known')"],
  [coded('EAI_AGAIN'), "ConnectError('[Errno -3] Temporary failure in name resolution')"],
  [new errors.ConnectTimeoutError('slow'), "ConnectTimeout('')"],
  [new errors.BodyTimeoutError('slow'), "ReadTimeout('')"],
  [coded('DEPTH_ZERO_SELF_SIGNED_CERT', 'self-signed certificate'), "ConnectError('self-signed certificate')"],
  [
    coded('ERR_TLS_CERT_ALTNAME_INVALID', "Host: a. is not in the cert's altnames"),
    `ConnectError("Host: a. is not in the cert's altnames")`,
  ],
  [new errors.HeadersOverflowError('Headers Overflow Error'), "RemoteProtocolError('Headers Overflow Error')"],
  [coded('Z_DATA_ERROR', 'incorrect header check'), "DecodingError('incorrect header check')"],
  [coded('ECONNRESET', 'read ECONNRESET'), "ReadError('read ECONNRESET')"],
  [coded('ERR_ASSERTION', 'The expression evaluated to a falsy value'), "RemoteProtocolError('the answer is no HTTP')"],
  [
    coded('ERR_TLS_CERT_ALTNAME_INVALID', `DNS:\u202E${'x'.repeat(9_000)}`),
    `ConnectError('DNS:\\u202e${'x'.repeat(295)}… (9005 characters)')`,
  ],
  ['odd', "ReadError('odd')"],
  [new RequestProblem('ReadError', `it's "both"\n\\`), `ReadError('it\\'s "both"\\n\\\\')`],
])('%s is told as the incumbent would', (error, told) => {
  expect(problemOf(error).message).toBe(told);
});

test.each([
  [`http://a.test/${'a'.repeat(16_384)}`, "InvalidURL('URL too long')"],
  ['ftp://a.test/', `UnsupportedProtocol("Request URL has an unsupported protocol 'ftp://'.")`],
  ['blob:http://a.test/', `UnsupportedProtocol("Request URL has an unsupported protocol 'blob://'.")`],
])('nobody is asked for %.20s…', async (url, told) => {
  const beforeHop = () => Promise.reject(new Error('would have been asked'));
  const given = get(new Agent(), new URL(url), { userAgent: 'x', signal: new AbortController().signal, beforeHop });
  await expect(given).rejects.toThrow(told);
});

type Octets = readonly [number, number, number, number];

const byte = fc.nat(255);
const closed: fc.Arbitrary<Octets> = fc.oneof(
  fc.tuple(fc.constantFrom(0, 10, 127), byte, byte, byte),
  fc.tuple(fc.constant(172), fc.integer({ min: 16, max: 31 }), byte, byte),
  fc.tuple(fc.constant(192), fc.constant(168), byte, byte),
  fc.tuple(fc.constant(169), fc.constant(254), byte, byte),
  fc.tuple(fc.constant(100), fc.integer({ min: 64, max: 127 }), byte, byte),
  fc.constant([168, 63, 129, 16] as const),
);
const number = ([a, b, c, d]: Octets): number => ((a * 256 + b) * 256 + c) * 256 + d;
const hex = (octets: Octets): string =>
  number(octets)
    .toString(16)
    .padStart(8, '0')
    .replace(/(.{4})/, '$1:');

/** Ways of writing an IPv4 address in a URL. */
const spellings: readonly ((octets: Octets) => string)[] = [
  (octets) => octets.join('.'),
  (octets) => `${octets.join('.')}.`,
  (octets) => String(number(octets)),
  (octets) => `0x${number(octets).toString(16)}`,
  (octets) => `0${number(octets).toString(8)}`,
  (octets) => octets.map((octet) => `0${octet.toString(8)}`).join('.'),
  ([a, b, c, d]) => `0X${a.toString(16)}.${(b * 256 + c) * 256 + d}`,
  (octets) => encodeURI(octets.join('.')).replace(/\d/g, (digit) => `%3${digit}`),
  (octets) => octets.join('。').replace(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
  (octets) => `user:password@${octets.join('.')}`,
  (octets) => `[::ffff:${octets.join('.')}]`,
  (octets) => `[0:0:0:0:0:FFFF:${hex(octets)}]`,
  (octets) => `[64:ff9b::${hex(octets)}]`,
  (octets) => `[::${hex(octets)}]`,
  (octets) => `[2002:${hex(octets)}::]`,
];

test('a redirect to a private address is refused however it is spelt, whatever the scheme and port', async () => {
  let location = '';
  const site = createServer((_request, response) => response.writeHead(302, { location }).end()).listen(0, '127.0.0.1');
  await once(site, 'listening');
  const start = new URL(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`);
  const dispatcher = guardedAgent(publicOnly({ allowOrigins: [start.origin] }));
  const scheme = fc.constantFrom('http://', 'HTTPS://', '//', '\\\\', 'http:/\\');
  const port = fc.constantFrom('', ':80', ':443', ':8080', ':1');
  await fc.assert(
    fc.asyncProperty(closed, fc.constantFrom(...spellings), scheme, port, async (octets, spell, before, after) => {
      location = Buffer.from(`${before}${spell(octets)}${after}/`).toString('latin1');
      const given = get(dispatcher, start, { userAgent: 'x', signal: new AbortController().signal });
      await expect(given).rejects.toBeInstanceOf(HopRefused);
    }),
    { numRuns: 200 },
  );
  await dispatcher.destroy();
  site.close();
});

describe('cookies of one call', () => {
  const a = new URL('https://a.test/x');

  test('go back to the origin that set them, and to no other', () => {
    const cookies = new Cookies();
    cookies.store(a, ['one=1; Path=/; Secure', 'two=2=2; Domain=test']);
    cookies.store(a, 'one=3');
    expect(cookies.header(new URL('https://a.test/y'))).toBe('one=3; two=2=2');
    for (const other of ['http://a.test/', 'https://a.test:8443/', 'https://b.test/', 'https://x.a.test/']) {
      expect(cookies.header(new URL(other))).toBeUndefined();
    }
  });

  test('are few and short', () => {
    const cookies = new Cookies();
    cookies.store(a, [
      `long=${'x'.repeat(5_000)}`,
      'no-value',
      '=no-name',
      ...Array.from({ length: 200 }, (_, n) => `c${n}=${'y'.repeat(20)}`),
    ]);
    expect(cookies.header(a)?.split('; ')).toHaveLength(50);
    expect(cookies.header(a)).not.toContain('long');
  });
});
