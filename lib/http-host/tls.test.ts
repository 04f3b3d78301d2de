import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect as dial } from 'node:net';
import { connect } from 'node:tls';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { generate } from 'selfsigned';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { httpHostSettings } from './config.ts';
import { startHttpHost, type HttpHost } from './host.ts';
import type { HttpLimits } from './limits.ts';

let directory: string;
let host: HttpHost | undefined;
const complaints: string[] = [];
const log = pino({ level: 'error' }, { write: (line) => complaints.push(line) });

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'toolyard-tls-'));
});

afterEach(async () => {
  await host?.close();
  host = undefined;
  rmSync(directory, { recursive: true });
});

async function write(commonName: string): Promise<void> {
  const pair = await generate([{ name: 'commonName', value: commonName }], { keyType: 'ec', curve: 'P-256' });
  writeFileSync(join(directory, 'tls.key'), pair.private);
  writeFileSync(join(directory, 'tls.crt'), pair.cert);
}

async function start(files: Record<string, string>, limits: Partial<HttpLimits> = {}): Promise<HttpHost> {
  const fixed = { PORT: 0, TLS_PORT: 0, METRICS_PORT: 'off', DRAIN_SECONDS: 0 };
  host = await startHttpHost({
    part: 'test',
    settings: z.object(httpHostSettings).parse({ ...fixed, ...files }),
    handler: (_req, res) => res.end('served'),
    ready: () => ({ ready: true }),
    metrics: new Registry(),
    log,
    limits,
  });
  return host;
}

/** The common name in the certificate that is shown. */
async function shown({ tlsUrl }: HttpHost): Promise<string> {
  const { hostname, port } = new URL(String(tlsUrl));
  const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const name = socket.getPeerCertificate().subject.CN;
  socket.destroy();
  return String(name);
}

const both = () => ({ TLS_CERT_FILE: join(directory, 'tls.crt'), TLS_KEY_FILE: join(directory, 'tls.key') });

test('with a certificate it answers HTTPS beside HTTP, and follows the files; an unusable pair leaves the last good one in use', async () => {
  await write('first');
  const started = await start(both());
  expect(await (await fetch(started.url)).text()).toBe('served');
  writeFileSync(join(directory, 'tls.crt'), 'not a certificate');
  await expect.poll(() => complaints, { timeout: 8000 }).toHaveLength(1);
  expect(await shown(started)).toBe('first');
  await write('second');
  await expect.poll(() => shown(started), { timeout: 8000 }).toBe('second');
});

test('half a certificate, or one that is none, is refused with the setting named', async () => {
  await write('x');
  await expect(start({ TLS_CERT_FILE: both().TLS_CERT_FILE })).rejects.toThrow('TLS_KEY_FILE: got (not set)');
  writeFileSync(join(directory, 'tls.key'), 'not a key');
  await expect(start(both())).rejects.toThrow(/^TLS_CERT_FILE: got ".*tls.crt", accepts a PEM certificate with its key in TLS_KEY_FILE/);
});

test('a client that does not get on with its handshake is cut, whatever it sent of it', async () => {
  await write('localhost');
  const { tlsUrl, url } = await start(both(), { headersTimeoutMs: 50 });
  const address = { port: Number(new URL(String(tlsUrl)).port), host: '127.0.0.1', allowHalfOpen: true };
  const beginnings = ['', 'GET / HTTP/1.1\r\n\r\n', '\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03'];
  const sockets = beginnings.map((text) => {
    const socket = dial(address);
    socket.write(text, 'latin1');
    return socket.resume();
  });
  const ended = await Promise.all(sockets.map((socket) => once(socket, 'end')));
  expect(ended.length).toBe(3);
  expect((await fetch(url)).status).toBe(200);
});
