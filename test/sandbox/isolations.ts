import { describe, expect, test } from 'vitest';
import { programs } from '../../mcp-servers/sandbox/local/detect.ts';
import { inspectHost } from '../../mcp-servers/sandbox/local/host.ts';
import type { IsolationName } from '../../mcp-servers/sandbox/local/isolation.ts';

const host = inspectHost();
const wanted = process.env['SANDBOX_ISOLATION'] as IsolationName | undefined;
/** Where gVisor's program is, as the server itself is told. */
export const runsc = process.env['RUNSC'] ?? host.find('runsc');

/** An isolation that this run must have: the one asked for; else bubblewrap, which every Linux can install. */
function required(isolation: IsolationName): boolean {
  return isolation === (wanted ?? 'bubblewrap');
}

/**
 * Defines the tests of each isolation that is to be tested and is here. One that is missing is shouted about; under CI the run fails for the
 * one it must have.
 */
export function forEachIsolation(title: string, define: (isolation: IsolationName) => void): void {
  for (const isolation of ['bubblewrap', 'gvisor'] as const) {
    if (wanted !== undefined && isolation !== wanted) continue;
    const missing = programs[isolation].filter((program) => host.find(program === 'runsc' ? (runsc ?? program) : program) === undefined);
    if (missing.length > 0) reportMissing(isolation, missing);
    else defineUnder(isolation, title, define);
  }
}

function defineUnder(isolation: IsolationName, title: string, define: (isolation: IsolationName) => void): void {
  describe(`${title} under ${isolation}`, () => {
    define(isolation);
  });
}

function reportMissing(isolation: IsolationName, missing: readonly string[]): void {
  const help = isolation === 'gvisor' ? 'make test-gvisor builds it' : './scripts/ensure-bubblewrap installs it on Debian, as root';
  const message = `${isolation} is not on this machine (${missing.join(', ')} missing): ITS SANDBOX TESTS DO NOT RUN; ${help}`;
  process.stderr.write(`\n!!! ${message}\n\n`);
  test(`${isolation} is on this machine`, (context) => {
    if (process.env['CI'] !== 'true' || !required(isolation)) context.skip(message);
    expect.fail(message);
  });
}
