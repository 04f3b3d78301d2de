import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { readConfig } from '../../lib/config.ts';
import { sandboxConfig } from './config.ts';
import { startSandbox } from './main.ts';

const directory = mkdtempSync(join(tmpdir(), 'toyd-sandbox-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

test.each([
  ['is not there', undefined, 'accepts a readable file'],
  ['is too short', 'c0ffee', 'accepts a file with 64 hexadecimal digits'],
  ['is not hexadecimal', 'g'.repeat(64), 'accepts a file with 64 hexadecimal digits'],
])('a handle key that %s stops the start, is named, and never shown', async (what, content, message) => {
  const path = join(directory, what);
  if (content !== undefined) writeFileSync(path, content);
  const started = startSandbox(readConfig(sandboxConfig, { SANDBOX_HANDLE_KEY_FILE: path }));
  await expect(started).rejects.toThrow(`SANDBOX_HANDLE_KEY_FILE: got ${JSON.stringify(path)}, ${message}`);
  await expect(started).rejects.not.toThrow(content ?? 'c0ffee');
});
