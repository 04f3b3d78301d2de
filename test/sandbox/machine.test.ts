import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLog } from '../../lib/log.ts';
import type { SandboxError } from '../../mcp-servers/sandbox/backend.ts';
import { LocalBackend, type LocalSettings } from '../../mcp-servers/sandbox/local/backend.ts';
import { processTree } from '../../mcp-servers/sandbox/local/processes.ts';
import { forEachIsolation, runsc } from './isolations.ts';
import { Guest, patience, suiteSettings } from './suite.ts';

let directory: string;
let stateDir: string;
let backend: LocalBackend;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'toyd-machine-'));
  stateDir = join(directory, 'state');
});
afterEach(async () => {
  await backend.close();
  rmSync(directory, { recursive: true, force: true });
});

function open(settings: Partial<LocalSettings>): LocalBackend {
  const log = createLog('test', 'silent');
  return (backend = new LocalBackend({ ...suiteSettings, isolation: 'auto', runsc, stateDir, warm: 0, ...settings }, log));
}

forEachIsolation('the local backend', (isolation) => {
  test('a state directory that is removed costs one start at most: the next finds another, and sandboxes that live go on', async () => {
    const old = new Guest(open({ isolation }), 'sb-old');
    await old.create();
    rmSync(stateDir, { recursive: true });
    const next = new Guest(backend, 'sb-next');
    await next.create().catch(() => next.create());
    expect((await next.run('echo new')).stdout).toBe('new\n');
    expect((await old.run('echo old')).stdout).toBe('old\n');
  });

  test('where the state directory cannot be made again nothing is ready, and the reason names it', async () => {
    const old = new Guest(open({ isolation }), 'sb-old');
    await old.create();
    rmSync(stateDir, { recursive: true });
    writeFileSync(stateDir, 'in the way');
    const refused = () =>
      new Guest(backend, 'sb-next').create().then(
        () => 'created',
        ({ code }: SandboxError) => code,
      );
    expect(['failed', 'not-ready']).toContain(await refused());
    expect(await refused()).toBe('not-ready');
    expect(backend.ready()).toMatchObject({ ready: false, reason: expect.stringContaining(stateDir) as string });
    expect((await old.run('echo old')).stdout).toBe('old\n');
  });

  test('a sandbox that does not answer takes no more than it may have under way, and answers again when it can', async () => {
    const stuck = new Guest(open({ isolation }), 'sb-stuck');
    await stuck.create();
    await stuck.write('file', 'kept');
    const signal = new AbortController().signal;
    const asked = () => backend.fileExists(stuck.handle, { path: 'file', timeoutMs: 20, signal }).catch(({ code }: SandboxError) => code);
    const answers: unknown[] = [];
    await heldStill(async () => {
      for (let round = 0; round < 17; round += 1) answers.push(await asked());
    });
    expect(answers).toEqual([...Array<string>(16).fill('timeout'), 'busy']);
    await expect.poll(() => stuck.read('file').catch(({ code }: SandboxError) => code), patience).toBe('kept');
  });
});

test('to stop does not wait for an isolation that hangs while it is tried', async () => {
  const program = join(directory, 'runsc');
  writeFileSync(program, '#!/bin/sh\nexec sleep 1000\n', { mode: 0o755 });
  const hanging = open({ isolation: 'gvisor', runsc: program });
  await expect.poll(() => existsSync(stateDir), patience).toBe(true);
  const startedAt = performance.now();
  await hanging.close();
  expect(performance.now() - startedAt).toBeLessThan(15_000);
  expect(readdirSync(stateDir)).toEqual([]);
});

/** Acts while none of the programs that hold this process's sandboxes gets to run. */
async function heldStill(act: () => Promise<void>): Promise<void> {
  const holding = (pid: number) => /\/opt\/toolyard|toyd-machine/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
  const held = processTree(process.pid).filter((pid) => pid !== process.pid && holding(pid));
  expect(held).not.toEqual([]);
  for (const pid of held) process.kill(pid, 'SIGSTOP');
  try {
    await act();
  } finally {
    for (const pid of held) process.kill(pid, 'SIGCONT');
  }
}
