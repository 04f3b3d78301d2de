import { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { readConfig } from '../../lib/config.ts';
import { createLog } from '../../lib/log.ts';
import { mcpHostSettings } from '../../lib/mcp-http/config.ts';
import { startMcpHost } from '../../lib/mcp-http/host.ts';

// Forked by farm.ts: serves as many MCP endpoints as it is told, each on a port of its own, and keeps count of who was asked when.

/** As many tools as a server of the public registry has on average. */
const TOOLS = 9;
const input = z.object({
  query: z.string().min(1).describe('what to look for'),
  project: z.string().optional().describe('only in this project'),
  limit: z.int().min(1).max(100).default(20).describe('how many at most'),
});

export type Asked = { readonly do: 'serve'; readonly endpoints: number } | { readonly do: 'count' };
export type Told =
  | { readonly is: 'serving'; readonly urls: readonly string[] }
  /** since the last count, or the start: requests to all, and the longest time in which one endpoint was not asked at all */
  | { readonly is: 'counted'; readonly requests: number; readonly longestSilenceMs: number };

interface Endpoint {
  requests: number;
  askedAt: number;
  longestSilenceMs: number;
}

const endpoints: Endpoint[] = [];

process.on('disconnect', () => process.exit(0));
process.on('message', (asked: Asked) => {
  if (asked.do === 'count') tell({ is: 'counted', ...count() });
  else void serve(asked.endpoints).then((urls) => tell({ is: 'serving', urls }));
});

function tell(told: Told): void {
  process.send?.(told);
}

async function serve(many: number): Promise<string[]> {
  const settings = readConfig(z.object(mcpHostSettings), { PORT: '0', METRICS_PORT: 'off' });
  const log = createLog('endpoint', 'error');
  const urls: string[] = [];
  while (urls.length < many) {
    const endpoint = { requests: 0, askedAt: performance.now(), longestSilenceMs: 0 };
    endpoints.push(endpoint);
    const createServer = (): McpServer => {
      noteRequest(endpoint);
      return server();
    };
    const host = await startMcpHost({ part: 'endpoint', settings, createServer, ready: () => ({ ready: true }), log });
    urls.push(`${host.url}/mcp`);
  }
  return urls;
}

function server(): McpServer {
  const mcp = new McpServer({ name: 'tickets', version: '1.0.0' });
  for (let tool = 1; tool <= TOOLS; tool += 1) {
    const description = `Finds tickets of kind ${tool} by their words, newest first, with their state and who works on them.`;
    mcp.registerTool(`find_tickets_${tool}`, { description, inputSchema: input }, () => ({ content: [] }));
  }
  return mcp;
}

function noteRequest(endpoint: Endpoint): void {
  const now = performance.now();
  endpoint.requests += 1;
  endpoint.longestSilenceMs = Math.max(endpoint.longestSilenceMs, now - endpoint.askedAt);
  endpoint.askedAt = now;
}

function count(): { requests: number; longestSilenceMs: number } {
  const now = performance.now();
  const requests = endpoints.reduce((sum, endpoint) => sum + endpoint.requests, 0);
  // a silence that goes on counts as long as it is so far
  const longestSilenceMs = Math.max(...endpoints.map((endpoint) => Math.max(endpoint.longestSilenceMs, now - endpoint.askedAt)));
  for (const endpoint of endpoints) Object.assign(endpoint, { requests: 0, longestSilenceMs: 0 });
  return { requests, longestSilenceMs };
}
