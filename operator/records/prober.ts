import PQueue from 'p-queue';
import type { Log } from '../../lib/log.ts';
import {
  afterProbe,
  judge,
  nextProbeIn,
  reachOf,
  STRIKES,
  unasked,
  type Answer,
  type Judgement,
  type Reach,
  type Verdict,
} from './answers.ts';
import { steadyNow } from './steady.ts';
import { targetKey, type Address, type Target } from './target.ts';

/** One handshake; throws only the signal's reason. */
export type Probe = (address: Address, signal: AbortSignal) => Promise<Verdict>;

export interface ProberOptions {
  readonly probe: Probe;
  readonly intervalMs: number;
  readonly log: Log;
  /** what these addresses let their records do has changed */
  readonly onChange: (keys: ReadonlySet<string>) => void;
  /** after each probe, whether that changed anything or not */
  readonly onProbe?: (verdict: Verdict, seconds: number) => void;
  /** how long this process could not run since a time of `performance.now()`, ms; @default it always could */
  readonly lostSince?: (since: number) => number;
  readonly now?: () => number;
  /** from 0 up to 1 */
  readonly random?: () => number;
}

/** What somebody wants to know about an address. */
export interface Wanted {
  readonly address: Address;
  /** a published record says that it answers */
  readonly expected: boolean;
}

interface Asked {
  readonly address: Address;
  answer: Answer;
  /** probes in a row that were no strike */
  excused: number;
  /** names of records that depend on it */
  readonly wantedBy: Set<string>;
  timer: NodeJS.Timeout | undefined;
  /** Unix ms; undefined while a probe waits or runs */
  nextAt: number | undefined;
  readonly gone: AbortController;
}

/**
 * Servers that answered last time, those asked for the first time, and those that fail have this many connections each: however many
 * hang, the others are not delayed.
 */
const PROBES_AT_A_TIME = 32;
/** Many servers that fail must not keep the operator busy: together they are asked at most this often. */
const FAILING_PER_SECOND = 20;
/** A probe that ran out of time says nothing about the server when this process could not run for this part of it: it is no strike. */
const LOST_PART = 0.25;
/** But not for ever: a server that keeps this process busy must not keep others from being told as silent. */
const MOST_EXCUSED = 5;
type Lane = 'good' | 'new' | 'failing';

const ALL_WELL: Judgement = { silent: new Set(), selfSuspicion: false };

/** Asks every wanted address again and again, each at its own pace, and remembers what it said. */
export class Prober {
  readonly #options: ProberOptions;
  readonly #now: () => number;
  readonly #random: () => number;
  readonly #asked = new Map<string, Asked>();
  /** name to keys of addresses */
  readonly #wants = new Map<string, ReadonlySet<string>>();
  readonly #lanes: Readonly<Record<Lane, PQueue>>;
  /** keys of addresses that failed often enough to be judged */
  readonly #struck = new Set<string>();
  #judgement: Judgement = ALL_WELL;

  constructor(options: ProberOptions) {
    this.#options = options;
    this.#now = options.now ?? steadyNow;
    this.#random = options.random ?? Math.random;
    const concurrency = PROBES_AT_A_TIME;
    const failing = new PQueue({ concurrency, interval: 1000, intervalCap: FAILING_PER_SECOND });
    this.#lanes = { good: new PQueue({ concurrency }), new: new PQueue({ concurrency }), failing };
  }

  /** most servers stopped at once */
  get selfSuspicion(): boolean {
    return this.#judgement.selfSuspicion;
  }

  reach(target: Target): Reach {
    if (target.is === 'none') return target;
    const key = targetKey(target);
    return reachOf(this.#asked.get(key)?.answer ?? unasked, this.#judgement.silent.has(key));
  }

  /** When an address that does not answer is asked next, Unix ms. */
  nextProbeAt(address: Address): number | undefined {
    const asked = this.#asked.get(targetKey(address));
    return asked === undefined || asked.answer.failures === 0 ? undefined : asked.nextAt;
  }

  /** From now on this name depends on these addresses and no others. New ones are asked at once; unwanted ones are forgotten. */
  want(name: string, wanted: readonly Wanted[]): void {
    const before = this.#wants.get(name) ?? new Set();
    const now = new Set(wanted.map(({ address }) => targetKey(address)));
    if (now.size === 0) this.#wants.delete(name);
    else this.#wants.set(name, now);
    for (const { address, expected } of wanted) this.#want(name, address, expected);
    for (const key of before.difference(now)) this.#unwant(name, key);
  }

  /** Asks the failing addresses of a name now: somebody changed its declaration, so a change of its server is likely. */
  hurry(name: string): void {
    for (const key of this.#wants.get(name) ?? []) {
      const asked = this.#asked.get(key);
      if (asked !== undefined && asked.answer.failures > 0 && asked.nextAt !== undefined) this.#schedule(asked, 0);
    }
  }

  async close(): Promise<void> {
    for (const { timer, gone } of this.#asked.values()) {
      clearTimeout(timer);
      gone.abort();
    }
    this.#asked.clear();
    for (const lane of Object.values(this.#lanes)) lane.clear();
    await Promise.all(Object.values(this.#lanes).map((lane) => lane.onIdle()));
  }

  #want(name: string, address: Address, expected: boolean): void {
    const key = targetKey(address);
    const known = this.#asked.get(key);
    const asked = known ?? {
      address,
      answer: unasked,
      excused: 0,
      wantedBy: new Set<string>(),
      timer: undefined,
      nextAt: undefined,
      gone: new AbortController(),
    };
    asked.wantedBy.add(name);
    if (expected && !asked.answer.expected) asked.answer = { ...asked.answer, expected };
    if (known !== undefined) return;
    this.#asked.set(key, asked);
    this.#enqueue(key, asked);
  }

  #unwant(name: string, key: string): void {
    const asked = this.#asked.get(key);
    if (asked?.wantedBy.delete(name) !== true || asked.wantedBy.size > 0) return;
    this.#asked.delete(key);
    this.#struck.delete(key);
    clearTimeout(asked.timer);
    asked.gone.abort();
  }

  #schedule(asked: Asked, delayMs: number): void {
    clearTimeout(asked.timer);
    asked.nextAt = this.#now() + delayMs;
    asked.timer = setTimeout(() => this.#enqueue(targetKey(asked.address), asked), delayMs);
    asked.timer.unref();
  }

  #enqueue(key: string, asked: Asked): void {
    asked.nextAt = undefined;
    const { verdict } = asked.answer;
    const lane: Lane = verdict === undefined ? 'new' : verdict.is === 'fails' ? 'failing' : 'good';
    const done = this.#lanes[lane].add(() => this.#ask(key, asked));
    done.catch((error: unknown) => this.#options.log.error({ err: error, url: asked.address.url }, 'what a probe found could not be used'));
  }

  async #ask(key: string, asked: Asked): Promise<void> {
    if (asked.gone.signal.aborted) return;
    const startedAt = performance.now();
    let verdict: Verdict;
    try {
      verdict = await this.#options.probe(asked.address, asked.gone.signal);
    } catch (error) {
      if (asked.gone.signal.aborted) return;
      // a probe reports what goes wrong as a verdict: this is a fault of the operator, which must not end the probing
      this.#options.log.error({ err: error, url: asked.address.url }, 'a probe broke');
      verdict = { is: 'fails', reason: 'ConnectionLost', message: 'the probe itself broke; see the log of the operator' };
    }
    if (asked.gone.signal.aborted) return;
    // only a strike against a published record does harm
    if (asked.answer.expected && asked.excused < MOST_EXCUSED && this.#isOurs(verdict, startedAt)) {
      asked.excused += 1;
      return this.#schedule(asked, this.#options.intervalMs / 4);
    }
    asked.excused = 0;
    const now = this.#now();
    const before = asked.answer;
    asked.answer = afterProbe(before, verdict, now);
    this.#schedule(asked, nextProbeIn(asked.answer, this.#options, { now, random: this.#random() }));
    this.#report(key, before, asked.answer);
    this.#options.onProbe?.(verdict, (performance.now() - startedAt) / 1000);
  }

  #isOurs(verdict: Verdict, startedAt: number): boolean {
    if (verdict.is !== 'fails' || verdict.reason !== 'TimedOut') return false;
    const lost = this.#options.lostSince?.(startedAt) ?? 0;
    return lost > (performance.now() - startedAt) * LOST_PART;
  }

  #report(key: string, before: Answer, after: Answer): void {
    if (after.failures >= STRIKES) this.#struck.add(key);
    else this.#struck.delete(key);
    const was = this.#judgement;
    const now = this.#judge();
    this.#judgement = now;
    const changed = now.silent.symmetricDifference(was.silent);
    if (!isSame(reachOf(before, was.silent.has(key)), reachOf(after, now.silent.has(key)))) changed.add(key);
    if (changed.size > 0 || now.selfSuspicion !== was.selfSuspicion) this.#options.onChange(changed);
  }

  /** Looks at all answers, which a thousand servers would make the largest part of each probe; so only where there is something to judge. */
  #judge(): Judgement {
    if (this.#struck.size === 0) return ALL_WELL;
    return judge(new Map([...this.#asked].map(([key, { answer }]) => [key, answer])), this.#options);
  }

  /** Names of records that depend on these addresses. */
  namesOf(keys: ReadonlySet<string>): readonly string[] {
    return [...keys].flatMap((key) => Array.from(this.#asked.get(key)?.wantedBy ?? []));
  }
}

function isSame(a: Reach, b: Reach): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
