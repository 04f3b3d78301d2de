import { once } from 'node:events';
import { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { runProcess } from '../../lib/http-host/process.ts';
import { createLog, type Log } from '../../lib/log.ts';
import { mcpHostSettings } from '../../lib/mcp-http/config.ts';
import { startMcpHost } from '../../lib/mcp-http/host.ts';
import { version } from '../../lib/version.ts';

const echoInput = z.object({ text: z.string().describe('what to say back') });
const noInput = z.object({});
const greetInput = z.object({ name: z.string().describe('whom to greet') });

/** A small server with tools, a prompt and a resource. */
function createServer(log: Log): McpServer {
  const server = new McpServer({ name: 'fixture', version });
  server.registerTool('echo', { description: 'Says back what it was told.', inputSchema: echoInput }, ({ text }) => ({
    content: [{ type: 'text', text }],
  }));
  server.registerTool('hold', { description: 'Answers when its caller has left.', inputSchema: noInput }, async (_input, { mcpReq }) => {
    log.info('holding');
    await once(mcpReq.signal, 'abort');
    return { content: [{ type: 'text', text: 'let go' }] };
  });
  server.registerPrompt('greet', { description: 'Asks for a greeting.', argsSchema: greetInput }, ({ name }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Greet ${name}.` } }],
  }));
  server.registerResource('about', 'fixture://about', { description: 'What this is.', mimeType: 'text/plain' }, (uri) => ({
    contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'a fixture' }],
  }));
  return server;
}

await runProcess('fixture', z.object(mcpHostSettings), (settings) => {
  const log = createLog('fixture', settings.LOG_LEVEL);
  return startMcpHost({ part: 'fixture', settings, createServer: () => createServer(log), ready: () => ({ ready: true }), log });
});
