import { mkdir, open, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { OFFICIAL_META } from '../../lib/registry-api/server-json.ts';
import { until } from '../operator/bench.ts';
import { afterShell } from './environment.ts';
import type { Install } from './install.ts';
import { kinds } from './registries.ts';
import { seconds, tell } from './tell.ts';
import { inWorld, type World } from './world.ts';

const MANY = 1_000;
const UNPROBED = { probe: 'off' };

test.concurrent.each(kinds)('%s: a thousand files that appear, change and go at once', async (kind) => {
  await inWorld(kind, {}, async (world) => {
    const install = await world.install({ name: 'many', env: { REGISTRY_RESYNC_SECONDS: '10' } });
    const labels = Array.from({ length: MANY }, (_, index) => `n${index}`);
    const declareAll = async (into: string, description: string): Promise<void> => {
      for (const label of labels) await install.declareIn(into, label, install.document(label, { description }), UNPROBED);
    };
    install.operator.start();
    await declareAll(install.catalog, 'at first');
    const appeared = await world.converge();
    // another directory takes the place of this one, which goes away: all files change, and no event may tell
    await declareAll(`${install.catalog}-next`, 'all at once');
    await rename(install.catalog, `${install.catalog}-before`);
    await rename(`${install.catalog}-next`, install.catalog);
    const changed = await world.converge();
    await rm(`${install.catalog}-before`, { recursive: true });
    for (const label of labels) await install.remove(label);
    const gone = await world.converge();
    expect((await install.status()).declarations).toEqual([]);
    tell(`${MANY} files, ${kind}`, {
      'appeared within': seconds(appeared),
      'changed within': seconds(changed),
      'gone within': seconds(gone),
    });
  });
});

test.each([
  ['watches', 'max_inotify_watches'],
  ['instances', 'max_inotify_instances'],
])('embedded: without any inotify %s the directory is read again by itself', async (what, limit) => {
  await inWorld('embedded', {}, async (world) => {
    const blind = afterShell(`echo 0 > /proc/sys/user/${limit}`);
    const install = await world.install({ name: 'blind', wrap: () => blind });
    await install.declare('n0', install.document('n0'), world.probing(0));
    install.operator.start();
    await world.converge();
    await install.declare('n0', install.document('n0', { description: 'edited' }), world.probing(0));
    await install.declare('n1', install.document('n1'), world.probing(0));
    tell(`no inotify ${what}, embedded`, { converged: seconds(await world.converge()) });
    expect((await install.status()).declarations).toHaveLength(2);
  });
});

test('embedded: a directory that is away, replaced, or swapped by a link withdraws nothing on the way', async () => {
  await inWorld('embedded', {}, async (world) => {
    const install = await world.install({ name: 'swapped' });
    for (const label of ['n0', 'n1', 'n2']) await install.declare(label, install.document(label), world.probing(0));
    install.operator.start();
    await world.converge();
    const before = await statusTimes(world, install);

    const aside = `${install.catalog}-aside`;
    await rename(install.catalog, aside);
    await until(
      'it says that nothing is withdrawn',
      async () => (await install.status()).source?.message.includes('nothing is withdrawn'),
      60_000,
    );
    // longer than a vanished declaration may take to come back
    await delay(2_000);
    await rename(aside, install.catalog);
    const back = await world.converge();

    await install.declareIn(aside, 'n0', install.document('n0', { description: 'in another directory' }), world.probing(0));
    for (const label of ['n1', 'n2']) await install.declareIn(aside, label, install.document(label), world.probing(0));
    await rename(install.catalog, `${install.catalog}-old`);
    await symlink(aside, install.catalog);
    const replaced = await world.converge();

    const swapped = await swapAsKubelet(world, install);
    expect(await statusTimes(world, install)).toEqual(before);
    tell('directory, embedded', {
      'back within': seconds(back),
      'replaced by a link within': seconds(replaced),
      "swapped as a ConfigMap's volume within": seconds(swapped),
    });
  });
});

/** Turns n1's files into links through `..data`, then swaps that, as kubelet does when a ConfigMap changes. */
async function swapAsKubelet(world: World, install: Install): Promise<number> {
  const folder = join(install.catalog, 'n1');
  const put = async (generation: string, description: string): Promise<void> => {
    const document = install.document('n1', { description });
    await mkdir(join(folder, generation));
    await writeFile(join(folder, generation, 'server.json'), JSON.stringify(document));
    await writeFile(join(folder, generation, 'toolyard.json'), JSON.stringify(world.probing(0)));
    await symlink(generation, join(folder, '..data_tmp'));
    await rename(join(folder, '..data_tmp'), join(folder, '..data'));
    install.declared.set('n1', document);
  };
  await put('..first', 'the first generation');
  for (const name of ['server.json', 'toolyard.json']) {
    await symlink(join('..data', name), join(folder, `${name}.link`));
    await rename(join(folder, `${name}.link`), join(folder, name));
  }
  await world.converge();
  await put('..second', 'the second generation');
  await rm(join(folder, '..first'), { recursive: true });
  return world.converge();
}

/** When the status of each record changed last: withdrawing and restoring would show. */
async function statusTimes(world: World, install: Install): Promise<Readonly<Record<string, string | undefined>>> {
  const records = await world.client.listAll({ includeDeleted: true, search: install.prefix });
  return Object.fromEntries(records.map(({ server, _meta }) => [server.name, _meta[OFFICIAL_META]?.statusChangedAt]));
}

test('embedded: files that are written byte by byte withdraw nothing, and are published once they are whole', async () => {
  await inWorld('embedded', {}, async (world) => {
    const install = await world.install({ name: 'slowly' });
    for (const label of ['quick', 'slow', 'other']) await install.declare(label, install.document(label), world.probing(0));
    install.operator.start();
    await world.converge();
    const before = await statusTimes(world, install);
    const write = (label: string, pauseMs: number) =>
      writeByteByByte(install, install.document(label, { description: 'byte by byte' }), { label, pauseMs });
    // one is whole before it counts as broken, the other is long broken by then
    await Promise.all([write('quick', 1), write('slow', 20)]);
    const took = await world.converge();
    expect(await statusTimes(world, install)).toEqual(before);
    tell('files byte by byte, embedded', { converged: seconds(took) });
  });
});

async function writeByteByByte(
  install: Install,
  document: ReturnType<Install['document']>,
  how: { label: string; pauseMs: number },
): Promise<void> {
  const file = await open(join(install.catalog, how.label, 'server.json'), 'w');
  for (const byte of Buffer.from(JSON.stringify(document))) {
    await file.write(Buffer.of(byte));
    await delay(how.pauseMs);
  }
  await file.close();
  install.declared.set(how.label, document);
}
