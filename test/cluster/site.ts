import { createServer } from 'node:http';
import { createLog } from '../../lib/log.ts';
import { startMcpHost } from '../../lib/mcp-http/host.ts';
import { mcpHostSettings } from '../../lib/mcp-http/config.ts';
import { readConfig } from '../../lib/config.ts';
import { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

/** The public addresses outside of the cluster: a web site, also on port 443, where a policy would let a request out, and an MCP server. */
const page = '<!doctype html><title>Yard</title><h1>Yard</h1><p>The yard is open.</p>';

for (const port of [80, 443]) {
  createServer(({ url }, response) => {
    if (url === '/robots.txt') response.writeHead(404).end();
    else if (url === '/to-the-cluster') response.writeHead(302, { location: 'http://registry.toolyard.svc:8080/v0.1/servers' }).end();
    else response.writeHead(200, { 'content-type': 'text/html' }).end(page);
  }).listen(port, '0.0.0.0');
}

await startMcpHost({
  part: 'site',
  settings: readConfig(z.object(mcpHostSettings), { HOST: '0.0.0.0', PORT: '8000', METRICS_PORT: 'off', PUBLIC_HOSTS: 'site.test' }),
  createServer: () => new McpServer({ name: 'site', version: '1.0.0' }),
  ready: () => ({ ready: true }),
  log: createLog('site', 'info'),
});
