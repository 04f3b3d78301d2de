import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { processesNaming, processTree } from '../../mcp-servers/sandbox/local/processes.ts';
import { cgroupPlace } from '../../mcp-servers/sandbox/local/cgroup.ts';
import { Caller, startSandboxServer, type RunningServer } from './client.ts';
import { forEachIsolation, runsc } from './isolations.ts';
import { patience } from './suite.ts';

forEachIsolation('a sandbox server', (isolation) => {
  let state: string;
  let env: Record<string, string>;
  let server: RunningServer;
  let caller: Caller;

  beforeAll(async () => {
    state = mkdtempSync(join(tmpdir(), 'toyd-killed-'));
    env = { SANDBOX_ISOLATION: isolation, STATE_DIR: state, ...(runsc !== undefined && { RUNSC: runsc }) };
    server = await startSandboxServer({ ...env, SANDBOX_WARM: '0', SANDBOX_IDLE_SECONDS: '2' });
    caller = await Caller.connect(server.url);
  });
  afterAll(async () => {
    await caller?.close();
    await server?.kill();
    rmSync(state, { recursive: true, force: true });
  });

  test('that is killed takes every process of its sandboxes with it; its successor removes what is left, and that alone', async () => {
    const killed = await startSandboxServer(env);
    const doomed = await Caller.connect(killed.url);
    const command = '(setsid sleep 300 &); sleep 300';
    const running = doomed.call('execute_command', { sandbox_claim_name: await doomed.create(), command }).catch(() => 'cut off');
    await vi.waitUntil(() => processTree(killed.pid).length > 3, patience);
    const tree = processTree(killed.pid);
    await killed.kill();
    await vi.waitUntil(() => !tree.some(alive), patience);
    expect(await running).toBe('cut off');
    await doomed.close().catch(() => {});

    const left = readdirSync(state).find((run) => run.startsWith(`run-${killed.pid}-`)) ?? 'nothing';
    expect(readdirSync(state)).toHaveLength(2);
    const successor = await startSandboxServer(env);
    expect(readdirSync(state)).toHaveLength(2);
    expect(readdirSync(state)).not.toContain(left);
    expect(groupsNamed(`toolyard-${left}`)).toEqual([]);
    expect(processesNaming(join(state, left))).toEqual([]);
    expect(await successor.close()).toBe(0);
  });

  test('does not take a running program for a sandbox that goes unused', async () => {
    const { given } = await caller.call('run_code', { language: 'bash', code: 'sleep 2.3; echo done' });
    expect(given).toMatchObject({ stdout: 'done\n', exit_code: 0 });
  });

  test('that is told to stop waits for no command, tells their callers, and leaves nothing', async () => {
    const place = { sandbox_claim_name: await caller.create() };
    const running = caller.call('execute_command', { ...place, command: 'touch begun; sleep 300', timeout: 300 });
    await vi.waitUntil(async () => (await caller.call('file_exists', { ...place, path: 'begun' })).given['exists'], patience);
    const stopped = server.close();
    expect((await running).text).toMatch(/^ended: .*the server was stopped/);
    expect(await stopped).toBe(0);
    expect(readdirSync(state)).toEqual([]);
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
