import { Client, StreamableHTTPClientTransport, type CallToolResult } from '@modelcontextprotocol/client';
import { RegistryClient } from '../lib/registry-api/client.ts';
import { RegistryError } from '../lib/registry-api/errors.ts';
import type { ServerRecord } from '../lib/registry-api/server-json.ts';
import { version } from '../lib/version.ts';
import { CliError, exit } from './exit.ts';

/** Long enough for a sandbox to run a program for its full ten minutes. */
const CALL_TIMEOUT_MS = 11 * 60_000;
const CONNECT_TIMEOUT_MS = 15_000;

export function registryClient(url: string): RegistryClient {
  return new RegistryClient({ url, timeoutMs: 10_000 });
}

/**
 * Finds a record as any client would: the latest version of that name. A word without a slash is taken for the part after it, when that
 * names one record only.
 * @throws CliError `notFound` or `unreachable`
 */
export async function findRecord(registry: RegistryClient, name: string): Promise<ServerRecord> {
  return await asking(async () => {
    const full = name.includes('/') ? name : await fullName(registry, name);
    const record = await registry.getVersion(full, 'latest');
    if (record !== undefined) return record;
    throw notThere(registry, full, full);
  });
}

function notThere({ url }: RegistryClient, what: string, name: string): CliError {
  return new CliError(exit.notFound, `the registry ${url} has no server ${what}`, {
    next: `toolyard explain ${name} says why; toolyard servers lists what there is`,
  });
}

async function fullName(registry: RegistryClient, short: string): Promise<string> {
  const records = await registry.listAll({ version: 'latest' });
  const names = records.map(({ server }) => server.name).filter((name) => name.endsWith(`/${short}`));
  const [only, ...others] = names;
  if (only !== undefined && others.length === 0) return only;
  if (only === undefined) throw notThere(registry, `named …/${short}`, short);
  throw new CliError(exit.usage, `${short} is the end of several names`, { next: `use one of ${names.join(', ')}` });
}

/** Runs something that asks the registry; its failures become messages with a next step. */
export async function asking<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof RegistryError)) throw error;
    throw new CliError(exit.unreachable, error.message, {
      next: 'is toolyard up running? another registry is given with --registry URL',
      cause: error,
    });
  }
}

/** The address under which clients reach a record. */
export function addressOf({ server }: ServerRecord): string {
  const remote = server.remotes?.find(({ type }) => type === 'streamable-http');
  if (remote?.url === undefined) {
    throw new CliError(exit.no, `${server.name} ${server.version} has no streamable-http remote`, {
      next: 'toolyard calls servers over streamable HTTP only; packages run where they are installed',
    });
  }
  if (remote.url.includes('{')) {
    throw new CliError(exit.no, `the address of ${server.name}, ${remote.url}, has variables`, {
      next: 'connect a client that can fill them in',
    });
  }
  return remote.url;
}

/** A connection to one MCP server, in whichever era of the protocol it speaks. */
export interface Connection {
  readonly client: Client;
  call(tool: string, args: Record<string, unknown>, signal?: AbortSignal): Promise<CallToolResult>;
  close(): Promise<void>;
}

/** @throws CliError `unreachable` when nobody answers there, or nobody who speaks MCP */
export async function connect(url: string, headers: Readonly<Record<string, string>> = {}): Promise<Connection> {
  const client = new Client({ name: 'toolyard', version }, { versionNegotiation: { mode: 'auto' } });
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { ...headers } } });
  try {
    await client.connect(transport, { timeout: CONNECT_TIMEOUT_MS });
  } catch (cause) {
    await client.close().catch(() => undefined);
    throw new CliError(exit.unreachable, `${url} does not answer as an MCP server: ${reasonOf(cause)}`, {
      next: 'start that server, or see what the operator found: toolyard servers',
      cause,
    });
  }
  return {
    client,
    call: (name, args, signal) =>
      client.callTool({ name, arguments: args }, { timeout: CALL_TIMEOUT_MS, ...(signal !== undefined && { signal }) }),
    async close() {
      await transport.terminateSession().catch(() => undefined);
      await client.close();
    },
  };
}

/** A failure with what caused it, down to the innermost reason: `fetch failed` alone tells nobody anything. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // of several addresses that were tried in vain the first is as good a reason as any
  const inner: unknown = error instanceof AggregateError ? error.errors[0] : error.cause;
  const message = error.message || (inner === undefined ? error.name : '');
  if (!(inner instanceof Error)) return message;
  const rest = reasonOf(inner);
  if (message === '' || rest.startsWith(message)) return rest;
  // many repeat the message of their cause
  return inner.message !== '' && message.endsWith(inner.message) ? message + rest.slice(inner.message.length) : `${message}: ${rest}`;
}

/** All text of a tool's result, its parts one below the other; what is not text is described. */
export function textOf(result: CallToolResult): string {
  return result.content.map(describeBlock).join('\n');
}

function describeBlock(block: CallToolResult['content'][number]): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'image':
    case 'audio':
      return `[${block.type} ${block.mimeType}, ${Buffer.byteLength(block.data, 'base64')} bytes]`;
    case 'resource_link':
      return `[resource ${block.uri}]`;
    default:
      return 'text' in block.resource ? block.resource.text : `[resource ${block.resource.uri}]`;
  }
}
