import { startServer } from '../mcp-http/server-process.ts';
import { conformanceSuite } from './suite.ts';

conformanceSuite({
  name: 'the MCP host',
  offers: ['prompts', 'resources'],
  call: { name: 'echo', arguments: { text: 'hello' } },
  start: () => startServer('test/mcp-http/fixture.ts'),
});
