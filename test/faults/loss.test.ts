import { expect, test } from 'vitest';
import { kinds } from './registries.ts';
import { seconds, tell } from './tell.ts';
import { inWorld } from './world.ts';

const LABELS = Array.from({ length: 8 }, (_, index) => `n${index}`);

test.concurrent.each(kinds)(
  '%s: a registry that comes back with an older copy of its database, or with nothing, is made equal again',
  async (kind) => {
    await inWorld(kind, {}, async (world) => {
      const install = await world.install({ name: 'ours' });
      await world.contest(install);
      for (const label of LABELS) await install.declare(label, install.document(label), world.probing(0));
      install.operator.start();
      await world.converge();
      await world.registry.kill();
      await world.registry.keepCopy();
      await world.registry.start();
      await install.declare('n0', install.document('n0', { version: '1.1.0' }), world.probing(0));
      await install.declare('n1', install.document('n1', { description: 'edited' }), world.probing(1));
      await install.remove('n2');
      await install.declare('new', install.document('new'), world.probing(1));
      await world.converge();

      await world.registry.kill();
      await world.registry.restoreCopy();
      await world.registry.start();
      const olderTook = await world.converge();

      await world.registry.kill();
      await world.registry.empty();
      // what others published is lost, and nobody takes their names from a copy
      world.strangers = [];
      await install.withdraw('contested');
      await world.registry.start();
      const emptyTook = await world.converge();
      tell(`loss, ${kind}`, { 'older copy converged': seconds(olderTook), 'empty converged': seconds(emptyTook) });
      expect(install.declared.size).toBe(LABELS.length);
    });
  },
);
