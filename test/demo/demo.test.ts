import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawn } from 'node:child_process';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { alive, descendants, home, run, until } from '../up/running.ts';

interface Step {
  readonly step?: number;
  readonly title?: string;
  readonly ok: boolean;
  readonly said?: readonly string[];
}

let temporary: string;
beforeEach(() => void (temporary = mkdtempSync(join(tmpdir(), 'toolyard-test-'))));
afterEach(() => rmSync(temporary, { recursive: true, force: true }));

/** Processes that were started with this directory for temporary files. */
function leftovers(): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && Number(pid) !== process.pid && readFileSync(`/proc/${pid}/environ`, 'utf8').includes(temporary);
    } catch {
      return false;
    }
  });
}

describe('the demo', () => {
  test('finds both servers, fetches what is allowed and not what is not, and gets 610 out of a sandbox', async () => {
    const { code, stdout, stderr } = await run(['demo', '--json'], { env: { TMPDIR: temporary } });
    expect(stderr).toBe('');
    expect(code).toBe(0);
    const steps = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Step);
    const said = (title: string): string => steps.find((step) => step.title?.includes(title))?.said?.join('\n') ?? '';
    expect(said('Find the servers')).toMatch(/dev\.toolyard\/fetch [\d.]+ {2}http:.*\n.*dev\.toolyard\/sandbox/);
    expect(said('the one private origin')).toContain('# Tide tables of Nowhere Bay');
    expect(said('must be refused')).toContain('not a public address');
    expect(said('Create a sandbox')).toMatch(/isolation: (gvisor|bubblewrap)/);
    expect(said('run it for n = 15')).toBe('stdout: 610\nexit code: 0');
    expect(steps.every(({ ok }) => ok)).toBe(true);
    expect(leftovers()).toEqual([]);
    expect(readdirSync(temporary)).toEqual([]);
  });

  test('fails, and says what to do, where no sandbox can be isolated', async () => {
    const env = { TMPDIR: temporary, SANDBOX_ISOLATION: 'gvisor', RUNSC: '/nowhere/runsc' };
    const { code, stdout, stderr } = await run(['demo'], { env });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^toolyard: the sandbox server is not ready: .*runsc/);
    // readable without colours where there is no terminal
    expect(stdout).toBe('✖ 1  Start registry, fetch, sandbox and operator on free ports\n');
    expect(leftovers()).toEqual([]);
  });

  test('leaves nothing behind when it is interrupted', async () => {
    const child = spawn(process.execPath, [join(home, 'cli', 'main.ts'), 'demo'], {
      env: { ...process.env, TMPDIR: temporary },
      stdio: 'ignore',
    });
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
    const started = await until(() => {
      const found = descendants(child.pid ?? Number.NaN);
      return found.length >= 3 ? found : undefined;
    });
    child.kill('SIGINT');
    expect(await ended).toBe(1);
    expect(alive(started)).toEqual([]);
    expect(readdirSync(temporary)).toEqual([]);
  });
});
