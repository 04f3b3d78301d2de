import { expect, test } from 'vitest';
import { Launches } from './launches.ts';
import { condition, CREATED, facts, READY } from './testing/claims.ts';

const pending = facts({ shutdownAt: CREATED });
const warm = facts({ sandbox: 'default-1', conditions: [READY] });
const away = facts({ sandbox: 'default-1', conditions: [condition('Ready', 'False', 'DependenciesNotReady')] });

test('a claim is counted when it is ready for the first time, with the time since it came', () => {
  const launches = new Launches();
  expect(launches.look('sandboxes/one', pending, { time: 1_000, first: false })).toBeUndefined();
  expect(launches.look('sandboxes/one', warm, { time: 1_150, first: false })).toEqual({ launch: 'warm', seconds: 0.15 });
  expect(launches.look('sandboxes/one', away, { time: 2_000, first: false })).toBeUndefined();
  expect(launches.look('sandboxes/one', warm, { time: 3_000, first: false })).toBeUndefined();
});

test('another claim of the same name counts anew', () => {
  const launches = new Launches();
  launches.look('sandboxes/one', warm, { time: 0, first: false });
  const other = facts({ uid: 'another', sandbox: 'one', conditions: [READY] });
  expect(launches.look('sandboxes/one', other, { time: 0, first: false })).toEqual({ launch: 'cold', seconds: 1 });
  launches.look('sandboxes/one', undefined, { time: 0, first: false });
  expect(launches.look('sandboxes/one', warm, { time: 0, first: false })?.launch).toBe('warm');
});

test('who was ready before anybody looked is not counted, who became so since is, by its own times', () => {
  const launches = new Launches();
  expect(launches.look('sandboxes/one', warm, { time: CREATED, first: true })).toBeUndefined();
  const two = facts({ name: 'two', conditions: [READY], sandbox: 'two' });
  launches.look('sandboxes/two', facts({ name: 'two' }), { time: CREATED, first: true });
  expect(launches.look('sandboxes/two', two, { time: CREATED + 60_000, first: false })).toEqual({ launch: 'cold', seconds: 1 });
});
