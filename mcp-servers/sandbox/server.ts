import { McpServer, type CallToolResult, type ContentBlock, type ServerContext } from '@modelcontextprotocol/server';
import type { Log } from '../../lib/log.ts';
import type { McpCall } from '../../lib/mcp-http/host.ts';
import { version } from '../../lib/version.ts';
import { SandboxError, type Placement } from './backend.ts';
import { Calls, type Watching } from './calls.ts';
import { reporterFor } from './progress.ts';
import type { Sandboxes } from './sandboxes.ts';
import { tools } from './tools.ts';

export interface SandboxServerOptions {
  readonly sandboxes: Sandboxes;
  /** of sandboxes whose caller names none */
  readonly placement: Placement;
  readonly log: Log;
}

const instructions = [
  'Runs code in sandboxes without network and with limits on memory, processes, disk and time.',
  'run_code runs one program and needs nothing before.',
  'For steps that build on each other: create_sandbox, then execute_command and the file tools with its sandbox_claim_name, at the end delete_sandbox.',
].join(' ');

/** The MCP server as one request of one caller sees it. */
export function createSandboxServer({ sandboxes, placement, log }: SandboxServerOptions, { principal }: McpCall): McpServer {
  const server = new McpServer({ name: 'toolyard-sandbox', title: 'toolyard sandbox', version }, { instructions });
  const calls = new Calls(sandboxes, placement, principal);
  const answer = answering(log);
  server.registerTool('create_sandbox', tools.create_sandbox, (input, { mcpReq }) => answer(() => calls.create(input, mcpReq.signal)));
  server.registerTool('delete_sandbox', tools.delete_sandbox, (input) => answer(() => calls.delete(input)));
  server.registerTool('execute_command', tools.execute_command, (input, context) =>
    answer(() => watched(context, (watching) => calls.execute(input, watching))),
  );
  server.registerTool('upload_file', tools.upload_file, (input, { mcpReq }) => answer(() => calls.upload(input, mcpReq.signal)));
  server.registerTool('download_file', tools.download_file, (input, { mcpReq }) => answer(() => calls.download(input, mcpReq.signal)));
  server.registerTool('list_files', tools.list_files, (input, { mcpReq }) => answer(() => calls.list(input, mcpReq.signal)));
  server.registerTool('file_exists', tools.file_exists, (input, { mcpReq }) => answer(() => calls.exists(input, mcpReq.signal)));
  server.registerTool('delete_file', tools.delete_file, (input, { mcpReq }) => answer(() => calls.remove(input, mcpReq.signal)));
  server.registerTool('move_file', tools.move_file, (input, { mcpReq }) => answer(() => calls.move(input, mcpReq.signal)));
  server.registerTool('make_directory', tools.make_directory, (input, { mcpReq }) =>
    answer(() => calls.makeDirectory(input, mcpReq.signal)),
  );
  server.registerTool('search_files', tools.search_files, (input, { mcpReq }) => answer(() => calls.search(input, mcpReq.signal)));
  server.registerTool('list_sandboxes', tools.list_sandboxes, () => answer(() => calls.sandboxes()));
  server.registerTool('get_sandbox_status', tools.get_sandbox_status, (input) => answer(() => calls.status(input)));
  server.registerTool('get_sandbox_config', tools.get_sandbox_config, () => answer(async () => calls.config()));
  server.registerTool('run_code', tools.run_code, (input, context) =>
    answer(async (show) => {
      const { output, content } = await watched(context, (watching) => calls.runCode(input, watching));
      show(content);
      return output;
    }),
  );
  return server;
}

/** Runs what a client may follow by its progress. */
async function watched<T>(context: ServerContext, act: (watching: Watching) => Promise<T>): Promise<T> {
  const { onOutput, stop } = reporterFor(context);
  try {
    return await act({ signal: context.mcpReq.signal, onOutput });
  } finally {
    stop();
  }
}

type Act = (show: (more: readonly ContentBlock[]) => void) => Promise<Record<string, unknown> | void>;

/** A tool's result: what it gave, as an object and as the same in JSON, and what it shows beside; or its failure, in words that begin with the error's code. */
function answering(log: Log): (act: Act) => Promise<CallToolResult> {
  return async (act) => {
    const shown: ContentBlock[] = [];
    try {
      const structuredContent = await act((more) => void shown.push(...more));
      if (structuredContent === undefined) return { content: [{ type: 'text', text: 'done' }] };
      return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }, ...shown], structuredContent };
    } catch (error) {
      if (error instanceof SandboxError) return failure(error.code, error.message);
      log.error({ err: error }, 'a tool failed in a way it should not');
      return failure('failed', 'the server made a mistake; its log says more. Try again, in a new sandbox if it goes on');
    }
  };
}

function failure(code: string, message: string): CallToolResult {
  return { content: [{ type: 'text', text: `${code}: ${message}` }], isError: true };
}
