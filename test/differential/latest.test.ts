import * as fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { RegistryClient } from '../../lib/registry-api/client.ts';
import { SCHEMA_URL, officialMeta, type ServerJson, type ServerRecord } from '../../lib/registry-api/server-json.ts';
import { compareVersions, pickLatest } from '../../lib/registry-api/version-order.ts';
import { drawing } from './drawing.ts';
import { officialRegistry } from './official-registry.ts';

const run = Date.now().toString(36);
let client: RegistryClient;

beforeAll(() => {
  client = new RegistryClient(officialRegistry());
});

/** Versions that a registry takes, semantic and not, with the pairs that are easily ordered wrongly. */
const versions = [
  '1.0.0',
  'v1.0.0',
  '1.0.0+b',
  '1.0.0+a',
  '1.0.1',
  '1.10.0',
  '1.9.0',
  '2.0.0-rc.1',
  '2.0.0-rc.2',
  '2.0.0-rc.10',
  '2.0.0-rc',
  '2.0.0',
  '1.0.0-1',
  '1.0.0-alpha',
  '1.0.0-a',
  '1.0.0-a-b',
  '1.0.0--',
  '1.0.0-a.b',
  '1.0.0-a.1',
  '1.0.0-A',
  '1.0.0-0',
  '99999999999999999999.0.0',
  '1',
  '1.0',
  '1.0.0.1',
  '01.0.0',
  '2021.03.05',
  '1.0.0-01',
  'V1.0.0',
  'vv1.0.0',
  '1.0.0-',
  '1.0.0+',
  '1.0.0-a..b',
  ' 1.0.0',
  'snapshot',
  '*',
];

test('a published version takes the latest flag exactly when it is ordered above the holder of it', async () => {
  let names = 0;
  const property = fc.asyncProperty(fc.shuffledSubarray(versions, { minLength: 2, maxLength: 5 }), async (published) => {
    const name = `io.example.${run}/order-${(names += 1)}`;
    let latest: string | undefined;
    for (const version of published) {
      const record = await client.publish(documentOf(name, version));
      // Of two that are not semantic the later publication wins.
      const takes = latest === undefined || (compareVersions(version, latest) ?? 1) > 0;
      expect({ published, version, latest, takes: officialMeta(record)?.isLatest }).toEqual({ published, version, latest, takes });
      if (takes) latest = version;
    }
  });
  await fc.assert(property, drawing(100));
});

test('after a change of status the flag is where pickLatest puts it', async () => {
  let names = 0;
  const changes = fc.array(fc.record({ which: fc.nat(3), deleted: fc.boolean() }), { minLength: 1, maxLength: 6 });
  const property = fc.asyncProperty(fc.shuffledSubarray(versions, { minLength: 2, maxLength: 4 }), changes, async (published, wanted) => {
    const name = `io.example.${run}/status-${(names += 1)}`;
    for (const version of published) await client.publish(documentOf(name, version));
    for (const { which, deleted } of wanted) {
      const version = published[which % published.length] ?? '';
      const record = await client.getVersion(name, version, { includeDeleted: true });
      const status = deleted ? 'deleted' : 'active';
      if (record === undefined || officialMeta(record)?.status === status) continue;
      await client.setStatus({ name, version, status });
      const records = await client.versions(name, { includeDeleted: true });
      const flagged = records.filter((each) => officialMeta(each)?.isLatest === true).map(({ server }) => server.version);
      expect(flagged).toEqual([pickLatest(records.map(candidateOf))?.version]);
    }
  });
  await fc.assert(property, drawing(60));
});

function documentOf(name: string, version: string): ServerJson {
  return { $schema: SCHEMA_URL, name, description: 'ordered', version };
}

/** The list is published last first, so a place in it is as good as a time. */
function candidateOf(record: ServerRecord, index: number): { version: string; deleted: boolean; publishedAt: number } {
  return { version: record.server.version, deleted: officialMeta(record)?.status === 'deleted', publishedAt: -index };
}
