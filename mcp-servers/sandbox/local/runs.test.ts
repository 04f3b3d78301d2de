import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLog } from '../../../lib/log.ts';
import { RunDirectory, sweep } from './runs.ts';

const log = createLog('test', 'silent');
let state: string;
beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'toyd-runs-'));
});
afterEach(() => rmSync(state, { recursive: true, force: true }));

test('a run of a living server is left alone; its own end removes it', async () => {
  const run = new RunDirectory(state);
  await sweep(state, log);
  expect(existsSync(run.path)).toBe(true);
  run.remove();
  expect(existsSync(run.path)).toBe(false);
});

test('a run whose server is gone is removed, also when another process has its number now', async () => {
  const gone = [`run-${process.pid}-1-00000000`, 'run-4194303-12345-00000000'];
  for (const name of gone) mkdirSync(join(state, name, 'guest', 'etc'), { recursive: true });
  await sweep(state, log);
  expect(gone.filter((name) => existsSync(join(state, name)))).toEqual([]);
});

test('what is not a run is never touched, whatever a damaged record says', async () => {
  const precious = join(state, 'precious');
  mkdirSync(precious);
  const name = 'run-4194303-12345-00000000';
  mkdirSync(join(state, name));
  writeFileSync(join(state, name, 'cgroups.json'), JSON.stringify([precious, join(state, '..')]));
  mkdirSync(join(state, 'run-x'));
  await sweep(state, log);
  expect([precious, join(state, 'run-x'), join(state, name)].map((path) => existsSync(path))).toEqual([true, true, false]);
});

test('a state directory that is not there needs no sweeping', async () => {
  await expect(sweep(join(state, 'not-there'), log)).resolves.toBeUndefined();
});

test('what resists is left to the next server, and stops neither this one nor the rest of the clearing up', async () => {
  const [resisting, other] = ['run-4194303-1-00000000', 'run-4194303-2-00000000'].map((name) => join(state, name)) as [string, string];
  for (const path of [resisting, other]) mkdirSync(path);
  const noGroup = join(state, `toolyard-${basename(resisting)}`);
  writeFileSync(noGroup, '');
  writeFileSync(join(resisting, 'cgroups.json'), JSON.stringify([noGroup]));
  await sweep(state, log);
  expect([resisting, other].map((path) => existsSync(path))).toEqual([true, false]);
});
