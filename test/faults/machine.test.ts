import { execFile } from 'node:child_process';
import { mkdtemp, open, rm, writeFile, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { OFFICIAL_META } from '../../lib/registry-api/server-json.ts';
import { until } from '../operator/bench.ts';
import { afterShell, type Wrap } from './environment.ts';
import type { Install } from './install.ts';
import { kinds } from './registries.ts';
import { seconds, tell } from './tell.ts';
import { inWorld, type World } from './world.ts';

const WAIT_MS = 120_000;

/** A disk of so many KiB at this path, which only the program that is wrapped sees. */
function smallDisk(path: string, kibibytes: number): Wrap {
  return afterShell(`mount -t tmpfs -o size=${kibibytes}k tmpfs '${path}'`);
}

/** Takes all that is left of a disk that only that process sees. */
async function fill(pid: number, path: string): Promise<string> {
  const ballast = join(`/proc/${pid}/root`, path, 'ballast');
  const file = await open(ballast, 'w');
  try {
    await expect(fillUp(file)).rejects.toThrow('ENOSPC');
  } finally {
    await file.close();
  }
  return ballast;
}

async function fillUp(file: FileHandle): Promise<never> {
  for (;;) await file.write(Buffer.alloc(4096, 1));
}

test('embedded: a full disk under the registry stops writing, not reading, and what was declared meanwhile is published when there is room', async () => {
  await inWorld('embedded', { wrap: (folder) => smallDisk(folder, 4096) }, async (world) => {
    const install = await world.install({ name: 'ours' });
    await install.declare('before', install.document('before'), world.probing(0));
    install.operator.start();
    await world.converge();
    const ballast = await fill(world.registry.pid, world.registry.folder);
    // what the database still has room for in its own file
    for (let index = 0; index < 40; index += 1) {
      await install.declare(`n${index}`, install.document(`n${index}`, { description: 'x'.repeat(100) }), world.probing(0));
    }
    await until('a write fails', async () => (await said(install)).includes('RegistryFailed'), WAIT_MS);
    expect(await world.client.getVersion(install.document('before').name, 'latest')).toBeDefined();
    await rm(ballast);
    const took = await world.converge();
    tell('full disk, embedded, registry', { converged: seconds(took) });
  });
});

test('embedded: a full disk under the status file stops nothing else, and the status is written when there is room', async () => {
  await inWorld('embedded', {}, async (world) => {
    const install = await world.install({ name: 'ours', wrap: (folder) => smallDisk(folder, 64) });
    await install.declare('n0', install.document('n0'), world.probing(0));
    install.operator.start();
    await world.converge();
    const ballast = await fill(install.operator.pid, dirname(install.statusFile));
    const document = install.document('n0', { description: 'edited on a full disk' });
    await install.declare('n0', document, world.probing(0));
    await install.declare('n1', install.document('n1'), world.probing(0));
    await until(
      'both are published',
      async () => (await published(world, install, 'n0')) === document.description && (await published(world, install, 'n1')) !== undefined,
      WAIT_MS,
    );
    expect(await install.statusOf('n1')).toBeUndefined();
    await rm(ballast);
    const took = await world.converge();
    tell('full disk, operator', { converged: seconds(took) });
  });
});

async function published(world: World, install: Install, label: string): Promise<string | undefined> {
  return (await world.client.getVersion(install.document(label).name, 'latest'))?.server.description;
}

/** Reasons and messages of all conditions, as one text. */
async function said(install: Install): Promise<string> {
  const { declarations } = await install.status();
  return declarations.flatMap(({ conditions }) => conditions.map(({ reason, message }) => `${reason}: ${message}`)).join('\n');
}

/** When the registry says that it changed this record, to the microsecond, as text that can be compared. */
async function changedAt(world: World, install: Install): Promise<string> {
  const found = await world.client.getVersion(install.document('n0').name, 'latest');
  const { _meta = {} } = found ?? {};
  const [, second = '', fraction = ''] = /^(.*?)(?:\.(\d+))?Z$/.exec(_meta[OFFICIAL_META]?.updatedAt ?? '') ?? [];
  return `${second}.${fraction.padEnd(6, '0')}`;
}

/** The system's time of day, as libfaketime shows it to programs that load it; its file can be changed while they run. */
async function shiftableClock(folder: string): Promise<{ wrap: Wrap; set(shift: string): Promise<void> }> {
  const { stdout } = await promisify(execFile)(join(import.meta.dirname, '../../scripts/ensure-faketime'));
  const file = join(folder, 'clock');
  await writeFile(file, '+0\n');
  const shift = {
    LD_PRELOAD: stdout.trim(),
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    NO_FAKE_STAT: '1',
  };
  return {
    wrap: (options) => ({ ...options, env: { ...options.env, ...shift } }),
    set: (to) => writeFile(file, `${to}\n`),
  };
}

const folders: string[] = [];

afterAll(async () => {
  for (const folder of folders) await rm(folder, { recursive: true });
});

test.concurrent.each(kinds)("%s: the operator's clock, or the whole machine's, is set forward and back", async (kind) => {
  const made = await Promise.all([0, 1].map(() => mkdtemp(join(tmpdir(), 'toolyard-faults-clock-'))));
  folders.push(...made);
  const [registryClock, operatorClock] = await Promise.all([shiftableClock(made[0] ?? ''), shiftableClock(made[1] ?? '')]);
  await inWorld(kind, { wrap: () => registryClock.wrap }, async (world) => {
    const install = await world.install({ name: 'ours', wrap: () => operatorClock.wrap });
    const edit = (description: string) => install.declare('n0', install.document('n0', { description }), world.probing(0));
    await edit('at first');
    install.operator.start();
    await world.converge();
    const took: Record<string, string> = {};
    // the official registry is linked statically, so it keeps the true time: there the machine's clock is the operator's alone
    for (const shift of kind === 'embedded' ? ['+1d', '-1d', '+0'] : ['+1d', '+0']) {
      await Promise.all([registryClock.set(shift), operatorClock.set(shift)]);
      const before = await changedAt(world, install);
      await edit(`at ${shift}`);
      took[shift] = seconds(await world.converge());
      expect((await changedAt(world, install)) > before, 'who syncs by time misses nothing').toBe(true);
    }
    // a running one would go on with the token that it made before
    await install.operator.kill();
    await operatorClock.set('-1d');
    install.operator.start();
    await edit('with a token that is over when it is made');
    await until('the status names the clocks', async () => (await said(install)).includes('clock'), WAIT_MS);
    await operatorClock.set('+0');
    tell(`clock, ${kind}`, { ...took, 'operator a day behind, then right': seconds(await world.converge()) });
  });
});
