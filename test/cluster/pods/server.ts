import { hostname } from 'node:os';
import { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { runProcess } from '../../../lib/http-host/process.ts';
import { createLog } from '../../../lib/log.ts';
import { mcpHostSettings } from '../../../lib/mcp-http/config.ts';
import { startMcpHost } from '../../../lib/mcp-http/host.ts';

/** An MCP server as a team would run it: one tool, which says which pod answered. */
function createServer(): McpServer {
  const server = new McpServer({ name: 'whoami', version: '1.0.0' });
  server.registerTool('whoami', { description: 'The name of the pod that answers' }, () => ({
    content: [{ type: 'text', text: hostname() }],
  }));
  return server;
}

await runProcess('server', z.object(mcpHostSettings), (settings) =>
  startMcpHost({ part: 'server', settings, createServer, ready: () => ({ ready: true }), log: createLog('server', settings.LOG_LEVEL) }),
);
