import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { startServer } from '../mcp-http/server-process.ts';
import { conformanceSuite } from './suite.ts';

const state = mkdtempSync(join(tmpdir(), 'toolyard-sandbox-'));

afterAll(() => rmSync(state, { recursive: true, force: true }));

conformanceSuite({
  name: 'the sandbox server',
  offers: [],
  call: { name: 'get_sandbox_config', arguments: {} },
  start: () => startServer('mcp-servers/sandbox/main.ts', { STATE_DIR: state, SANDBOX_WARM: '0' }),
});
