import { afterAll, describe, expect, test } from 'vitest';
import { allowedDifferences } from './differences.ts';
import { fresh } from './groups/fresh.ts';
import { life } from './groups/life.ts';
import { publishing } from './groups/publishing.ts';
import { random } from './groups/random.ts';
import { reading } from './groups/reading.ts';
import { TwoRegistries } from './two-registries.ts';

const MIN_REQUESTS = 400;

const usual = await TwoRegistries.start();
const strict = await TwoRegistries.startOwn(
  { anonymousAuth: false, more: { ENABLE_REGISTRY_VALIDATION: 'true' } },
  { ALLOW_LOCAL_REMOTES: 'true' },
);

afterAll(async () => {
  await Promise.all([usual.close(), strict.close()]);
});

describe('a fresh registry', () => {
  fresh(strict);
});
describe('reading', () => {
  reading(usual);
});
describe('publishing', () => {
  publishing(usual);
});
describe('the life of a record', () => {
  life(usual);
});

describe('random requests', () => {
  random(usual);
});

const shown = allowedDifferences.flatMap(({ what, proof }) => (proof.by === 'request' ? [{ what, ...proof }] : []));

describe('what may differ', () => {
  test.for(shown)('$what', async ({ show, expected }) => {
    expect(await show({ usual, strict })).toEqual(expected);
  });
});

test(`at least ${MIN_REQUESTS} requests were compared, and every allowed difference was met`, () => {
  const rows = [...strict.tallies, ...usual.tallies].map(([group, { requests, allowed }]) => {
    const needed = [...allowed].map(([what, times]) => `${what} ${times}`).join(', ');
    return `${group}: ${requests} requests; allowed differences met: ${needed || 'none'}`;
  });
  process.stdout.write(`${rows.join('\n')}\n`);
  const tallies = [...usual.tallies.values()];
  expect(tallies.reduce((sum, { requests }) => sum + requests, 0)).toBeGreaterThan(MIN_REQUESTS);
  const isMet = (what: string): boolean => tallies.some(({ allowed }) => allowed.has(what));
  const unmet = allowedDifferences.filter(({ what, proof }) => proof.by === 'comparison' && !isMet(what));
  expect(unmet.map(({ what }) => what)).toEqual([]);
});
