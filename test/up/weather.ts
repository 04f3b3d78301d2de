import { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { runProcess } from '../../lib/http-host/process.ts';
import { createLog } from '../../lib/log.ts';
import { mcpHostSettings } from '../../lib/mcp-http/config.ts';
import { startMcpHost } from '../../lib/mcp-http/host.ts';

/** A small MCP server such as a team would declare: `PORT=9000 node test/up/weather.ts`. */
const forecastInput = z.object({ city: z.string().min(1), days: z.int().min(1).max(7).default(1) });
const forecastOutput = z.object({ city: z.string(), forecast: z.array(z.string()) });
const alertsInput = z.object({});

function createServer(): McpServer {
  const server = new McpServer({ name: 'weather', version: '1.0.0' });
  server.registerTool(
    'forecast',
    { description: 'Tells the weather of the next days.', inputSchema: forecastInput, outputSchema: forecastOutput },
    ({ city, days }) => {
      if (city === 'Atlantis') {
        return { isError: true, content: [{ type: 'text', text: 'there is no weather station in Atlantis: ask for a city on land' }] };
      }
      const forecast = Array.from({ length: days }, (_, day) => `day ${day + 1}: mild`);
      return { content: [{ type: 'text', text: `${city}: ${forecast.join(', ')}` }], structuredContent: { city, forecast } };
    },
  );
  server.registerTool('alerts', { description: 'Lists storm warnings.', inputSchema: alertsInput }, () => ({
    content: [{ type: 'text', text: 'no warnings' }],
  }));
  return server;
}

await runProcess('weather', z.object({ ...mcpHostSettings, METRICS_PORT: mcpHostSettings.METRICS_PORT.default('off') }), (settings) =>
  startMcpHost({ part: 'weather', settings, createServer, ready: () => ({ ready: true }), log: createLog('weather', settings.LOG_LEVEL) }),
);
