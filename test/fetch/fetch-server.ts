import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { startServer, type ServerProcess } from '../mcp-http/server-process.ts';

export interface Told {
  readonly text: string;
  readonly isError: boolean;
}

/** The fetch server as a process of its own, and a real client of it. */
export interface FetchServer {
  readonly process: ServerProcess;
  readonly client: Client;
  fetch(url: string, options?: Record<string, unknown>, signal?: AbortSignal): Promise<Told>;
  /** the text of the prompt's one message */
  prompt(url: string): Promise<string>;
  /** one request as it stands on the wire, 2025 era, and its answer */
  exchange(method: string, params: Record<string, unknown>): Promise<{ result?: Record<string, unknown>; error?: Record<string, unknown> }>;
  close(): Promise<unknown>;
}

/** A client of a fetch server, with the token of its caller if it needs one; of the 2025 era unless pinned to another. */
export async function connectTo({ url }: ServerProcess, token?: string, pin?: '2026-07-28'): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, pin === undefined ? {} : { versionNegotiation: { mode: { pin } } });
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }));
  return client;
}

export async function startFetchServer(
  env: Record<string, string>,
  token?: string,
  main = 'mcp-servers/fetch/main.ts',
): Promise<FetchServer> {
  const process = await startServer(main, env);
  const client = await connectTo(process, token);
  return {
    process,
    client,
    async fetch(url, options = {}, signal?) {
      const call = { name: 'fetch', arguments: { url, ...options } };
      const result = await client.callTool(call, signal === undefined ? {} : { signal });
      const [content] = result.content;
      return { text: content?.type === 'text' ? content.text : '', isError: result.isError === true };
    },
    async prompt(url) {
      const { messages } = await client.getPrompt({ name: 'fetch', arguments: { url } });
      const [message] = messages;
      return message?.role === 'user' && message.content.type === 'text' ? message.content.text : '';
    },
    async exchange(method, params) {
      const headers = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
      const response = await fetch(`${process.url}/mcp`, { method: 'POST', headers, body });
      const data = /^data: (.*)$/m.exec(await response.text())?.[1];
      return JSON.parse(data ?? '{}') as { result?: Record<string, unknown>; error?: Record<string, unknown> };
    },
    close: async () => {
      await client.close();
      return process.close();
    },
  };
}
