import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { Gauge, Registry } from 'prom-client';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { httpHostSettings, type HttpHostSettings } from './config.ts';
import { startHttpHost, type HttpHost, type HttpHostOptions } from './host.ts';
import type { HttpLimits } from './limits.ts';

const log = pino({ level: 'silent' });
const hosts: HttpHost[] = [];

afterEach(async () => {
  await Promise.all(hosts.splice(0).map((host) => host.close()));
});

function settings(changed: Partial<HttpHostSettings> = {}): HttpHostSettings {
  return { ...z.object(httpHostSettings).parse({ PORT: 0, TLS_PORT: 0, METRICS_PORT: 'off', DRAIN_SECONDS: 0 }), ...changed };
}

async function start(changed: Partial<HttpHostOptions> = {}, limits: Partial<HttpLimits> = {}): Promise<HttpHost> {
  const host = await startHttpHost({
    part: 'test',
    settings: settings(),
    handler: (_req, res) => res.end('served'),
    ready: () => ({ ready: true }),
    metrics: new Registry(),
    log,
    limits,
    ...changed,
  });
  hosts.push(host);
  return host;
}

function dial(host: HttpHost): Socket {
  return connect(Number(new URL(host.url).port), '127.0.0.1');
}

/** What the other side says until it closes. */
async function said(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.on('error', () => {});
  await once(socket, 'close');
  return Buffer.concat(chunks).toString();
}

/** A promise and what settles it, for handlers that wait for the test. */
function gate(): { opened: Promise<void>; open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}

test('a process is alive before it is ready, and says why it is not', async () => {
  const { url } = await start({ ready: () => ({ ready: false, reason: 'install bubblewrap' }) });
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  const readyz = await fetch(`${url}/readyz`);
  expect([readyz.status, await readyz.json()]).toEqual([503, { ready: false, reason: 'install bubblewrap' }]);
});

test('a readiness check that fails or hangs means unready', async () => {
  const failing = await start({ ready: () => Promise.reject(new Error('disk gone')) });
  expect(await (await fetch(`${failing.url}/readyz`)).json()).toEqual({ ready: false, reason: 'the readiness check failed: disk gone' });
  const hanging = await start({ ready: () => new Promise(() => {}) }, { readyTimeoutMs: 20 });
  expect(await (await fetch(`${hanging.url}/readyz`)).json()).toEqual({ ready: false, reason: 'the readiness check took over 20 ms' });
});

test('a port in use is named with the setting that changes it, and nothing stays open', async () => {
  const taken = Number(new URL((await start()).url).port);
  await expect(start({ settings: settings({ PORT: taken }) })).rejects.toThrow(
    `127.0.0.1:${taken}: port ${taken} is taken by another process; stop that one, or set PORT to a free port`,
  );
  const free = Number(new URL((await start()).url).port);
  await hosts.pop()?.close();
  await expect(start({ settings: settings({ PORT: free, METRICS_PORT: taken }) })).rejects.toMatchObject({
    setting: 'METRICS_PORT',
    port: taken,
  });
  await start({ settings: settings({ PORT: free }) });
});

test('an address of another machine is refused with HOST named', async () => {
  await expect(start({ settings: settings({ HOST: '192.0.2.1' }) })).rejects.toThrow('set HOST');
});

test('metrics are served on their own port, with the status of every answer', async () => {
  const { url, metricsUrl } = await start({ settings: settings({ METRICS_PORT: 0 }), metrics: new Registry() });
  await fetch(`${url}/anything`);
  const text = await (await fetch(String(metricsUrl))).text();
  expect(text).toContain('toolyard_http_requests_total{status="200"} 1');
  expect(text).toContain('process_resident_memory_bytes');
  // the public port has none
  expect(await (await fetch(`${url}/metrics`)).text()).toBe('served');
});

test('a metric that cannot be collected is answered 500 and leaves the process serving', async () => {
  const metrics = new Registry();
  const failing = () => {
    throw new Error('cannot count');
  };
  const { url, metricsUrl } = await start({ settings: settings({ METRICS_PORT: 0 }), metrics });
  metrics.registerMetric(new Gauge({ name: 'broken', help: 'broken', registers: [], collect: failing }));
  expect((await fetch(String(metricsUrl))).status).toBe(500);
  expect((await fetch(url)).status).toBe(200);
});

test('a handler that throws, at once or later, is answered 500 and leaves the process serving', async () => {
  const failures: Record<string, () => unknown> = {
    '/sync': () => {
      throw new Error('secret detail');
    },
    '/async': () => Promise.reject(new Error('secret detail')),
  };
  const { url } = await start({ handler: (req, res) => (failures[req.url ?? ''] ?? (() => res.end('fine')))() });
  for (const path of Object.keys(failures)) {
    const answer = await fetch(url + path);
    expect(answer.status).toBe(500);
    expect(await answer.text()).not.toContain('secret detail');
  }
  expect(await (await fetch(url)).text()).toBe('fine');
});

test('a handler that throws after it began to answer cuts the connection, so that half an answer is not taken for a whole one', async () => {
  const { url } = await start({
    handler: async (_req, res) => {
      res.write('half');
      await delay(1);
      throw new Error('broken');
    },
  });
  await expect(fetch(url).then((answer) => answer.text())).rejects.toThrow('terminated');
});

test('headers over the limit are answered 431', async () => {
  const host = await start({}, { maxHeaderBytes: 2048 });
  const socket = dial(host);
  socket.write(`GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'a'.repeat(4096)}\r\n\r\n`);
  expect(await said(socket)).toMatch(/^HTTP\/1\.1 431 .*headers are too large/s);
});

test('what is not HTTP is answered 400 with the reason', async () => {
  const socket = dial(await start());
  socket.write('EHLO mail.example\r\n\r\n');
  expect(await said(socket)).toMatch(/^HTTP\/1\.1 400 .*"error":"not an HTTP request/s);
});

test('headers and bodies that do not arrive in time are answered 408', async () => {
  const host = await start(
    { handler: (req, res) => void req.resume().once('end', () => res.end()) },
    { headersTimeoutMs: 50, requestTimeoutMs: 50 },
  );
  const headers = dial(host);
  headers.write('GET / HTTP/1.1\r\nHost: x\r\n');
  const silent = dial(host);
  const body = dial(host);
  body.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc');
  for (const answer of await Promise.all([said(headers), said(silent), said(body)]))
    expect(answer).toMatch(/^HTTP\/1\.1 408 .*took too long to arrive/s);
});

test.each([
  ['two ways to tell its length', 'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['two lengths', 'Content-Length: 0\r\nContent-Length: 30\r\n\r\n'],
  ['a list of lengths', 'Content-Length: 0, 0\r\n\r\n'],
  ['a signed length', 'Content-Length: +0\r\n\r\n'],
  ['chunks not last', 'Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n'],
  ['an unknown encoding', 'Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n'],
  ['a blank before a colon', 'Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n'],
  ['a folded header', 'X: a\r\n Transfer-Encoding: chunked\r\n\r\n'],
  ['a lone line feed', 'X: a\n\n'],
  ['a lone carriage return', 'X: a\rContent-Length: 0\r\n\r\n'],
  ['an endless chunk', 'Transfer-Encoding: chunked\r\n\r\nffffffffffffffff1\r\n'],
])('a request with %s, which proxies read in other ways, is refused with all that follows', async (_, rest) => {
  const asked: unknown[] = [];
  const host = await start({
    handler: async (req, res) => {
      for await (const piece of req) asked.push(piece);
      asked.push(req.url);
      res.end();
    },
  });
  const socket = dial(host);
  socket.write(`POST /1 HTTP/1.1\r\nHost: x\r\n${rest}GET /2 HTTP/1.1\r\nHost: x\r\n\r\n`);
  expect((await said(socket)).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 400']);
  expect(asked).toEqual([]);
});

test('a client that keeps its half of a refused connection open is cut after it', async () => {
  const host = await start({}, { maxConnections: 1 });
  const stubborn = connect({ port: Number(new URL(host.url).port), host: '127.0.0.1', allowHalfOpen: true });
  stubborn.write('garbage\r\n\r\n');
  await once(stubborn.resume(), 'end');
  await expect.poll(async () => (await fetch(host.url).catch(() => undefined))?.status, { timeout: 5000 }).toBe(200);
  stubborn.destroy();
});

test('pipelined requests are answered in their order', async () => {
  const first = gate();
  const host = await start({
    handler: async (req, res) => {
      if (req.url === '/1') await first.opened;
      else setImmediate(first.open);
      res.end(`[${req.url}]`);
    },
  });
  const socket = dial(host);
  socket.write('GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  expect(await said(socket)).toMatch(/\[\/1\].*\[\/2\]/s);
});

test('garbage after a request whose answer is due cuts the connection instead of answering in its place', async () => {
  const never = gate();
  const host = await start({ settings: settings({ FINISH_SECONDS: 0.01 }), handler: () => never.opened });
  const socket = dial(host);
  socket.write('GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n\u0000\u0000\r\n\r\n');
  expect(await said(socket)).toBe('');
  never.open();
});

test('requests beyond those that may be in flight are answered 503, health is not counted', async () => {
  const held = gate();
  const host = await start(
    {
      handler: async (_req, res) => {
        await held.opened;
        res.end();
      },
    },
    { maxInFlight: 2 },
  );
  const waiting = [fetch(host.url), fetch(host.url)];
  await expect
    .poll(async () => (await fetch(`${host.url}/third`, { signal: AbortSignal.timeout(100) }).catch(() => undefined))?.status)
    .toBe(503);
  expect((await fetch(`${host.url}/healthz`)).status).toBe(200);
  held.open();
  expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([200, 200]);
});

test('clients that are slow to send their bodies do not keep out those that only ask', async () => {
  const host = await start(
    { settings: settings({ FINISH_SECONDS: 0.01 }), handler: (req, res) => void req.resume().once('end', () => res.end('served')) },
    { maxInFlight: 2 },
  );
  const post = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n';
  const slow = [dial(host), dial(host)];
  for (const socket of slow) socket.on('error', () => {}).write(post);
  await expect.poll(async () => (await fetch(host.url, { method: 'POST', body: 'x' })).status).toBe(503);
  expect((await fetch(host.url)).status).toBe(200);
  for (const socket of slow) socket.destroy();
});

test('connections beyond the limit are closed', async () => {
  const host = await start({}, { maxConnections: 1 });
  const first = dial(host);
  await once(first, 'connect');
  expect(await said(dial(host))).toBe('');
  first.destroy();
});

test('idle connections cannot keep others out', async () => {
  const host = await start({}, { maxConnections: 3 });
  const idle = [dial(host), dial(host), dial(host)];
  for (const socket of idle) {
    socket.on('error', () => {}).write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(socket, 'data');
  }
  await expect.poll(async () => (await fetch(host.url).catch(() => undefined))?.status).toBe(200);
});

test('a client that does not read its answer is cut; one that waits for it is not', async () => {
  const left = gate();
  const host = await start(
    {
      handler: async (req, res) => {
        if (req.url === '/slow') await delay(150);
        else res.once('close', left.open);
        res.end(req.url === '/slow' ? 'worth waiting' : Buffer.alloc(64 * 1024 * 1024));
      },
    },
    { stallTimeoutMs: 50 },
  );
  const deaf = dial(host);
  deaf.on('error', () => {});
  deaf.write('GET /large HTTP/1.1\r\nHost: x\r\n\r\n');
  deaf.pause();
  expect(await (await fetch(`${host.url}/slow`)).text()).toBe('worth waiting');
  await left.opened;
  deaf.destroy();
});

test('told to stop, it is unready at once, accepts for the grace period, finishes what is in flight, then closes', async () => {
  const held = gate();
  const order: string[] = [];
  const host = await start({
    settings: settings({ DRAIN_SECONDS: 0.2 }),
    handler: async (req, res) => {
      if (req.url === '/slow') await held.opened;
      order.push(`answered ${req.url}`);
      res.end('done');
    },
    onClose: async () => void order.push('closed'),
  });
  const slow = fetch(`${host.url}/slow`);
  const closed = host.close();
  const readyz = await fetch(`${host.url}/readyz`);
  expect([readyz.status, await readyz.json()]).toEqual([503, { ready: false, reason: 'stopping' }]);
  const late = await fetch(`${host.url}/late`);
  expect([late.status, late.headers.get('connection')]).toEqual([200, 'close']);
  await expect.poll(() => fetch(host.url).catch((error: unknown) => String(error))).toBe('TypeError: fetch failed');
  held.open();
  expect(await (await slow).text()).toBe('done');
  await closed;
  expect(order.slice(-2)).toEqual(['answered /slow', 'closed']);
});

test('told to stop, it can end what a request in flight would wait for', async () => {
  const [begun, given] = [gate(), gate()];
  const host = await start({
    handler: async (_req, res) => {
      begun.open();
      await given.opened;
      res.end('cut short');
    },
    onDrain: async () => given.open(),
  });
  const answer = fetch(host.url);
  await begun.opened;
  await host.close();
  expect(await (await answer).text()).toBe('cut short');
});

test('a request that never finishes does not keep a process from stopping', async () => {
  const begun = gate();
  const host = await start({ settings: settings({ FINISH_SECONDS: 0.02 }), handler: begun.open });
  const answer = fetch(host.url);
  await begun.opened;
  await Promise.all([host.close(), host.close()]);
  await expect(answer).rejects.toThrow('fetch failed');
});

test('an idle keep-alive connection does not delay stopping', async () => {
  const host = await start({ settings: settings({ FINISH_SECONDS: 60 }) });
  const socket = dial(host);
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(socket, 'data');
  const closedByHost = said(socket);
  await host.close();
  expect(await closedByHost).toBe('');
});
