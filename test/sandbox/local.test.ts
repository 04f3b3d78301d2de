import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { createLog } from '../../lib/log.ts';
import { LocalBackend } from '../../mcp-servers/sandbox/local/backend.ts';
import { forEachIsolation, runsc } from './isolations.ts';
import { sandboxBackendSuite, suiteSettings } from './suite.ts';

const stateDir = mkdtempSync(join(tmpdir(), 'toyd-local-'));
afterAll(() => rmSync(stateDir, { recursive: true, force: true }));

forEachIsolation('the local backend', (isolation) => {
  sandboxBackendSuite(async () => new LocalBackend({ ...suiteSettings, isolation, runsc, stateDir, warm: 1 }, createLog('test', 'silent')));
});
