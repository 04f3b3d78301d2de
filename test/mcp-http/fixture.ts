import { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { runProcess } from '../../lib/http-host/process.ts';
import { createLog } from '../../lib/log.ts';
import { mcpHostSettings } from '../../lib/mcp-http/config.ts';
import { startMcpHost } from '../../lib/mcp-http/host.ts';
import { version } from '../../lib/version.ts';

const echoInput = z.object({ text: z.string().describe('what to say back') });

function createServer(): McpServer {
  const server = new McpServer({ name: 'fixture', version });
  server.registerTool('echo', { description: 'Says back what it was told.', inputSchema: echoInput }, ({ text }) => ({
    content: [{ type: 'text', text }],
  }));
  return server;
}

await runProcess('fixture', z.object(mcpHostSettings), (settings) =>
  startMcpHost({ part: 'fixture', settings, createServer, ready: () => ({ ready: true }), log: createLog('fixture', settings.LOG_LEVEL) }),
);
