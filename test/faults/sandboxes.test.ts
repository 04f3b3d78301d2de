import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { processesNaming } from '../../mcp-servers/sandbox/local/processes.ts';
import { Caller, startSandboxServer, type RunningServer } from '../sandbox/client.ts';
import { forEachIsolation, runsc } from '../sandbox/isolations.ts';
import { Chance, drawnSeed } from './chance.ts';
import { tell } from './tell.ts';

const CALLERS = 8;
const KILLS = 10;
/** How long a sandbox may go unused; then it has to be gone. */
const IDLE_SECONDS = 2;

forEachIsolation('sandboxes that are made, used and abandoned while their server is killed', (isolation) => {
  // gVisor needs several times as long for each
  const cycles = isolation === 'gvisor' ? 150 : 500;

  test(`after ${cycles} of them and ${KILLS} kills none is left when its time is over`, async () => {
    const directory = mkdtempSync(join(tmpdir(), 'toyd-soak-'));
    const state = join(directory, 'state');
    const keyFile = join(directory, 'key');
    writeFileSync(keyFile, randomBytes(32).toString('hex'), { mode: 0o600 });
    const env = {
      SANDBOX_ISOLATION: isolation,
      STATE_DIR: state,
      SANDBOX_HANDLE_KEY_FILE: keyFile,
      SANDBOX_IDLE_SECONDS: String(IDLE_SECONDS),
      SANDBOX_PER_CALLER: '32',
      SANDBOX_IN_ALL: '32',
      ...(runsc !== undefined && { RUNSC: runsc }),
    };
    // the one that runs, or the next one when it was killed
    let server = startSandboxServer(env);
    const outcomes = new Map<string, number>();
    const count = (outcome: string) => outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    const seed = drawnSeed();
    let begun = 0;
    let killed = 0;

    const killer = async (): Promise<void> => {
      while (killed < KILLS) {
        const next = Math.round(((killed + 1) * cycles) / (KILLS + 1));
        await vi.waitUntil(() => begun >= next, { timeout: 600_000, interval: 20 });
        const doomed = await server;
        server = doomed.kill().then(() => startSandboxServer(env));
        await server;
        killed += 1;
      }
    };
    const caller = async (number: number): Promise<void> => {
      const random = new Chance(seed + number);
      while (begun < cycles) {
        begun += 1;
        count(await cycle(await server, random));
      }
    };
    try {
      await Promise.all([killer(), ...Array.from({ length: CALLERS }, (_, number) => caller(number))]);
      const last = await Caller.connect((await server).url);
      const left = async () => ((await last.call('list_sandboxes')).given['sandboxes'] as unknown[]).length;
      await vi.waitUntil(async () => (await left()) === 0, { timeout: (IDLE_SECONDS + 10) * 1000, interval: 200 });
      // it works as before: of a fresh sandbox, and of one whose name was taken before
      expect((await last.call('run_code', { language: 'bash', code: 'echo alive' })).given).toMatchObject({ stdout: 'alive\n' });
      await last.close();
      expect(readdirSync(state)).toHaveLength(1);
      tell(`sandboxes, ${isolation}`, { seed, kills: killed, ...Object.fromEntries(outcomes) });
      expect(await (await server).close()).toBe(0);
      expect([readdirSync(state), processesNaming(state)]).toEqual([[], []]);
    } finally {
      await server.then((one) => one.kill());
      rmSync(directory, { recursive: true, force: true });
    }
  });
});

/** One caller's time with one sandbox, and how it ended: in a result, a code, or with the connection. */
async function cycle(server: RunningServer, random: Chance): Promise<string> {
  try {
    const caller = await Caller.connect(server.url);
    try {
      return await use(caller, random);
    } finally {
      await caller.close().catch(() => {});
    }
  } catch {
    // the server was killed meanwhile
    return 'cut off';
  }
}

async function use(caller: Caller, random: Chance): Promise<string> {
  const made = await caller.call('create_sandbox', { shutdown_after_seconds: 1 });
  if (made.failed) return made.text.split(':', 1)[0] ?? '';
  const place = { sandbox_claim_name: made.given['sandbox_claim_name'] };
  const leaving = new AbortController();
  const command = random.oneOf([
    'true',
    'sleep 0.2',
    'sleep 60',
    '(setsid sleep 60 &) ; true',
    'kill -9 0',
    'head -c 300000 /dev/urandom > f',
  ]);
  if (random.oneOf([true, false])) setTimeout(() => leaving.abort(), 300);
  const used = await caller.call('execute_command', { ...place, command, timeout: 1 }, leaving.signal).catch((error: unknown) => {
    if (leaving.signal.aborted) return undefined;
    throw error;
  });
  if (used === undefined) return 'left';
  if (used.failed) return used.text.split(':', 1)[0] ?? '';
  if (random.oneOf([true, false])) return 'abandoned';
  await caller.call('delete_sandbox', place);
  return 'deleted';
}
