import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { quantile } from '../../bench/figures.ts';
import { officialMeta } from '../../lib/registry-api/server-json.ts';
import { now, OPERATOR, writesSince } from './testing/audit.ts';
import { api, eventually } from './testing/cluster.ts';
import { clear, declaration, declare, latest, published, recordOf, registry, TEAM_A } from './testing/yard.ts';

const MANY = 500;
const AT_A_TIME = 8;
const names = Array.from({ length: MANY }, (_, index) => `many-${index}`);
const QUIET_MS = Number(process.env['QUIET_SECONDS'] ?? 120) * 1000;

const say = (what: string, ms: readonly number[]): void => {
  const [p50, p99] = [0.5, 0.99].map((q) => Math.round(quantile(ms, q)));
  process.stderr.write(`${what}: p50 ${p50} ms, p99 ${p99} ms of ${ms.length}\n`);
};

beforeAll(clear);
afterAll(clear);

describe('declarations become records', () => {
  test('one after the other', async () => {
    const took: number[] = [];
    for (let index = 0; index < 30; index += 1) {
      const name = `one-${index}`;
      const began = performance.now();
      await declare({ name });
      await published(recordOf(name), undefined, { everyMs: 10 });
      took.push(performance.now() - began);
    }
    say('applied to readable, one at a time', took);
    expect(quantile(took, 0.5)).toBeLessThan(5000);
  });

  test(`${MANY} at once, and then nothing is written any more`, { timeout: 900_000 }, async () => {
    const appliedAt = new Map<string, number>();
    const readableAt = new Map<string, number>();
    const waiting = [...names];
    const apply = async (): Promise<void> => {
      for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
        appliedAt.set(recordOf(name), performance.now());
        await api.create(declaration({ name }));
      }
    };
    const began = performance.now();
    const applying = Promise.all(Array.from({ length: AT_A_TIME }, apply));
    const client = await registry();
    await eventually(
      'every record',
      async () => {
        for (const { server } of await client.listAll({ version: 'latest' })) {
          if (!readableAt.has(server.name)) readableAt.set(server.name, performance.now());
        }
        return names.every((name) => readableAt.has(recordOf(name)));
      },
      { timeoutMs: 600_000, everyMs: 50 },
    );
    await applying;
    process.stderr.write(`${MANY} declarations, all readable after ${Math.round(performance.now() - began)} ms\n`);
    say(
      `applied to readable, ${MANY} at once`,
      [...appliedAt].map(([name, at]) => (readableAt.get(name) ?? Infinity) - at),
    );

    await eventually(
      'every status',
      async () => {
        const maps = await api.list({ kind: 'ConfigMap', namespace: TEAM_A, selector: 'toolyard.dev/state=Published' });
        return maps.length >= MANY;
      },
      { timeoutMs: 300_000, everyMs: 1000 },
    );
    await quiet();
    const [cluster, records] = [await now(), await changes()];
    await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
    expect(await writesSince(cluster, OPERATOR)).toEqual([]);
    expect(await changes()).toEqual(records);
    expect(await latest(recordOf('many-0'))).toBeDefined();
  });
});

/** Resolves when the operator has written nothing for some time: Events of what just happened follow a little later. */
async function quiet(): Promise<void> {
  let [mark, since] = [await now(), performance.now()];
  await eventually(
    'the operator to fall silent',
    async () => {
      if ((await writesSince(mark, OPERATOR)).length > 0) [mark, since] = [await now(), performance.now()];
      return performance.now() - since > 10_000;
    },
    { timeoutMs: 300_000, everyMs: 1000 },
  );
}

/** When each record was changed last. */
async function changes(): Promise<readonly string[]> {
  const records = await (await registry()).listAll({ includeDeleted: true });
  return records.map((record) => `${record.server.name} ${record.server.version} ${officialMeta(record)?.updatedAt}`).toSorted();
}
