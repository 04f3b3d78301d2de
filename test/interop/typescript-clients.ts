import { Client as V2Client, StreamableHTTPClientTransport as V2Transport } from '@modelcontextprotocol/client';
import { Client as V1Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as V1Transport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { McpClient, Result, Seen, Visit } from './visit.ts';

/** What the clients of both SDKs have in common. */
interface Session {
  readonly revision: string | undefined;
  listTools(): Promise<{ tools: readonly { name: string }[] }>;
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<object>;
  getPrompt(prompt: { name: string; arguments: Record<string, string> }): Promise<{ messages: readonly { content: object }[] }>;
  close(): Promise<void>;
}

/** The two TypeScript SDKs. What each era's protocol demands is tested in test/conformance; here they are two clients of many. */
export const typescriptClients: readonly McpClient[] = [
  { name: 'the TypeScript SDK v1', revision: '2025-11-25', visit: async (visit) => visitWith(await connectV1(visit.url), visit) },
  { name: 'the TypeScript SDK v2', revision: '2025-11-25', visit: async (visit) => visitWith(await connectV2(visit.url, 'legacy'), visit) },
  { name: 'the TypeScript SDK v2', revision: '2026-07-28', visit: visitWithV2 },
];

export async function visitWithV2(visit: Visit): Promise<Seen> {
  return visitWith(await connectV2(visit.url, 'auto'), visit);
}

async function connectV1(url: string): Promise<Session> {
  const client = new V1Client({ name: 'interop', version: '1' });
  const transport = new V1Transport(new URL(url));
  await client.connect(transport);
  return Object.assign(client, { revision: transport.protocolVersion });
}

async function connectV2(url: string, mode: 'legacy' | 'auto'): Promise<Session> {
  const client = new V2Client({ name: 'interop', version: '1' }, { versionNegotiation: { mode } });
  await client.connect(new V2Transport(new URL(url)));
  return Object.assign(client, { revision: client.getNegotiatedProtocolVersion() });
}

async function visitWith(session: Session, { calls, prompt }: Visit): Promise<Seen> {
  const { tools } = await session.listTools();
  const results: Result[] = [];
  for (const call of calls) results.push(resultOf(await session.callTool(call)));
  const given = prompt && (await session.getPrompt({ name: prompt.name, arguments: prompt.arguments as Record<string, string> }));
  await session.close();
  return {
    revision: session.revision ?? '',
    tools: tools.map(({ name }) => name),
    results,
    prompt: given && given.messages.map(({ content }) => textOf(content)).join('\n'),
  };
}

function resultOf(given: object): Result {
  const { content, structuredContent, isError } = given as {
    content: object[];
    structuredContent?: Record<string, unknown>;
    isError?: boolean;
  };
  return { text: content.map(textOf).join('\n'), structured: structuredContent ?? null, isError: isError === true };
}

function textOf(block: object): string {
  return 'text' in block && typeof block.text === 'string' ? block.text : '';
}
