import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const scripts = join(import.meta.dirname, '..', '..', 'scripts');

/**
 * Defines tests that need somebody else's program, which one of scripts/ensure-* gets and prints the path of. On a machine that cannot have
 * it, says loudly which tests do not run and what to install; under CI that is a failure.
 */
export async function withProgram(what: string, [script, ...args]: readonly [string, ...string[]], define: (path: string) => void) {
  const found = await run(join(scripts, script), args);
  if ('path' in found) define(found.path);
  else reportMissing(what, found.why);
}

function reportMissing(what: string, why: string): void {
  const message = `${what} cannot run here: INTEROP TESTS WITH THIS DO NOT RUN; ${why}`;
  process.stderr.write(`\n!!! ${message}\n\n`);
  test(`${what} can run here`, (context) => {
    if (process.env['CI'] !== 'true') context.skip(message);
    expect.fail(message);
  });
}

/** What the script has to say meanwhile goes to the terminal at once. */
async function run(script: string, args: readonly string[]): Promise<{ path: string } | { why: string }> {
  const child = spawn(script, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let path = '';
  let said = '';
  child.stdout.on('data', (chunk) => (path += chunk));
  child.stderr.on('data', (chunk) => {
    said += chunk;
    process.stderr.write(chunk as Buffer);
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return code === 0 ? { path: path.trim() } : { why: said.trim() };
}
