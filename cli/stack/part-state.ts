/** How far a part of the stack is. */
export type PartState =
  /** `reason`: it answers already, and says what it is still waiting for */
  | { is: 'starting'; reason?: string }
  | { is: 'ready'; tookMs: number }
  /** it runs and says itself that it cannot do its job; the reason says what to do */
  | { is: 'unready'; reason: string }
  | { is: 'restarting'; why: string; delayMs: number }
  /** given up; `settings`: it refused them */
  | { is: 'failed'; why: string; settings: boolean; lastLines: readonly string[] }
  | { is: 'stopped' };

/** What a part said to GET /readyz. */
export type Answer = { is: 'ready' } | { is: 'unready'; reason: string } | { is: 'silent' };

/** A part since it was started last. */
export interface Life {
  /** its age when it answered for the first time, ms */
  readonly answeredMs?: number;
  readonly wasReady: boolean;
}

/** What a part says in the first seconds in which it says anything may be about to change. */
const GRACE_MS = 5_000;

/** What an answer makes of a part that is `ageMs` old; the same state when it tells nothing new. Pure. */
export function afterAnswer(
  state: PartState,
  answer: Answer,
  { life, ageMs }: { life: Life; ageMs: number },
): { state: PartState; life: Life } {
  if (answer.is === 'silent') {
    const lost = state.is === 'ready' || state.is === 'unready';
    return { life, state: lost ? unlessSame(state, { is: 'unready', reason: 'it does not answer /readyz' }) : state };
  }
  const answeredMs = life.answeredMs ?? ageMs;
  if (answer.is === 'ready') {
    return { life: { answeredMs, wasReady: true }, state: state.is === 'ready' ? state : { is: 'ready', tookMs: ageMs } };
  }
  const is = life.wasReady || ageMs - answeredMs >= GRACE_MS ? 'unready' : 'starting';
  return { life: { ...life, answeredMs }, state: unlessSame(state, { is, reason: answer.reason }) };
}

function unlessSame(before: PartState, after: PartState & { reason: string }): PartState {
  return before.is === after.is && 'reason' in before && before.reason === after.reason ? before : after;
}
