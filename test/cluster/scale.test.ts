import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { quantile } from '../../bench/figures.ts';
import { officialMeta } from '../../lib/registry-api/server-json.ts';
import { now, OPERATOR, writesSince } from './testing/audit.ts';
import { declareInTurn, declareTogether, settled } from './testing/scale.ts';
import { clear, latest, recordOf, registry } from './testing/yard.ts';

const MANY = 500;
const namesOf = (what: string, count: number): readonly string[] => Array.from({ length: count }, (_, index) => `${what}-${index}`);
/** How long nothing may be written: ten minutes, unless CI has less time. */
const QUIET_MS = Number(process.env['QUIET_SECONDS'] ?? 600) * 1000;

const say = (what: string, ms: readonly number[]): void => {
  const [p50, p99, most] = [0.5, 0.99, 1].map((q) => Math.round(quantile(ms, q)));
  process.stderr.write(`${what}: p50 ${p50} ms, p99 ${p99} ms, at most ${most} ms of ${ms.length}\n`);
};

beforeAll(clear);
afterAll(clear);

describe('declarations become records', () => {
  test('one after the other', async () => {
    const took = await declareInTurn(namesOf('one', 30));
    say('applied to readable, one at a time', took);
    expect(quantile(took, 0.5)).toBeLessThan(5000);
  });

  test(`${MANY} at once, and then nothing is written any more`, { timeout: 1_200_000 + QUIET_MS }, async () => {
    say(`applied to readable, ${MANY} at once`, await declareTogether(namesOf('many', MANY)));
    await settled(MANY);
    const [cluster, records] = [await now(), await changes()];
    await delay(QUIET_MS);
    expect(await writesSince(cluster, OPERATOR)).toEqual([]);
    expect(await changes()).toEqual(records);
    expect(await latest(recordOf('many-0'))).toBeDefined();
  });
});

/** When each record was changed last. */
async function changes(): Promise<readonly string[]> {
  const records = await (await registry()).listAll({ includeDeleted: true });
  return records.map((record) => `${record.server.name} ${record.server.version} ${officialMeta(record)?.updatedAt}`).toSorted();
}
