import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { Cell } from '../../mcp-servers/sandbox/local/cell.ts';

const never = new AbortController().signal;
const limits = { timeoutMs: 300, outputBytes: 100_000, signal: never };
let cell: Cell;

/** A sandbox whose agent is not to be trusted; what holds it does not matter here. */
function hostile(behaviour: string): Cell {
  const argv = [process.execPath, join(import.meta.dirname, 'agents.ts'), behaviour];
  cell = new Cell({ launch: { argv, files: [] }, cgroup: undefined, memoryBytes: 2 ** 40, stopGraceMs: 200 });
  return cell;
}

afterEach(() => cell.remove('the test is over'));

test.each(['garbage', 'wrong shape', 'no bounds', 'prototype pollution', 'endless line'])(
  'an agent that answers with %s ends its sandbox, and nothing else',
  async (behaviour) => {
    const { guest } = hostile(behaviour);
    await guest.ready;
    await expect(hostileRun(20_000)).rejects.toMatchObject({ name: 'GuestGone' });
    await guest.gone;
  },
);

test('an agent that answers what nobody asked is not listened to', async () => {
  await hostile('foreign answers').guest.ready;
  expect(await hostileRun()).toMatchObject({ timedOut: true, exitCode: 124 });
});

test('an agent that sends more output than it may is cut off there', async () => {
  await hostile('more output than asked for').guest.ready;
  const { stdout, dropped } = await hostileRun(20_000);
  expect(stdout).toHaveLength(limits.outputBytes);
  expect(dropped.stdout).toBeGreaterThan(0);
});

test('an agent that does not stop a command in time is ended with its sandbox, and the caller still gets an answer', async () => {
  await hostile('silence').guest.ready;
  expect(await hostileRun()).toMatchObject({ timedOut: true, exitCode: 124, note: expect.stringContaining('create another') as string });
  await cell.guest.gone;
});

test('a program that is not there, or says nothing, is no sandbox', async () => {
  cell = new Cell({ launch: { argv: ['/no/such/program'], files: [] }, cgroup: undefined, memoryBytes: 1 });
  await expect(cell.guest.ready).rejects.toMatchObject({ name: 'GuestGone' });
  cell = new Cell({ launch: { argv: ['/bin/false'], files: [] }, cgroup: undefined, memoryBytes: 1 });
  await expect(cell.guest.ready).rejects.toThrow('exit code 1');
});

function hostileRun(timeoutMs = limits.timeoutMs) {
  return cell.run('true', { ...limits, timeoutMs });
}
