import { expect, test } from 'vitest';
import { newsOf } from './describe.ts';
import { planNamespace, type Action, type Write } from './plan.ts';
import { CLOCK_MARGIN_MS } from './policy.ts';
import { condition, CREATED, facts, policy, READY, SECOND, type Wish } from './testing/claims.ts';

const LATEST = CREATED + policy.maxAgeMs;
const SOON = CREATED + 300 * SECOND;

function planned(wish: Wish, now = CREATED): Action | undefined {
  return planNamespace([facts(wish)], policy, now).get('sandboxes/one');
}

test('without a lifetime a claim gets the longest that there is, from its creation', () => {
  expect(planned({})).toEqual({ do: 'shorten', to: LATEST, why: 'NoLifetime' });
  expect(planned({ conditions: [READY] }, LATEST - SECOND)).toEqual({ do: 'shorten', to: LATEST, why: 'NoLifetime' });
  // nobody looked for a long time: agent-sandbox ends it at once
  expect(planned({}, LATEST + 86_400 * SECOND)).toEqual({ do: 'shorten', to: LATEST, why: 'NoLifetime' });
});

test('a ttl after its sandbox ended is no lifetime: most never end', () => {
  expect(planned({ ttlSeconds: 5 })).toMatchObject({ do: 'shorten', why: 'NoLifetime' });
});

test('a lifetime that is too long is cut, one within the margin of clocks is not', () => {
  expect(planned({ shutdownAt: LATEST + CLOCK_MARGIN_MS + SECOND })).toEqual({ do: 'shorten', to: LATEST, why: 'LifetimeTooLong' });
  for (const shutdownAt of [LATEST + CLOCK_MARGIN_MS, LATEST]) {
    expect(planned({ shutdownAt })).toEqual({ do: 'wait', until: shutdownAt + policy.graceMs });
  }
});

test('a lifetime within the maximum is left alone until its time and a grace, whatever becomes of the claim then', () => {
  const until = SOON + policy.graceMs;
  for (const shutdownPolicy of ['Delete', 'DeleteForeground', 'Retain'] as const) {
    for (const now of [CREATED, SOON - 1, SOON, until - 1]) {
      expect(planned({ shutdownAt: SOON, shutdownPolicy }, now)).toEqual({ do: 'wait', until });
    }
    expect(planned({ shutdownAt: SOON, shutdownPolicy }, until)).toEqual({ do: 'delete', why: 'Expired' });
  }
});

test('agent-sandbox saying that a claim expired does not end one that got more time since', () => {
  const conditions = [condition('Ready', 'False', 'ClaimExpired', CREATED)];
  expect(planned({ shutdownAt: SOON, conditions }, SOON)).toMatchObject({ do: 'wait' });
});

test('a claim whose sandbox ended is deleted after a grace, with a ttl after that', () => {
  const at = CREATED + 10 * SECOND;
  const conditions = [condition('Finished', 'True', 'PodSucceeded', at)];
  expect(planned({ shutdownAt: SOON, conditions }, at)).toEqual({ do: 'wait', until: at + policy.graceMs });
  expect(planned({ shutdownAt: SOON, conditions }, at + policy.graceMs)).toEqual({ do: 'delete', why: 'Finished' });
  const withTtl = { shutdownAt: SOON, conditions, ttlSeconds: 100 };
  expect(planned(withTtl, at + policy.graceMs)).toEqual({ do: 'wait', until: at + 100 * SECOND + policy.graceMs });
  expect(planned(withTtl, at + 100 * SECOND + policy.graceMs)).toEqual({ do: 'delete', why: 'Finished' });
  // its lifetime may be over first
  expect(planned({ ...withTtl, ttlSeconds: 3600 }, SOON + policy.graceMs)).toEqual({ do: 'delete', why: 'Expired' });
});

test('a claim that is being deleted is left alone', () => {
  expect(planned({ deleting: true }, LATEST * 2)).toEqual({ do: 'nothing' });
});

test('of too many claims the newest go that never were ready; what is over makes room by itself', () => {
  const names = (wishes: readonly Wish[], max: number) => {
    const claims = wishes.map((wish, index) =>
      facts({ shutdownAt: SOON, createdAt: CREATED + index * SECOND, name: `c${index}`, ...wish }),
    );
    const actions = planNamespace(claims, { ...policy, max }, CREATED + 100 * SECOND);
    return claims
      .filter(({ key }) => {
        const action = actions.get(key);
        return action?.do === 'delete' && action.why === 'OverQuota';
      })
      .map(({ name }) => name);
  };
  const ready = { conditions: [READY] };
  const finished = { conditions: [condition('Finished', 'True', 'PodFailed', CREATED + 90 * SECOND)] };
  expect(names([{}, {}, {}], 2)).toEqual(['c2']);
  expect(names([{}, {}, {}], 0)).toEqual([]);
  expect(names([{}, {}, {}], 3)).toEqual([]);
  // those in use keep their places, however new
  expect(names([{}, ready, ready], 2)).toEqual(['c0']);
  expect(names([ready, ready, ready, {}], 2)).toEqual(['c3']);
  expect(names([finished, { deleting: true }, { shutdownAt: CREATED }, {}, {}, {}], 2)).toEqual(['c5']);
  // made within one second: the order is the same each time
  expect(
    names(
      [
        { createdAt: CREATED, name: 'b' },
        { createdAt: CREATED, name: 'a' },
      ],
      1,
    ),
  ).toEqual(['b']);
});

test('what is done is told in words, with the setting that asks for it', () => {
  const tell = (wish: Wish, now: number, max = 0) => {
    const claims = [facts(wish)];
    const action = planNamespace(claims, { ...policy, max }, now).get('sandboxes/one');
    return claims.map((claim) => newsOf(claim, action as Write, { ...policy, max }))[0];
  };
  expect(tell({}, CREATED)).toEqual({
    type: 'Normal',
    reason: 'NoLifetime',
    message: 'it has no shutdownTime: it ends at 2026-11-30T16:00:00Z, since claims live for 14400 s at most here (CLAIM_MAX_AGE_SECONDS)',
  });
  expect(tell({ shutdownAt: LATEST + 86_400 * SECOND }, CREATED)?.message).toMatch(/^its shutdownTime was 2026-12-01T16:00:00Z: it ends /);
  expect(tell({ shutdownAt: SOON }, SOON + policy.graceMs)).toEqual({
    type: 'Normal',
    reason: 'Expired',
    message: 'deleted: its lifetime was over at 2026-11-30T12:05:00Z, and it was still there after 60 s (CLAIM_GRACE_SECONDS)',
  });
  const conditions = [condition('Finished', 'True', 'PodFailed', SOON)];
  expect(tell({ conditions }, SOON + policy.graceMs)?.message).toMatch(
    /^deleted: its sandbox had ended \(PodFailed\) at 2026-11-30T12:05:00Z/,
  );
  const many = [facts(), facts({ name: 'two' })];
  const action = planNamespace(many, { ...policy, max: 1 }, CREATED).get('sandboxes/two');
  expect(newsOf(many[1] ?? facts(), action as Write, { ...policy, max: 1 })).toEqual({
    type: 'Warning',
    reason: 'OverQuota',
    message: 'deleted before it was ready: sandboxes may have 1 claims (CLAIMS_MAX); try again when others have ended',
  });
});
