import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { createSecureServer } from 'node:http2';
import { connect, type AddressInfo } from 'node:net';
import { generate } from 'selfsigned';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { request, type Dispatcher } from 'undici';
import { AddressRefused, type Resolve } from './guard.ts';
import { anyAddress, publicOnly } from './policy.ts';
import { guardedProxy, type ProxyGuardOptions } from './proxy.ts';

let proxy: Server;
let asked: string[];
const dispatchers: Dispatcher[] = [];

beforeEach(async () => {
  asked = [];
  proxy = createServer(({ url }, response) => {
    asked.push(url ?? '');
    response.end('from the proxy');
  }).listen(0, '127.0.0.1');
  proxy.on('connect', ({ url = '' }, client) => {
    asked.push(`CONNECT ${url}`);
    const upstream = connect(Number(url.split(':')[1]), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      client.pipe(upstream).pipe(client);
    });
    client.on('error', () => upstream.destroy());
    upstream.on('error', () => client.destroy());
  });
  await once(proxy, 'listening');
});

afterEach(async () => {
  await Promise.all(dispatchers.splice(0).map((dispatcher) => dispatcher.destroy()));
  proxy.closeAllConnections();
  proxy.close();
});

function proxied(policy = publicOnly(), options: ProxyGuardOptions = {}): Dispatcher {
  const dispatcher = guardedProxy(policy, new URL(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`), options);
  dispatchers.push(dispatcher);
  return dispatcher;
}

const answering =
  (...addresses: string[]): Resolve =>
  () =>
    Promise.resolve(addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })));

test.each([
  ['http://10.0.0.1/', answering()],
  ['https://[::ffff:169.254.169.254]/', answering()],
  ['http://mixed.test/', answering('93.184.215.14', '127.0.0.1')],
])('the proxy does not hear of %s', async (url, resolve) => {
  await expect(request(url, { dispatcher: proxied(publicOnly(), { resolve }) })).rejects.toBeInstanceOf(AddressRefused);
  expect(asked).toEqual([]);
});

test.each([
  ['http://93.184.215.14/', answering()],
  ['http://public.test/', answering('93.184.215.14')],
  ['http://known-to-the-proxy.test/', () => Promise.reject(new Error('unknown'))],
])('the proxy is asked for %s', async (url, resolve) => {
  const { body } = await request(url, { dispatcher: proxied(publicOnly(), { resolve }) });
  expect(await body.text()).toBe('from the proxy');
  expect(asked).toEqual([url]);
});

test('who leaves does not wait for a look-up, and nothing is sent afterwards', async () => {
  const looked = Promise.withResolvers<{ address: string; family: number }[]>();
  const leave = new AbortController();
  const dispatcher = proxied(anyAddress(), { resolve: () => looked.promise });
  const given = request('http://slow.test/', { dispatcher, signal: leave.signal });
  leave.abort(new Error('left'));
  await expect(given).rejects.toThrow('left');
  looked.resolve([{ address: '93.184.215.14', family: 4 }]);
  expect(await (await request('http://93.184.215.14/', { dispatcher })).body.text()).toBe('from the proxy');
  expect(asked).toEqual(['http://93.184.215.14/']);
});

test('what cannot be sent fails the request, and nothing else', async () => {
  const given = request('http://93.184.215.14/', { dispatcher: proxied(), headers: { 'proxy-authorization': 'mine' } });
  await expect(given).rejects.toThrow('Proxy-Authorization should be sent in ProxyAgent constructor');
});

test('what is behind the proxy is spoken to in HTTP/1.1, whose limits are known', async () => {
  const { cert, private: key } = await generate([{ name: 'commonName', value: 'secure.test' }], { keyType: 'ec' });
  const site = createSecureServer({ cert, key, allowHTTP1: true }, ({ httpVersion }, response) => response.end(httpVersion));
  site.listen(0, '127.0.0.1');
  await once(site, 'listening');
  const dispatcher = proxied(anyAddress(), { pool: { requestTls: { rejectUnauthorized: false } } });
  const { body } = await request(`https://127.0.0.1:${(site.address() as AddressInfo).port}/`, { dispatcher });
  expect(await body.text()).toBe('1.1');
  site.close();
});
