import { expect, test } from 'vitest';
import { targetKey, targetOf, type Address } from './target.ts';
import { serverJson, urlOf } from './testing/world.ts';

const settings = { onDelete: 'delete' } as const;
const document = serverJson('com.example/weather', '1.0.0');
const http = { type: 'streamable-http', url: urlOf('main') };
const sse = { type: 'sse', url: urlOf('sse') };

function addressOf(remotes: NonNullable<typeof document.remotes>, more = {}): Address | string {
  const target = targetOf({ ...document, remotes }, { ...settings, ...more }, 'directory');
  return target.is === 'address' ? target : target.reason;
}

test('streamable HTTP is asked before SSE, and an address without variables before one with', () => {
  expect(addressOf([sse, http])).toMatchObject({ url: http.url, transport: 'streamable-http' });
  expect(addressOf([sse])).toMatchObject({ url: sse.url, transport: 'sse' });
  expect(addressOf([{ ...http, url: 'https://{tenant}.example' }, sse])).toMatchObject({ url: sse.url });
});

test('what cannot be asked is not: packages only, variables, or switched off', () => {
  expect(addressOf([])).toBe('NoRemote');
  expect(addressOf([{ ...http, url: 'https://{tenant}.example' }])).toBe('Variables');
  expect(addressOf([http], { probe: 'off' })).toBe('ProbeOff');
});

test('an endpoint is asked in place of any remote, also of one with variables', () => {
  const endpoint = 'http://127.0.0.1:9000/mcp';
  expect(addressOf([{ ...http, url: 'https://{tenant}.example' }], { endpoint })).toMatchObject({ url: endpoint });
});

test('headers with a fixed value go along, but none that could change whom or how one talks to', () => {
  const headers = [
    { name: 'X-Region', value: 'eu' },
    { name: 'X-Tenant', value: '{tenant}' },
    { name: 'X-Empty' },
    { name: 'Host', value: 'inside.example' },
    { name: 'Authorization', value: 'Bearer mine' },
    { name: 'Content-Length', value: '5' },
    { name: 'Mcp-Session-Id', value: 'x' },
    { name: 'X-Evil', value: 'a\r\nHost: b' },
    { name: 'Bad Name', value: 'x' },
  ];
  expect(addressOf([{ ...http, headers }])).toMatchObject({ headers: { 'x-region': 'eu' } });
});

test('one probe answers for records with the same address, and for none that would be asked otherwise', () => {
  const key = (remote: typeof http, more = {}): string => {
    const address = addressOf([remote], more);
    return typeof address === 'string' ? address : targetKey(address);
  };
  expect(key(http)).toBe(key({ ...http }));
  expect(key(http)).not.toBe(key({ ...http, type: 'sse' }));
  expect(key(http)).not.toBe(key(http, { probeAuth: 'mine' }));
});
