import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ClaimPolicy } from './policy.ts';
import { CREATED, SECOND } from './testing/claims.ts';
import { ClaimWorld, longestStay, type Happening } from './testing/world.ts';

/** PROPERTY_RUNS=20000 makes a long search of it; a failure prints its seed. */
const numRuns = Number(process.env['PROPERTY_RUNS'] ?? 200);
const timeout = 20_000 + numRuns * 50;

/** s; some are of the order of the policies below, some far beyond */
const lifetime = fc.oneof(fc.constant(undefined), fc.integer({ min: -60, max: 1_000 }), fc.integer({ min: 1_000, max: 10_000_000 }));
const which = fc.nat({ max: 30 });

const happening: fc.Arbitrary<Happening> = fc.oneof(
  fc.record(
    {
      is: fc.constant('create' as const),
      lifetime,
      shutdownPolicy: fc.constantFrom('Delete' as const, 'DeleteForeground' as const, 'Retain' as const, undefined),
      ttl: fc.integer({ min: 0, max: 2_000 }),
    },
    { requiredKeys: ['is', 'lifetime', 'shutdownPolicy'] },
  ),
  fc.record({ is: fc.constant('renew' as const), which, lifetime }),
  fc.record({ is: fc.constantFrom('ready' as const, 'away' as const, 'suspend' as const, 'finish' as const), which }),
  fc.record({ is: fc.constant('pass' as const), seconds: fc.integer({ min: 1, max: 400 }) }),
  fc.record({ is: fc.constantFrom('operator' as const, 'controller' as const), works: fc.boolean() }),
);

const happenings = fc.array(happening, { minLength: 5, maxLength: 60, size: 'max' });
const policies: fc.Arbitrary<ClaimPolicy> = fc.record({
  maxAgeMs: fc.integer({ min: 1, max: 1_000 }).map((seconds) => seconds * SECOND),
  graceMs: fc.integer({ min: 0, max: 120 }).map((seconds) => seconds * SECOND),
  max: fc.constantFrom(0, 1, 3, 10),
});
const start = fc.record({ now: fc.integer({ min: 0, max: 999 }).map((ms) => CREATED + ms), skew: fc.integer({ min: -3_000, max: 3_000 }) });

function assert(check: (world: ClaimWorld, policy: ClaimPolicy, events: readonly Happening[]) => void): void {
  const property = fc.property(policies, start, happenings, (policy, at, events) => {
    const world = new ClaimWorld(policy, at);
    check(world, policy, events);
    expect(world.wrongs).toEqual([]);
  });
  fc.assert(property, { numRuns });
}

test('whatever happens, no lifetime is extended, none ends before its time, none that is in use is too many', { timeout }, () => {
  assert((world, _policy, events) => {
    for (const event of events) world.happen(event);
  });
});

test('while the operator works no claim is older than the maximum, the margin and the grace; after that none is left', { timeout }, () => {
  assert((world, policy, events) => {
    const looksEveryMs = 10 * SECOND;
    for (const event of events) {
      if (event.is === 'operator') continue;
      world.happen(event);
      for (const { createdAt } of world.claims) expect(world.now - createdAt).toBeLessThan(longestStay(policy) + looksEveryMs);
    }
    // agent-sandbox itself may be gone for good
    world.happen({ is: 'controller', works: false });
    world.happen({ is: 'pass', seconds: Math.ceil(longestStay(policy) / SECOND) + 10 });
    expect(world.claims).toEqual([]);
  });
});

test('an operator that comes back ends what nobody ended meanwhile', { timeout }, () => {
  assert((world, policy, events) => {
    for (const event of events) world.happen(event);
    world.happen({ is: 'operator', works: false });
    world.happen({ is: 'pass', seconds: Math.ceil(longestStay(policy) / SECOND) });
    world.happen({ is: 'operator', works: true });
    world.happen({ is: 'controller', works: false });
    // what has no end gets one in the past first
    world.operate();
    expect(world.claims).toEqual([]);
  });
});

test('what was done once is not done again: in a steady state nothing is written', { timeout }, () => {
  assert((world, _policy, events) => {
    for (const event of events) {
      world.happen(event);
      // an end that was given may be over already, and quotas that were freed are free
      world.operate();
      world.operate();
      expect(world.operate()).toBe(0);
    }
  });
});
