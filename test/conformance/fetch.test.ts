import { startServer } from '../mcp-http/server-process.ts';
import { conformanceSuite } from './suite.ts';

conformanceSuite({
  name: 'the fetch server',
  offers: ['prompts'],
  // refused, which is a result too, and needs no network
  call: { name: 'fetch', arguments: { url: 'http://127.0.0.1:9/' } },
  start: () => startServer('mcp-servers/fetch/main.ts'),
});
