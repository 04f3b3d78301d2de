import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generate } from 'selfsigned';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startFetchServer, type FetchServer } from './fetch-server.ts';
import { answer, startSite, type Site } from './site.ts';

let directory: string;
let plain: Site;
let secure: Server;
let origin: string;
let trusting: FetchServer;
let doubting: FetchServer;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'toolyard-fetch-'));
  plain = await startSite({ '/page': answer('<p>plain page') });
  const { cert, private: key } = await generate([{ name: 'commonName', value: 'localhost' }], {
    extensions: [
      { name: 'basicConstraints', cA: true },
      { name: 'subjectAltName', altNames: [{ type: 2, value: 'localhost' }] },
    ],
  });
  await writeFile(join(directory, 'ca.pem'), cert);
  secure = createServer({ cert, key }, (request, response) => {
    if (request.url === '/down') response.writeHead(302, { location: `${plain.origin}/page` }).end();
    else response.writeHead(request.url === '/page' ? 200 : 404, { 'content-type': 'text/html' }).end('<p>secure page');
  }).listen(0, '127.0.0.1');
  await once(secure, 'listening');
  origin = `https://localhost:${(secure.address() as AddressInfo).port}`;
  const allowed = { FETCH_ALLOW_ORIGINS: `${origin},${origin.replace('localhost', '127.0.0.1')},${plain.origin}` };
  trusting = await startFetchServer({ ...allowed, NODE_EXTRA_CA_CERTS: join(directory, 'ca.pem') });
  doubting = await startFetchServer(allowed);
});
afterAll(async () => {
  await Promise.all([trusting.close(), doubting.close(), plain.close()]);
  secure.closeAllConnections();
  secure.close();
  await rm(directory, { recursive: true });
});

test('a certificate is checked against the name in the URL, though the address is pinned', async () => {
  expect((await trusting.fetch(`${origin}/page`)).text).toBe(`Contents of ${origin}/page:\nsecure page`);
  const { text } = await doubting.fetch(`${origin}/page`);
  expect(text).toContain('due to a connection issue');
  expect(await doubting.prompt(`${origin}/page`)).toContain(`Failed to fetch ${origin}/page: ConnectError('self-signed certificate`);
  const elsewhere = origin.replace('localhost', '127.0.0.1');
  expect(await trusting.prompt(`${elsewhere}/page`)).toMatch(/ConnectError\(.*does not match certificate's altnames/);
});

test('a redirect from https to http is followed, as the incumbent does, and told', async () => {
  const told = `Redirected to ${plain.origin}/page\nContents of ${origin}/down:\nplain page`;
  expect((await trusting.fetch(`${origin}/down`)).text).toBe(told);
});
