import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const home = join(import.meta.dirname, '..', '..', '..', '..');

/** mcp-server-fetch as clients start it, one process for each. */
export interface Incumbent {
  readonly clients: readonly Client[];
  readonly pids: readonly number[];
  close(): Promise<void>;
}

/** The Python that has it, installed if need be. @throws Error with what is missing */
export function incumbentPython(): string {
  const script = join(home, 'scripts', 'ensure-mcp-server-fetch');
  return execFileSync(script, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim();
}

/** @param count processes; each converts one page at a time */
export async function startIncumbent(count: number, args: readonly string[]): Promise<Incumbent> {
  const command = incumbentPython();
  const { PATH = '', HOME = '' } = process.env;
  // it starts Node for each page: compiled code is kept, which takes a third off
  const env = { PATH, HOME, NODE_COMPILE_CACHE: join(home, 'node_modules', '.cache', 'incumbent') };
  const started = await Promise.all(
    Array.from({ length: count }, async () => {
      const client = new Client({ name: 'test', version: '1' });
      const transport = new StdioClientTransport({ command, args: ['-m', 'mcp_server_fetch', ...args], env, stderr: 'ignore' });
      await client.connect(transport);
      return { client, pid: transport.pid ?? Number.NaN };
    }),
  );
  const clients = started.map(({ client }) => client);
  return {
    clients,
    pids: started.map(({ pid }) => pid),
    close: async () => void (await Promise.all(clients.map((client) => client.close()))),
  };
}
