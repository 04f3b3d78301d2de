import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { RegistryError } from '../../lib/registry-api/errors.ts';
import { OFFICIAL_META, recordStatuses, type RecordStatus, type ServerRecord } from '../../lib/registry-api/server-json.ts';
import type { RegistryPort } from '../../operator/records/registry-view.ts';
import { SimulatedRegistry } from '../../operator/records/testing/registry.ts';
import { Bench, record } from './bench.ts';

const names = ['com.example/one', 'com.example/two'];
const versions = ['1.0.0', '1.1.0', '2.0.0-rc.1', '2.0.0', 'snapshot', 'nightly'];
const messages = [undefined, 'a reason', 'another'];

type Deed =
  | { is: 'publish' | 'edit'; name: string; version: string; description: string }
  | { is: 'status'; name: string; version: string; status: RecordStatus; message: string | undefined };

const name = fc.constantFrom(...names);
const version = fc.constantFrom(...versions);
const deed: fc.Arbitrary<Deed> = fc.oneof(
  fc.record({
    is: fc.constantFrom<'publish' | 'edit'>('publish', 'edit'),
    name,
    version,
    description: fc.constantFrom('a server', 'a better server'),
  }),
  fc.record({
    is: fc.constant('status' as const),
    name,
    version,
    status: fc.constantFrom(...recordStatuses),
    message: fc.constantFrom(...messages),
  }),
);

/** `done`, or the code of the error. */
async function perform(registry: RegistryPort, deed: Deed): Promise<string> {
  const { name, version } = deed;
  try {
    if (deed.is === 'status') {
      const { status, message } = deed;
      const change = message === undefined || status === 'active' ? {} : { message };
      await registry.setStatus({ name, version, status, ...change });
    } else {
      const document = record(name, 'https://one.example/mcp', { version, description: deed.description });
      await (deed.is === 'publish' ? registry.publish(document) : registry.edit(document));
    }
    return 'done';
  } catch (error) {
    return error instanceof RegistryError ? error.code : String(error);
  }
}

/** Everything but the times, which differ. */
async function contentOf(registry: RegistryPort): Promise<readonly unknown[]> {
  const records = await Array.fromAsync(registry.list({ includeDeleted: true }));
  return records.map((one) => contentOfRecord(one)).toSorted((a, b) => (a.key < b.key ? -1 : 1));
}

function contentOfRecord({ server, _meta }: ServerRecord) {
  const { status, statusMessage, isLatest } = _meta[OFFICIAL_META] ?? {};
  return { key: `${server.name} ${server.version}`, server, status, statusMessage, isLatest };
}

test('the simulated registry does what the embedded one does', { timeout: 120_000 }, async () => {
  const bench = await Bench.start();
  try {
    const property = fc.asyncProperty(fc.array(deed, { minLength: 5, maxLength: 25, size: 'max' }), async (deeds) => {
      await bench.emptyRegistry();
      const [real, simulated] = [bench.client(), new SimulatedRegistry().port('test')];
      for (const one of deeds)
        expect({ ...one, outcome: await perform(simulated, one) }).toEqual({ ...one, outcome: await perform(real, one) });
      expect(await contentOf(simulated)).toEqual(await contentOf(real));
      for (const one of names) {
        const listed = await simulated.versions(one, {});
        expect(listed.length).toBe((await real.versions(one)).length);
      }
    });
    await fc.assert(property, { numRuns: 30 });
  } finally {
    await bench.close();
  }
});
