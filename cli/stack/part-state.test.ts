import { expect, test } from 'vitest';
import { afterAnswer, type Answer, type Life, type PartState } from './part-state.ts';

const newborn: Life = { wasReady: false };
const busy: Answer = { is: 'unready', reason: 'looks for bubblewrap' };

function hear(state: PartState, answer: Answer, about: { life?: Life; ageMs?: number } = {}) {
  return afterAnswer(state, answer, { life: about.life ?? newborn, ageMs: about.ageMs ?? 100 });
}

test('what a part is still finding out counts as starting, for five seconds from its first answer on', () => {
  const first = hear({ is: 'starting' }, busy, { ageMs: 8_000 });
  expect(first.state).toEqual({ is: 'starting', reason: 'looks for bubblewrap' });
  expect(hear(first.state, busy, { life: first.life, ageMs: 12_999 }).state).toEqual(first.state);
  expect(hear(first.state, busy, { life: first.life, ageMs: 13_000 }).state).toEqual({ is: 'unready', reason: 'looks for bubblewrap' });
});

test('a part that was ready in this life and is not any more is unready at once', () => {
  const ready = hear({ is: 'starting' }, { is: 'ready' }, { ageMs: 400 });
  expect(ready.state).toEqual({ is: 'ready', tookMs: 400 });
  expect(hear(ready.state, busy, { life: ready.life, ageMs: 500 }).state).toEqual({ is: 'unready', reason: 'looks for bubblewrap' });
});

test('silence is nothing new while a part starts, and a loss afterwards', () => {
  expect(hear({ is: 'starting' }, { is: 'silent' }).state).toEqual({ is: 'starting' });
  expect(hear({ is: 'ready', tookMs: 1 }, { is: 'silent' }).state).toMatchObject({ is: 'unready' });
});

test('the same answer again changes nothing, so that it is told once', () => {
  const states: readonly [PartState, Answer][] = [
    [{ is: 'starting' }, { is: 'silent' }],
    [{ is: 'ready', tookMs: 1 }, { is: 'ready' }],
    [{ is: 'unready', reason: 'it does not answer /readyz' }, { is: 'silent' }],
    [{ is: 'starting', reason: 'looks for bubblewrap' }, busy],
  ];
  for (const [state, answer] of states) expect(hear(state, answer).state).toBe(state);
});
