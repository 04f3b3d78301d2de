import type { NoCredentials } from './source.ts';

/** What one probe found. Only protocol facts: nothing that the other side wrote is repeated, save the names of its tools. */
export type Verdict = { readonly is: 'answers'; readonly protocol: string; readonly tools: ToolInventory } | AuthRequired | Failure;

/** The server is there, but does not talk to everybody. */
export interface AuthRequired {
  readonly is: 'auth-required';
  readonly status: 401 | 403;
  /** what became of the credentials that the declaration names; absent when it names none */
  readonly credentials?: NoCredentials | 'elsewhere' | 'refused';
}

export interface Failure {
  readonly is: 'fails';
  readonly reason: FailureReason;
  /** what happened and what to do next; the same text for the same fault, so that repeating it changes nothing */
  readonly message: string;
}

export type FailureReason =
  | 'ConnectionRefused'
  | 'ConnectionLost'
  | 'TimedOut'
  | 'NameNotResolved'
  | 'TlsFailed'
  | 'AddressRefused'
  | 'Redirected'
  | 'HttpError'
  | 'NotMcp'
  | 'InvalidAnswer'
  | 'AnswerTooLarge'
  | 'TooManyTools';

export interface ToolInventory {
  readonly count: number;
  /** `sha256:` and 64 hex digits over names, descriptions and schemas, whatever their order */
  readonly digest: string;
  /** sorted */
  readonly names: readonly string[];
}

/** All that is remembered of one address. */
export interface Answer {
  /** of the last probe that ended */
  readonly verdict?: Verdict;
  /** Unix time of its end, ms */
  readonly at?: number;
  /** the last that was no failure */
  readonly good?: Exclude<Verdict, Failure>;
  /** failures in a row */
  readonly failures: number;
  /** when the first of them ended */
  readonly failingSince?: number;
  /** it answered before, or a published record says that it did: then a failure is news */
  readonly expected: boolean;
}

/** What an address lets its record do. */
export type Reach =
  | { readonly is: 'unasked' }
  | { readonly is: 'answers'; readonly verdict: Exclude<Verdict, Failure> }
  /** failing, but not yet for sure; the last good answer counts on where there was one */
  | { readonly is: 'doubtful'; readonly failure: Failure; readonly good?: Exclude<Verdict, Failure> }
  /** failed at least STRIKES times in a row, and others are still heard */
  | { readonly is: 'silent'; readonly failure: Failure }
  | { readonly is: 'none'; readonly reason: 'ProbeOff' | 'NoRemote' | 'Variables'; readonly message: string };

/** Failures in a row after which a published record is deprecated. */
export const STRIKES = 3;

export const unasked: Answer = { failures: 0, expected: false };

/** An answer after one more probe. */
export function afterProbe(before: Answer, verdict: Verdict, at: number): Answer {
  if (verdict.is !== 'fails') return { verdict, good: verdict, at, failures: 0, expected: true };
  return { ...before, verdict, at, failures: before.failures + 1, failingSince: before.failingSince ?? at };
}

export interface Pace {
  /** time between probes of a server that answers, ms */
  readonly intervalMs: number;
}

/** First wait for a server that never answered; doubles from try to try. */
const FIRST_RETRY_MS = 100;
/** For this long somebody is probably waiting for the server to come up. */
const PATIENCE_MS = 5 * 60_000;
/** Waits spread by this part either way, so that servers declared together are not probed together for ever. */
const JITTER = 0.1;

/**
 * Time until the next probe, ms. A server that answers is asked every interval; one whose declaration names credentials that cannot be had
 * four times as often, since somebody is probably about to provide them. One that stops answering is asked again after half an
 * interval, so that three strikes take one. One that is not up yet: after 100 ms, doubling, up to a quarter of an interval for 5 minutes and
 * to 4 intervals then, for ever.
 */
export function nextProbeIn(
  { failures, failingSince, expected, verdict }: Answer,
  { intervalMs }: Pace,
  { now, random }: { now: number; random: number },
): number {
  const jittered = (ms: number): number => ms * (1 - JITTER + 2 * JITTER * random);
  if (failures === 0) return jittered(lacksCredentials(verdict) ? intervalMs / 4 : intervalMs);
  if (expected && failures < STRIKES) return jittered(intervalMs / 2);
  const limit = now - (failingSince ?? now) < PATIENCE_MS ? intervalMs / 4 : intervalMs * 4;
  return jittered(Math.min(FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 30), limit));
}

/** Not of those that were refused: a server may count these. */
function lacksCredentials(verdict: Verdict | undefined): boolean {
  return verdict?.is === 'auth-required' && verdict.credentials !== undefined && verdict.credentials !== 'refused';
}

/** What the operator makes of all answers together. */
export interface Judgement {
  /** addresses of which it is sure that they stopped answering, or never did */
  readonly silent: ReadonlySet<string>;
  /** most of the servers that answered stopped together: the fault is probably here, not there */
  readonly selfSuspicion: boolean;
}

/** Fewer servers that fail together are not suspicious, however few there are. */
const FEWEST_SUSPICIOUS = 3;

/**
 * Decides which addresses are silent. Three strikes make one a candidate. When more than half, and at least 3, of the servers that answered
 * until then stop within one interval, the operator suspects itself and none of them counts as silent; nor does it decide while those
 * that were not asked again yet could still make it so.
 */
export function judge(answers: ReadonlyMap<string, Answer>, { intervalMs }: Pace): Judgement {
  const known = [...answers.values()].filter(({ expected }) => expected);
  const failing = sorted(known.flatMap(({ failingSince }) => failingSince ?? []));
  const heard = sorted(known.filter(({ failingSince }) => failingSince === undefined).map(({ at }) => at ?? -Infinity));
  const together = intervalMs * (1 + 2 * JITTER);
  const silent = new Set<string>();
  let selfSuspicion = false;
  for (const [key, { expected, failures, failingSince: since = 0 }] of answers) {
    if (failures < STRIKES) continue;
    const longDown = countBelow(failing, since - together);
    const all = known.length - longDown;
    const down = countBelow(failing, since + together) - longDown;
    const notAskedSince = countBelow(heard, since);
    selfSuspicion ||= expected && isSuspicious(down, all);
    if (!expected || !isSuspicious(down + notAskedSince, all)) silent.add(key);
  }
  return { silent, selfSuspicion };
}

function isSuspicious(down: number, all: number): boolean {
  return down >= FEWEST_SUSPICIOUS && down * 2 > all;
}

/** A typed array sorts numbers without calling back for each pair. */
function sorted(numbers: readonly number[]): Float64Array {
  return Float64Array.from(numbers).sort();
}

/** How many of these sorted numbers are smaller, by halving: with a thousand servers down this is asked often. */
function countBelow(numbers: Float64Array, limit: number): number {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((numbers[middle] ?? Infinity) < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** What an address lets its record do, given what the operator is sure of. */
export function reachOf(answer: Answer, isSilent: boolean): Reach {
  const { verdict, good } = answer;
  if (verdict === undefined) return { is: 'unasked' };
  if (verdict.is !== 'fails') return { is: 'answers', verdict };
  if (isSilent) return { is: 'silent', failure: verdict };
  return { is: 'doubtful', failure: verdict, ...(good !== undefined && { good }) };
}
