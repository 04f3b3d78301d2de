import { expect, test } from 'vitest';
import { claimFacts } from './claim.ts';
import { claim, condition, CREATED, facts, READY, SECOND } from './testing/claims.ts';

test('a claim that says nothing has no end, keeps itself, and was never used', () => {
  expect(facts()).toEqual({
    key: 'sandboxes/one',
    namespace: 'sandboxes',
    name: 'one',
    uid: 'uid-of-one',
    resourceVersion: '1',
    createdAt: CREATED,
    deleting: false,
    shutdownAt: undefined,
    ttlMs: undefined,
    deletes: false,
    readyAt: undefined,
    used: false,
    finished: undefined,
    launch: undefined,
  });
});

test('times are read with fractions and zones; what is no time is none', () => {
  const withEnd = (shutdownTime: string) => {
    const made = claim();
    return claimFacts({ ...made, spec: { ...made.spec, lifecycle: { shutdownTime } } }).shutdownAt;
  };
  expect(withEnd('2026-11-30T13:00:05.5+01:00')).toBe(CREATED + 5.5 * SECOND);
  expect(withEnd('2026-11-30T23:59:60Z')).toBeUndefined();
});

test.each([
  ['Delete', true],
  ['DeleteForeground', true],
  ['Retain', false],
] as const)('after its end, %s: agent-sandbox deletes it: %s', (shutdownPolicy, deletes) => {
  expect(facts({ shutdownPolicy }).deletes).toBe(deletes);
});

test('a sandbox ended when the claim says so, in either way, and not when it is only away', () => {
  const at = CREATED + 7 * SECOND;
  const ended = (...conditions: Parameters<typeof condition>[]) =>
    facts({ conditions: conditions.map((one) => condition(...one)) }).finished;
  expect(ended(['Finished', 'True', 'PodFailed', at])).toEqual({ at, reason: 'PodFailed' });
  expect(ended(['Ready', 'False', 'PodSucceeded', at])).toEqual({ at, reason: 'PodSucceeded' });
  expect(ended(['Ready', 'False', 'SandboxExpired', at])).toEqual({ at, reason: 'SandboxExpired' });
  for (const reason of ['SandboxSuspended', 'ReconcilerError', 'WarmPoolNotFound', 'ClaimExpired', 'NobodyKnows']) {
    expect(ended(['Ready', 'False', reason, at])).toBeUndefined();
  }
  expect(ended(['Finished', 'False', 'PodSucceeded', at], ['Ready', 'True', 'DependenciesReady', at])).toBeUndefined();
});

test('who was ready once counts as used, ready or not', () => {
  expect(facts({ conditions: [READY] })).toMatchObject({ used: true, readyAt: CREATED + SECOND });
  const away = condition('Ready', 'False', 'DependenciesNotReady');
  expect(facts({ conditions: [away] })).toMatchObject({ used: false, readyAt: undefined });
  expect(facts({ conditions: [away], annotations: { 'agents.x-k8s.io/claim-first-ready-at': 'unknown' } }).used).toBe(true);
  expect(facts({ conditions: [condition('Ready', 'False', 'SandboxSuspended')] }).used).toBe(true);
});

test('a sandbox with a name of its own came from the pool', () => {
  expect(facts({ sandbox: 'default-x7k2p' }).launch).toBe('warm');
  expect(facts({ sandbox: 'one' }).launch).toBe('cold');
  expect(facts({ sandbox: '' }).launch).toBeUndefined();
});
