import { expect, test } from 'vitest';
import type { ServerRecord } from '../../lib/registry-api/server-json.ts';
import { RegistryView } from './registry-view.ts';
import { SimulatedRegistry } from './testing/registry.ts';
import { serverJson } from './testing/world.ts';

const NAME = 'com.example/weather';
const { signal } = new AbortController();

test('a name that is read while everything is read is known afterwards, also when that takes longer', async () => {
  const registry = new SimulatedRegistry();
  await registry.port('stranger').publish(serverJson(NAME, '1.0.0'));
  const versions = Promise.withResolvers<readonly ServerRecord[]>();
  const view = new RegistryView({ ...registry.port('toolyard'), versions: () => versions.promise }, 'toolyard');
  const all = view.readAll(() => [NAME], signal);
  const one = view.read(NAME, signal);
  await all;
  versions.resolve(registry.all());
  await one;
  expect(view.recordsOf(NAME)?.records.map(({ version }) => version)).toEqual(['1.0.0']);
});
