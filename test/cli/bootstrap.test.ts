import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { home } from '../up/running.ts';

/** As much of a checkout as installing needs, with a blank in its path. */
let checkout: string;

beforeEach(() => {
  checkout = mkdtempSync(join(tmpdir(), 'toolyard test-'));
  for (const file of ['Makefile', '.npmrc', 'package.json', 'package-lock.json', join('scripts', 'with-node')]) {
    cpSync(join(home, file), join(checkout, file));
  }
});

afterEach(() => rmSync(checkout, { recursive: true, force: true }));

/** Runs a command where npm's registry does not answer. */
async function offline(command: string, args: readonly string[], path = dirname(process.execPath)) {
  const env = {
    HOME: checkout,
    PATH: [path, process.env['PATH']].join(':'),
    npm_config_registry: 'http://127.0.0.1:1',
    npm_config_fetch_retries: '0',
    npm_config_cache: join(checkout, 'cache'),
  };
  const child = spawn(command, args, { cwd: checkout, env, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, said };
}

test('packages that cannot be installed are told with the reason, and tried again next time', async () => {
  const { code, said } = await offline('make', ['install']);
  expect(code).not.toBe(0);
  expect(said).toContain('ECONNREFUSED');
  expect(said).toContain('the packages could not be installed');
  expect(existsSync(join(checkout, 'node_modules', '.package-lock.json'))).toBe(false);
});

test('a Node that cannot be taken from npm is told with the reason, and leaves nothing half done', async () => {
  // an older Node, as far as can be told
  const old = join(checkout, 'old');
  mkdirSync(old);
  writeFileSync(join(old, 'node'), `#!/bin/sh\n[ "$1" = -p ] && echo 20 || exec '${process.execPath}' "$@"\n`, { mode: 0o755 });
  const { code, said } = await offline(join(checkout, 'scripts', 'with-node'), ['true'], old);
  expect(code).toBe(1);
  expect(said).toContain('ECONNREFUSED');
  expect(said).toMatch(/Node [\d.]+ could not be taken from npm/);
  expect(readdirSync(join(checkout, '.tools'))).toEqual([]);
});
