import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { startServer, type ServerProcess } from '../mcp-http/server-process.ts';

/** A running sandbox server and clients of it. */
export async function startSandboxServer(env: Record<string, string>): Promise<ServerProcess> {
  const server = await startServer('mcp-servers/sandbox/main.ts', env);
  const deadline = performance.now() + 30_000;
  for (;;) {
    const answer = await fetch(`${server.url}/readyz`);
    const text = await answer.text();
    if (answer.ok) return server;
    if (performance.now() > deadline || !text.includes('finding out')) {
      await server.close();
      throw new Error(`the sandbox server is not ready: ${text}`);
    }
  }
}

export interface Answer {
  /** the structured result; empty when it failed */
  readonly given: Record<string, unknown>;
  /** all text */
  readonly text: string;
  readonly failed: boolean;
}

export class Caller {
  readonly #client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });

  static async connect(url: string, token?: string): Promise<Caller> {
    const caller = new Caller();
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    await caller.#client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }));
    return caller;
  }

  async call(name: string, input: Record<string, unknown> = {}, signal?: AbortSignal): Promise<Answer> {
    const result = await this.#client.callTool({ name, arguments: input }, { ...(signal !== undefined && { signal }), timeout: 120_000 });
    const text = result.content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
    return { given: (result.structuredContent ?? {}) as Record<string, unknown>, text, failed: result.isError === true };
  }

  async create(input: Record<string, unknown> = {}): Promise<string> {
    const { given, text } = await this.call('create_sandbox', input);
    if (typeof given['sandbox_claim_name'] !== 'string') throw new Error(text);
    return given['sandbox_claim_name'];
  }

  async schemas(): Promise<Map<string, { inputs: Schema; outputs: Schema | undefined }>> {
    const { tools } = await this.#client.listTools();
    return new Map(
      tools.map((tool) => [tool.name, { inputs: tool.inputSchema as Schema, outputs: tool.outputSchema as Schema | undefined }]),
    );
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}

export interface Schema {
  readonly properties?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly required?: readonly string[];
}
