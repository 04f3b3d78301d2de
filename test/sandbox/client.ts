import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { Client, StreamableHTTPClientTransport, type CallToolResult, type ContentBlock } from '@modelcontextprotocol/client';
import { serverEnvironment } from '../mcp-http/server-process.ts';

export interface RunningServer {
  readonly url: string;
  readonly pid: number;
  /** Ends it as a crash would, without a chance to clear up. */
  kill(): Promise<void>;
  /** Stops it in order and resolves with its exit code, null when a signal ended it. */
  close(): Promise<number | null>;
}

const START_TIMEOUT_MS = 30_000;

/**
 * Runs the sandbox server and resolves when sandboxes can be made.
 * @param uid run it as this user, which takes root
 * @throws Error with what it wrote, when it is not to be had
 */
export async function startSandboxServer(env: Record<string, string>, { uid }: { uid?: number } = {}): Promise<RunningServer> {
  const child = spawn(process.execPath, ['mcp-servers/sandbox/main.ts'], {
    env: serverEnvironment(env),
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(uid !== undefined && { uid, gid: uid }),
  });
  const exited = once(child, 'exit').then(([code]) => code as number | null);
  const url = await new Promise<string>((resolve, reject) => {
    let written = '';
    const fail = (what: string) => {
      child.kill('SIGKILL');
      reject(new Error(`the sandbox server ${what}: ${written}`));
    };
    const timer = setTimeout(() => fail(`was not ready within ${START_TIMEOUT_MS} ms`), START_TIMEOUT_MS);
    child.stderr.on('data', (chunk) => (written += chunk));
    createInterface({ input: child.stdout }).on('line', (line) => {
      written += `${line}\n`;
      if (line.includes('no sandbox can be started')) fail('has no isolation');
      const listening = /"url":"(http:[^"]+)".*"msg":"listening"/.exec(written)?.[1];
      if (listening !== undefined && written.includes('sandboxes can be started')) resolve(listening);
    });
    void exited.then((code) => fail(`ended with ${code}`)).finally(() => clearTimeout(timer));
  });
  return {
    url,
    pid: child.pid ?? 0,
    kill: async () => {
      child.kill('SIGKILL');
      await exited;
    },
    close: async () => {
      child.kill();
      return exited;
    },
  };
}

export interface Answer {
  /** the structured result; empty when it failed */
  readonly given: Record<string, unknown>;
  readonly content: readonly ContentBlock[];
  /** all text in it */
  readonly text: string;
  readonly failed: boolean;
}

export interface Schema {
  readonly properties?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly required?: readonly string[];
}

/** One client of a sandbox server. */
export class Caller {
  readonly #client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });

  static async connect(url: string, token?: string): Promise<Caller> {
    const caller = new Caller();
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    await caller.#client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }));
    return caller;
  }

  async call(name: string, input: Record<string, unknown> = {}, signal?: AbortSignal): Promise<Answer> {
    return answerOf(await this.#client.callTool({ name, arguments: input }, { ...(signal !== undefined && { signal }), timeout: 120_000 }));
  }

  /** A call whose progress is told. */
  async follow(name: string, input: Record<string, unknown>, told: (message: string) => void): Promise<Answer> {
    return answerOf(await this.#client.callTool({ name, arguments: input }, { onprogress: ({ message = '' }) => told(message) }));
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

function answerOf({ content, structuredContent, isError }: CallToolResult): Answer {
  const text = content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
  return { given: (structuredContent ?? {}) as Record<string, unknown>, content, text, failed: isError === true };
}
