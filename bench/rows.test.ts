import { expect, test } from 'vitest';
import { measuredOf, merged, tableOf, verdictOf, type Row } from './rows.ts';

const peer = (...values: number[]) => ({ name: 'the peer', values });

test('a ratio above 1 means that ours is better, whether more is better or less', () => {
  const faster = measuredOf({ name: 'a', unit: '1/s', better: 'higher' }, [200, 300, 250], peer(100, 100, 100));
  expect([faster.row.ratio, faster.ratios]).toEqual([2.5, { min: 2, median: 2.5, max: 3 }]);
  const leaner = measuredOf({ name: 'a', unit: 'MB', better: 'lower' }, [50], peer(100));
  expect(leaner.row.ratio).toBe(2);
});

test('with a peer the ratio has to reach the target, without one our median', () => {
  const against = (target: number) => measuredOf({ name: 'a', unit: '1/s', better: 'higher', target }, [200], peer(100)).row;
  expect([verdictOf(against(2)), verdictOf(against(2.1))]).toEqual(['ok', 'MISSED']);
  const alone = (better: 'higher' | 'lower') => measuredOf({ name: 'a', unit: 'ms', better, target: 300 }, [200]).row;
  expect([verdictOf(alone('lower')), verdictOf(alone('higher'))]).toEqual(['ok', 'MISSED']);
  expect(verdictOf(measuredOf({ name: 'a', unit: 'ms', better: 'lower' }, [200]).row)).toBe('');
});

test('a row has exactly the keys that readers of the file rely on', () => {
  const { row } = measuredOf({ name: 'a', unit: '1/s', better: 'higher', target: 1.5 }, [1, 2, 3], peer(4, 5, 6));
  expect(row).toEqual({
    name: 'a',
    unit: '1/s',
    better: 'higher',
    ours: { min: 1, median: 2, max: 3 },
    peer: { name: 'the peer', min: 4, median: 5, max: 6 },
    ratio: 0.4,
    target: 1.5,
  });
  expect(measuredOf({ name: 'b', unit: 's', better: 'lower' }, [1]).row).toMatchObject({ peer: null, ratio: null, target: null });
});

test('a later run replaces its own rows in their places and adds new ones at the end', () => {
  const row = (name: string, value: number): Row => measuredOf({ name, unit: '', better: 'higher' }, [value]).row;
  expect(merged([row('a', 1), row('b', 1)], [row('c', 2), row('a', 2)])).toEqual([row('a', 2), row('b', 1), row('c', 2)]);
});

test('the table says what was measured against whom, and which target was missed', () => {
  const table = tableOf([
    measuredOf({ name: 'publish', unit: '1/s', better: 'higher', target: 1.5 }, [1000, 1200], peer(1000, 1000)),
    measuredOf({ name: 'start', unit: 's', better: 'lower', target: 3 }, [1.23456]),
  ]);
  expect(table).toMatch(
    /^Against the peer\n.*\n {2}publish +1\/s +1,100 +\(1,000 – 1,200\) +1,000 .* 1\.1 +\(1 – 1\.2\) +≥ 1\.5 +MISSED$/m,
  );
  expect(table).toMatch(/^Ours alone\n.*\n {2}start +s +1\.23 +\(1\.23 – 1\.23\) +≤ 3 +ok$/m);
});
