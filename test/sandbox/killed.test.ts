import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { processesNaming, processTree } from '../../mcp-servers/sandbox/local/processes.ts';
import { cgroupPlace } from '../../mcp-servers/sandbox/local/cgroup.ts';
import { Caller, startSandboxServer } from './client.ts';
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
