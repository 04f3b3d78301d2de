import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { processesNaming, processTree } from '../../mcp-servers/sandbox/local/processes.ts';
import { cgroupPlace } from '../../mcp-servers/sandbox/local/cgroup.ts';
import { Caller, startSandboxServer, type RunningServer } from './client.ts';
import { forEachIsolation, runsc } from './isolations.ts';

forEachIsolation((isolation) => {
  describe(`a sandbox server under ${isolation} that is killed`, () => {
    test('takes every process of its sandboxes with it, and its successor removes what is left', async () => {
      const state = mkdtempSync(join(tmpdir(), 'toyd-killed-'));
      const env = { SANDBOX_ISOLATION: isolation, STATE_DIR: state, ...(runsc !== undefined && { RUNSC: runsc }) };
      const server = await startSandboxServer(env);
      const caller = await Caller.connect(server.url);
      const name = await caller.create();
      const running = caller
        .call('execute_command', { sandbox_claim_name: name, command: '(setsid sleep 300 &); sleep 300' })
        .catch(() => 'cut off');
      await expect.poll(() => processTree(server.pid).length, { timeout: 10_000 }).toBeGreaterThan(3);
      const tree = processTree(server.pid);
      const bystander = await startSandboxServer({ ...env, SANDBOX_WARM: '0' });

      await server.kill();
      await expect.poll(() => tree.filter(alive), { timeout: 5_000 }).toEqual([]);
      expect(await running).toBe('cut off');
      await caller.close().catch(() => {});

      const left = readdirSync(state).find((run) => run.startsWith(`run-${server.pid}-`));
      expect(left).toBeDefined();
      const successor = await startSandboxServer(env);
      expect(readdirSync(state)).not.toContain(left);
      expect(groupsNamed(`toolyard-${left}`)).toEqual([]);
      expect(processesNaming(join(state, left ?? ''))).toEqual([]);
      // the one that lives is left alone, and works
      const other = await Caller.connect(bystander.url);
      expect((await other.call('run_code', { language: 'bash', code: 'echo alive' })).given).toMatchObject({ stdout: 'alive\n' });
      await other.close();

      expect(await Promise.all([successor.close(), bystander.close()])).toEqual([0, 0]);
      expect(readdirSync(state)).toEqual([]);
      rmSync(state, { recursive: true });
    });
  });
});

forEachIsolation((isolation) => {
  describe(`a sandbox server under ${isolation}`, () => {
    let state: string;
    let server: RunningServer;
    let caller: Caller;

    beforeAll(async () => {
      state = mkdtempSync(join(tmpdir(), 'toyd-stopped-'));
      const env = { SANDBOX_ISOLATION: isolation, STATE_DIR: state, SANDBOX_IDLE_SECONDS: '2' };
      server = await startSandboxServer({ ...env, ...(runsc !== undefined && { RUNSC: runsc }) });
      caller = await Caller.connect(server.url);
    });
    afterAll(async () => {
      await caller.close();
      rmSync(state, { recursive: true, force: true });
    });

    test('does not take a running program for a sandbox that goes unused', async () => {
      const { given } = await caller.call('run_code', { language: 'bash', code: 'sleep 2.3; echo done' });
      expect(given).toMatchObject({ stdout: 'done\n', exit_code: 0 });
    });

    test('waits for no command when it is told to stop, tells their callers, and leaves nothing', async () => {
      const name = await caller.create();
      const place = { sandbox_claim_name: name };
      const running = caller.call('execute_command', { ...place, command: 'touch begun; sleep 300', timeout: 300 });
      await expect
        .poll(() => caller.call('file_exists', { ...place, path: 'begun' }), { timeout: 10_000 })
        .toMatchObject({ given: { exists: true } });
      const stopped = server.close();
      expect((await running).text).toMatch(/^ended: .*the server was stopped/);
      expect(await stopped).toBe(0);
      expect(readdirSync(state)).toEqual([]);
    });
  });
});

function alive(pid: number): boolean {
  const [, state] = /^State:\s+(\S)/m.exec(read(`/proc/${pid}/status`)) ?? [];
  return state !== undefined && state !== 'Z' && state !== 'X';
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Control groups of that name which are still there. */
function groupsNamed(name: string): string[] {
  const place = cgroupPlace(read('/proc/self/mountinfo'), read('/proc/self/cgroup'));
  if (place === undefined) return [];
  const parents = place.version === 1 ? [place.memory, place.cpu] : [place.directory];
  return parents.flatMap((parent) => readdirSync(parent)).filter((entry) => entry === name);
}
