import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client, type ClientOptions } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as V1Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as V1Transport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { answer, startSite, type Site } from './site.ts';

let site: Site;
beforeAll(async () => {
  site = await startSite({
    '/robots.txt': answer('User-agent: *\nDisallow: /closed', { 'content-type': 'text/plain' }),
    '/page': answer('<p>a page'),
    '/closed': answer('<p>a closed page'),
    '/agent': (request, response) => response.writeHead(200, { 'content-type': 'text/plain' }).end(request.headers['user-agent']),
  });
});
afterAll(() => site.close());

const command = (...options: string[]) => ({
  command: process.execPath,
  args: ['mcp-servers/fetch/main.ts', '--stdio', ...options],
  stderr: 'ignore' as const,
});

async function withClient<T>(
  options: string[],
  use: (fetch: (path: string) => Promise<string>) => Promise<T>,
  client: ClientOptions = {},
): Promise<T> {
  const connected = new Client({ name: 'test', version: '1' }, client);
  await connected.connect(new StdioClientTransport(command(...options)));
  try {
    return await use(async (url) => {
      const { content } = await connected.callTool({ name: 'fetch', arguments: { url } });
      return content[0]?.type === 'text' ? content[0].text : '';
    });
  } finally {
    await connected.close();
  }
}

describe('on standard input and output', () => {
  test.each([{}, { versionNegotiation: { mode: { pin: '2026-07-28' } } } as const])('clients of both eras are served: %j', async (era) => {
    const texts = await withClient(
      ['--allow-private-ips'],
      (fetch) => Promise.all(['/page', '/closed'].map((path) => fetch(`${site.origin}${path}`))),
      era,
    );
    expect(texts).toEqual([`Contents of ${site.origin}/page:\na page`, expect.stringContaining('Disallow: /closed')]);
  });

  test("clients of the SDK's first version too", async () => {
    const client = new V1Client({ name: 'test', version: '1' });
    await client.connect(new V1Transport(command('--allow-private-ips')));
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['fetch']);
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(['fetch']);
    await client.close();
  });

  test('private addresses are refused by default, with the option that allows them', async () => {
    expect(await withClient([], (fetch) => fetch(`${site.origin}/page`))).toBe(
      `Error executing tool fetch: Refused to fetch ${site.origin}/robots.txt: 127.0.0.1 resolves to 127.0.0.1, which is not a public address. Start the server with --allow-private-ips to allow private, loopback and link-local addresses.`,
    );
  });

  test('robots.txt and the user agent are as the options say', async () => {
    await withClient(['--allow-private-ips', '--ignore-robots-txt', '--user-agent', 'Robot/3'], async (fetch) => {
      expect(await fetch(`${site.origin}/closed`)).toContain('a closed page');
      expect(await fetch(`${site.origin}/agent`)).toMatch(/:\nRobot\/3$/);
    });
  });

  test('the process ends with its input, and writes nothing else to its output', async () => {
    const child = spawn(process.execPath, command().args, { stdio: ['pipe', 'pipe', 'ignore'] });
    let output = '';
    child.stdout.on('data', (chunk) => (output += chunk));
    const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: hello })}\n`);
    await expect.poll(() => output, { timeout: 20_000 }).toMatch(/^\{.*"toolyard-fetch".*\}\n$/);
    child.stdin.end();
    expect(await once(child, 'exit')).toEqual([0, null]);
    expect(output.trim().split('\n')).toHaveLength(1);
  });

  test.each([
    [['--proxy-url', 'socks5://user:secret@127.0.0.1:1'], '--proxy-url: got (hidden), accepts the URL of an HTTP proxy'],
    [['--user-agent', 'Robot\r\nx: y'], 'FETCH_USER_AGENT: got "Robot\\r\\nx: y", accepts printable ASCII'],
  ])('a wrong option stops the start: %j', async (options, message) => {
    const child = spawn(process.execPath, command(...options).args, { stdio: ['ignore', 'ignore', 'pipe'] });
    let errors = '';
    child.stderr.on('data', (chunk) => (errors += chunk));
    expect(await once(child, 'exit')).toEqual([2, null]);
    expect(errors).toContain(message);
    expect(errors).not.toContain('secret');
  });
});

test('through a proxy, what resolves to a private address is refused, and the proxy gets the rest', async () => {
  const asked: string[] = [];
  const proxy = createServer((request: IncomingMessage, response) => {
    asked.push(request.url ?? '');
    response.writeHead(200, { 'content-type': 'text/plain' }).end('from the proxy');
  });
  proxy.on('connect', (request, socket) => {
    asked.push(`CONNECT ${request.url}`);
    socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  await withClient(['--ignore-robots-txt', '--proxy-url', `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`], async (fetch) => {
    expect(await fetch(`${site.origin}/page`)).toContain('which is not a public address');
    expect(await fetch('http://localhost/page')).toContain('which is not a public address');
    expect(await fetch('http://name-that-only-the-proxy-knows.invalid/page')).toMatch(/:\nfrom the proxy$/);
  });
  expect(asked).toEqual(['http://name-that-only-the-proxy-knows.invalid/page']);
  proxy.closeAllConnections();
  proxy.close();
});
