import { Agent, errors } from 'undici';
import { describe, expect, test } from 'vitest';
import { Cookies } from './cookies.ts';
import { get, problemOf, RequestProblem } from './http.ts';

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
