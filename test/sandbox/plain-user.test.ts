import { chmodSync, chownSync, copyFileSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Caller, startSandboxServer, type RunningServer } from './client.ts';
import { forEachIsolation, runsc } from './isolations.ts';

/** nobody */
const UID = 65_534;

/** Without root this is what all other tests here run as. */
const root = process.getuid?.() === 0;
const unreachable = [process.execPath, import.meta.dirname].find((path) => !reachable(path));
if (root && unreachable !== undefined) {
  process.stderr.write(
    `\n!!! a plain user has no way to ${unreachable}: HIS SANDBOX TESTS DO NOT RUN; move the checkout out of root's home\n\n`,
  );
}

forEachIsolation('the sandbox server of a plain user', (isolation) => {
  describe.runIf(root && unreachable === undefined)('where there is one', () => {
    const directory = mkdtempSync(join(tmpdir(), 'toyd-plain-'));
    let server: RunningServer;
    let caller: Caller;
    let name: string;

    beforeAll(async () => {
      chmodSync(directory, 0o755);
      chownSync(directory, UID, UID);
      const program = join(directory, 'runsc');
      if (runsc !== undefined) copyFileSync(runsc, program);
      const env = {
        SANDBOX_ISOLATION: isolation,
        RUNSC: program,
        STATE_DIR: join(directory, 'state'),
        SANDBOX_MEMORY_MIB: '256',
        SANDBOX_DISK_MIB: '160',
        SANDBOX_PROCESSES: '64',
      };
      server = await startSandboxServer(env, { uid: UID });
      caller = await Caller.connect(server.url);
      name = await caller.create();
    });

    afterAll(async () => {
      await caller?.close();
      await server?.close();
      rmSync(directory, { recursive: true, force: true });
    });

    const run = async (command: string, timeout = 20): Promise<Record<string, unknown>> => {
      const { given, failed } = await caller.call('execute_command', { sandbox_claim_name: name, command, timeout });
      // a bomb may take its sandbox with it
      if (failed) name = await caller.create();
      return failed ? run(command, timeout) : given;
    };

    const renew = async (): Promise<void> => {
      await caller.call('delete_sandbox', { sandbox_claim_name: name });
      name = await caller.create();
    };

    test('works, and says which limits hold without root and which do not', async () => {
      expect(await run('id -u; echo $((6 * 7)); python3 -c "print(610)"')).toMatchObject({ stdout: '1000\n42\n610\n' });
      const { given } = await caller.call('get_sandbox_config');
      const guarantees = given['guarantees'] as { what: string; holds: boolean; how: string }[];
      const holding = Object.fromEntries(guarantees.map(({ what, holds }) => [what, holds]));
      expect(holding).toMatchObject({ network: true, processes: true, disk: true, time: true, memory: false, cpu: false });
      expect(guarantees.find(({ what }) => what === 'memory')?.how).toContain('control groups need root');
    });

    test('a memory bomb is stopped by watching it', async () => {
      const result = await run("echo before; python3 -c 'x = []\nwhile True: x.append(bytearray(10_000_000))'");
      expect(result).toMatchObject({ exit_code: 137, stdout: 'before\n', stderr: expect.stringContaining('out of memory') as string });
      expect(await run('echo alive')).toMatchObject({ stdout: 'alive\n' });
    });

    test('files count as memory, with content and without', async () => {
      const outOfMemory = { exit_code: 137, stderr: expect.stringContaining('out of memory') as string };
      const full = 'head -c 150M /dev/zero > /tmp/full';
      expect(await run(`${full}; cp /tmp/full .; sleep 60`)).toMatchObject(outOfMemory);
      await renew();
      expect(await run(`${full}; python3 -c 'import os\nfor number in range(1_000_000): os.mknod(str(number))'`)).toMatchObject(
        outOfMemory,
      );
      await renew();
    });

    test('a fork bomb stops at the process limit, whatever else this user runs', async () => {
      const { stdout, stderr } = await run(':(){ :|:& };: ; sleep 0.5; echo survived', 3);
      expect(`${stdout as string}${stderr as string}`).toMatch(/survived|timed out|out of memory/);
      expect(await run('echo alive')).toMatchObject({ stdout: 'alive\n' });
    });

    test('a timeout kills everything and keeps what was printed', async () => {
      const result = await run('(setsid sh -c "while :; do date +%N > beat; sleep 0.02; done" &); echo partial; sleep 60', 2);
      expect(result).toMatchObject({ stdout: 'partial\n', timed_out: true, exit_code: 124 });
      expect(await run('before=$(cat beat); sleep 0.2; [ "$before" = "$(cat beat)" ] || echo beats')).toMatchObject({ stdout: '' });
    });
  });
});

/** Whether everybody may enter every directory on the way. */
function reachable(path: string): boolean {
  const parent = dirname(path);
  return (statSync(path).mode & 0o001) !== 0 && (parent === path || reachable(parent));
}
