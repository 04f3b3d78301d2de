import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLog } from '../../../lib/log.ts';
import { inspectHost } from './host.ts';
import { Site } from './site.ts';

const limits = { memoryBytes: 2 ** 28, diskBytes: 2 ** 20, processes: 16, cpus: 1 };
const log = createLog('test', 'silent');
let stateDir: string;
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'toyd-site-'));
});
afterEach(() => rmSync(stateDir, { recursive: true, force: true }));

test('a site that cannot be made leaves nothing behind', async () => {
  const host = { ...inspectHost(), etc: ['/no/such/file'] };
  await expect(Site.open(host, { stateDir, limits }, log)).rejects.toThrow('ENOENT');
  expect(readdirSync(stateDir)).toEqual([]);
});

test('a site that is closed leaves nothing behind', async () => {
  const site = await Site.open(inspectHost(), { stateDir, limits }, log);
  expect(readdirSync(stateDir)).toHaveLength(1);
  await site.close();
  expect(readdirSync(stateDir)).toEqual([]);
});

test('a sandbox whose files are gone is refused at once', async () => {
  const site = await Site.open(inspectHost(), { stateDir, limits }, log);
  const launch = { argv: ['/bin/true'], files: [join(stateDir, 'not-there')], memoryMounts: [] };
  const isolation = { name: 'bubblewrap', commandPrefix: [], guarantees: [], launch: () => launch } as const;
  expect(() => site.start(isolation)).toThrow('ENOENT');
  await site.close();
  expect(readdirSync(stateDir)).toEqual([]);
});
