import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { createLog } from '../../lib/log.ts';
import { Cell } from '../../mcp-servers/sandbox/local/cell.ts';
import { Cgroup } from '../../mcp-servers/sandbox/local/cgroup.ts';

const never = new AbortController().signal;
const limits = { timeoutMs: 300, outputBytes: 100_000, signal: never };
let cell: Cell;

const log = createLog('test', 'silent');
const launchOf = (argv: readonly string[]) => ({ argv, files: [], memoryMounts: [] });

/** A sandbox whose agent is not to be trusted; what holds it does not matter here. */
function hostile(behaviour: string): Cell {
  const argv = [process.execPath, join(import.meta.dirname, 'agents.ts'), behaviour];
  cell = new Cell({ launch: launchOf(argv), cgroup: undefined, memoryBytes: 2 ** 40, log, stopGraceMs: 200 });
  return cell;
}

afterEach(() => cell.remove('the test is over'));

test.each(['garbage', 'wrong shape', 'no bounds', 'prototype pollution', 'endless line', 'foreign answers', 'more output than asked for'])(
  'an agent that answers with %s ends its sandbox, and nothing else',
  async (behaviour) => {
    const { guest } = hostile(behaviour);
    await guest.ready;
    await expect(hostileRun(20_000)).rejects.toMatchObject({ name: 'GuestGone' });
    await guest.gone;
  },
);

test('an agent that does not stop a command in time is ended with its sandbox, and the caller still gets an answer', async () => {
  await hostile('silence').guest.ready;
  expect(await hostileRun()).toMatchObject({ timedOut: true, exitCode: 124, note: expect.stringContaining('create another') as string });
  await cell.guest.gone;
});

test('a program that is not there, or says nothing, is no sandbox', async () => {
  cell = new Cell({ launch: launchOf(['/no/such/program']), cgroup: undefined, memoryBytes: 1, log });
  await expect(cell.guest.ready).rejects.toMatchObject({ name: 'GuestGone' });
  cell = new Cell({ launch: launchOf(['/bin/false']), cgroup: undefined, memoryBytes: 1, log });
  await expect(cell.guest.ready).rejects.toThrow('exit code 1');
});

test('what cannot be removed of a sandbox does not keep it from ending', async () => {
  const noGroup = new Cgroup([import.meta.filename]);
  cell = new Cell({ launch: launchOf(['/bin/true']), cgroup: noGroup, memoryBytes: 1, log });
  await expect(cell.remove('the test is over')).resolves.toBeUndefined();
});

function hostileRun(timeoutMs = limits.timeoutMs) {
  return cell.run('true', { ...limits, timeoutMs });
}
