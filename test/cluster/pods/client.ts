import { createServer, type IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { RegistryClient } from '../../../lib/registry-api/client.ts';
import { dial, PATIENCE_MS, reasonOf } from './dial.ts';
import type { Errand, Outcome } from './errand.ts';

// Runs in a client pod: does errands for a test, one per request, as an agent's host would that knows the registry's address and nothing else.

const CALL_MS = 60_000;

async function run(errand: Errand): Promise<Outcome> {
  switch (errand.do) {
    case 'call':
      return call(errand);
    case 'get':
      return get(errand.url);
    default:
      return dial(errand.host, errand.port);
  }
}

async function get(url: string): Promise<Outcome> {
  const response = await fetch(url, { signal: AbortSignal.timeout(PATIENCE_MS) });
  return { is: 'answered', status: response.status, body: (await response.text()).slice(0, 2000) };
}

async function call({ registry, server, tool, args, era }: Extract<Errand, { do: 'call' }>): Promise<Outcome> {
  const record = await new RegistryClient({ url: registry, timeoutMs: CALL_MS }).getVersion(server, 'latest');
  const url = record?.server.remotes?.[0]?.url;
  if (url === undefined) return { is: 'failed', reason: `the registry has no remote of ${server}` };
  const mode = era === 'modern' ? { pin: '2026-07-28' } : (era ?? 'auto');
  const client = new Client({ name: 'errand', version: '1' }, { versionNegotiation: { mode } });
  try {
    await client.connect(new StreamableHTTPClientTransport(new URL(url)), { timeout: CALL_MS });
    const result = await client.callTool({ name: tool, arguments: args }, { timeout: CALL_MS });
    const text = result.content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
    return { is: 'called', url, protocol: client.getNegotiatedProtocolVersion() ?? '', isError: result.isError === true, text };
  } finally {
    await client.close();
  }
}

createServer((request, response) => {
  if (request.method === 'GET') response.end('ready');
  else void answer(request).then((outcome) => response.setHeader('content-type', 'application/json').end(JSON.stringify(outcome)));
}).listen(8000);

async function answer(request: IncomingMessage): Promise<Outcome> {
  try {
    return await run((await json(request)) as Errand);
  } catch (error) {
    return { is: 'failed', reason: reasonOf(error) };
  }
}
