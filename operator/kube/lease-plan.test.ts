import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { heldLease, LEASE_SECONDS, planLease, releasedLease, RENEW_DEADLINE_MS, sawLease, type Lease } from './lease-plan.ts';

const where = { namespace: 'toolyard', name: 'toolyard-operator' };
const wallTime = '2026-11-30T10:00:00.000Z';
const held = (identity: string, before?: Lease, time = wallTime) => heldLease(before, where, { identity, wallTime: time });
const LEASE_MS = LEASE_SECONDS * 1000;

test('a Lease that is not there is made, one that was given back is taken, one of our own is renewed', () => {
  expect(planLease(undefined, undefined, { identity: 'a', now: 0 })).toEqual({ do: 'create' });
  expect(planLease(releasedLease(held('b'), wallTime), undefined, { identity: 'a', now: 0 })).toEqual({ do: 'take' });
  expect(planLease(held('a'), undefined, { identity: 'a', now: 0 })).toEqual({ do: 'renew' });
});

test("another's Lease is taken only after it was seen unchanged for its whole duration, whatever the times in it say", () => {
  const lease = held('b', undefined, '2001-01-01T00:00:00.000Z');
  const seen = sawLease(lease, undefined, 1_000);
  expect(planLease(lease, undefined, { identity: 'a', now: 1_000 })).toEqual({ do: 'wait', holder: 'b' });
  expect(planLease(lease, seen, { identity: 'a', now: 1_000 + LEASE_MS - 1 })).toEqual({ do: 'wait', holder: 'b' });
  expect(planLease(lease, seen, { identity: 'a', now: 1_000 + LEASE_MS })).toEqual({ do: 'take' });
  const renewed = held('b', lease, '2001-01-01T00:00:02.000Z');
  expect(planLease(renewed, sawLease(renewed, seen, 15_000), { identity: 'a', now: 1_000 + LEASE_MS })).toEqual({
    do: 'wait',
    holder: 'b',
  });
});

test('a term keeps its beginning, a new one counts up', () => {
  const first = held('a');
  const renewed = held('a', first, '2026-11-30T10:00:02.000Z');
  expect(renewed.spec).toMatchObject({
    acquireTime: '2026-11-30T10:00:00.000000Z',
    renewTime: '2026-11-30T10:00:02.000000Z',
    leaseTransitions: 0,
  });
  const next = held('b', releasedLease(renewed, wallTime));
  expect(next.spec).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 });
});

test('a holder stops before any other may begin, however late each of them looks', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 30_000 }), fc.integer({ min: 0, max: 30_000 }), (renewedAt, sawAfter) => {
      const lease = held('holder');
      // the other one can only have seen a renewal after it was sent
      const seenAt = renewedAt + sawAfter;
      const seen = sawLease(lease, undefined, seenAt);
      const lastMoment = renewedAt + RENEW_DEADLINE_MS;
      expect(planLease(lease, seen, { identity: 'other', now: Math.max(lastMoment, seenAt) }).do).toBe('wait');
    }),
  );
});
