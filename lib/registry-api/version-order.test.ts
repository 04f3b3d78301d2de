import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { compareVersions, isSemver, pickLatest } from './version-order.ts';

const semantic = [
  ['1.0.0--', '1.0.0-0', '1.0.0-1', '1.0.0-A', '1.0.0-a', '1.0.0-a.1', '1.0.0-a.b', '1.0.0-a-b', '1.0.0-alpha', '1.0.0'],
  [
    '0.9.0',
    '1.0.0',
    '1.0.1',
    '1.9.0',
    '1.10.0',
    '2.0.0-rc',
    '2.0.0-rc.1',
    '2.0.0-rc.2',
    '2.0.0-rc.10',
    '2.0.0',
    '99999999999999999999.0.0',
  ],
];
const other = [
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
  '1.0.0\n',
  'snapshot',
  '',
];
const any = fc.constantFrom(...semantic.flat(), 'v1.0.0', '1.0.0+b', ...other);

test('a semantic version has exactly three numbers without leading zeros, and may begin with v', () => {
  for (const version of [...semantic.flat(), 'v1.0.0', '1.0.0+b', '1.0.0-01a'])
    expect([version, isSemver(version)]).toEqual([version, true]);
  for (const version of other) expect([version, isSemver(version)]).toEqual([version, false]);
});

test('semantic versions are ordered by precedence', () => {
  const [prereleases = [], releases = []] = semantic;
  for (const ordered of [prereleases.slice(1), releases]) {
    for (const [index, version] of ordered.slice(1).entries()) {
      expect([ordered[index], version, compareVersions(ordered[index] ?? '', version)]).toEqual([ordered[index], version, -1]);
    }
  }
});

test('a leading v and build metadata do not count', () => {
  expect(compareVersions('v1.0.0', '1.0.0+b')).toBe(0);
});

test('a semantic version beats any other, and others leave it to the time', () => {
  fc.assert(
    fc.property(any, fc.constantFrom(...other), (version, odd) => {
      expect(compareVersions(version, odd)).toBe(isSemver(version) ? 1 : undefined);
    }),
  );
});

test('the order is antisymmetric and transitive', () => {
  fc.assert(
    fc.property(any, any, any, (a, b, c) => {
      const ab = compareVersions(a, b);
      expect(compareVersions(b, a)).toBe(ab === undefined ? undefined : ab === 0 ? 0 : -ab);
      const descending = ab === 1 && compareVersions(b, c) === 1;
      expect(descending && compareVersions(a, c) !== 1).toBe(false);
    }),
  );
});

const candidates = fc.array(fc.record({ version: any, deleted: fc.boolean() }), { minLength: 1, maxLength: 8 }).map((all) => {
  return all.map((one, index) => ({ ...one, publishedAt: index }));
});

test('the latest is deleted only when all are', () => {
  fc.assert(
    fc.property(candidates, (all) => {
      expect(pickLatest(all)?.deleted).toBe(all.every(({ deleted }) => deleted));
    }),
  );
});

test('no other eligible version ranks above the latest, and of equals it was published last', () => {
  fc.assert(
    fc.property(candidates, (all) => {
      const latest = pickLatest(all);
      const rivals = all.filter((one) => one !== latest && one.deleted === latest?.deleted);
      for (const rival of rivals) {
        const order = compareVersions(rival.version, latest?.version ?? '') ?? 0;
        expect(order === -1 || (order === 0 && rival.publishedAt < (latest?.publishedAt ?? -1))).toBe(true);
      }
    }),
  );
});

test('of no versions none is the latest', () => {
  expect(pickLatest([])).toBeUndefined();
});
