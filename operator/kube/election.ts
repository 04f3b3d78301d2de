import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../../lib/log.ts';
import type { KubeClient } from '../../lib/kube/client.ts';
import { isKubeError } from '../../lib/kube/errors.ts';
import { heldLease, planLease, releasedLease, RENEW_DEADLINE_MS, RETRY_MS, sawLease, type Lease, type Seen } from './lease-plan.ts';
import { objectPath, paths } from '../../lib/kube/objects.ts';
import { messageOf } from '../../lib/error-message.ts';

export interface ElectionOptions {
  readonly client: Pick<KubeClient, 'find' | 'create' | 'replace'>;
  readonly namespace: string;
  readonly name: string;
  /** of this process: no other may have the same */
  readonly identity: string;
  readonly log: Log;
  /**
   * The Lease is held: works until the signal says that it is not any more. The next try to get it waits for the end of this.
   */
  readonly lead: (term: Term) => Promise<void>;
  /** ms, steady */
  readonly now?: () => number;
  readonly random?: () => number;
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** One stretch of time in which this process holds the Lease. */
export interface Term {
  /** aborted when the Lease is lost or given up: everything under way must end at once */
  readonly signal: AbortSignal;
  /** Whether the Lease is surely held right now. A process that was stopped for a while notices here before any timer runs. */
  readonly holds: () => boolean;
}

/** What is known about who works. */
export type Leadership =
  | { readonly is: 'unknown'; readonly reason: string }
  | { readonly is: 'standby'; readonly holder: string }
  | { readonly is: 'leader' };

/** Longest wait for one answer about the Lease: several tries must fit into the deadline. */
const CALL_MS = 4_000;

/** Takes part in the election of the one process that works, by a Lease. */
export class Election {
  readonly #options: ElectionOptions;
  readonly #now: () => number;
  readonly #wait: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly #end = new AbortController();
  readonly #path: string;
  #seen: Seen | undefined;
  #state: Leadership = { is: 'unknown', reason: 'the Lease was not read yet' };
  #running: Promise<void> | undefined;

  constructor(options: ElectionOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#wait = options.wait ?? ((ms, signal) => delay(ms, undefined, { signal }));
    this.#path = paths.leases(options.namespace);
  }

  get leadership(): Leadership {
    return this.#state;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Ends the term, waits for its work to end, gives the Lease back. */
  async close(): Promise<void> {
    this.#end.abort(new Error('the operator stops'));
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#end;
    while (!signal.aborted) {
      const at = this.#now();
      const held = await this.#try().catch((error: unknown) => this.#noteTrouble(error));
      if (held !== undefined && !signal.aborted) await this.#lead(held, at);
      await this.#pause(signal);
    }
  }

  /** @returns the Lease when it is held now */
  async #try(): Promise<Lease | undefined> {
    const { client, identity, name } = this.#options;
    const call = { signal: this.#end.signal, timeoutMs: CALL_MS };
    const lease = await client.find<Lease>(objectPath(this.#path, name), call);
    this.#seen = sawLease(lease, this.#seen, this.#now());
    const step = planLease(lease, this.#seen, { identity, now: this.#now() });
    if (step.do === 'wait') {
      this.#become({ is: 'standby', holder: step.holder });
      return undefined;
    }
    return await this.#write(lease);
  }

  /** Makes the Lease say that this process holds it from now on. */
  #write(lease: Lease | undefined): Promise<Lease> {
    const { client, namespace, name, identity } = this.#options;
    const call = { signal: this.#end.signal, timeoutMs: CALL_MS };
    const next = heldLease(lease, { namespace, name }, { identity, wallTime: new Date().toISOString() });
    return lease === undefined ? client.create(this.#path, next, call) : client.replace(objectPath(this.#path, name), next, call);
  }

  async #lead(lease: Lease, renewedAt: number): Promise<void> {
    const { lead, log } = this.#options;
    const holding: Holding = { lease, renewedAt };
    const lost = new AbortController();
    const signal = AbortSignal.any([lost.signal, this.#end.signal]);
    const holds = (): boolean => !signal.aborted && this.#now() - holding.renewedAt < RENEW_DEADLINE_MS;
    this.#become({ is: 'leader' });
    const renewing = this.#renew(holding, lost);
    try {
      await lead({ signal, holds });
    } catch (error) {
      if (!signal.aborted) log.error({ err: error }, 'the leader broke; the Lease is given back');
    } finally {
      const given = !lost.signal.aborted;
      lost.abort(new Error('the term is over'));
      await renewing;
      this.#become({ is: 'unknown', reason: given ? 'the Lease was given back' : 'the Lease was lost' });
      if (given) await this.#release(holding.lease);
    }
  }

  /** Renews until the term ends; ends it when that did not work for too long. Goes on while the operator stops, until its work has ended. */
  async #renew(holding: Holding, lost: AbortController): Promise<void> {
    let deadline: NodeJS.Timeout | undefined;
    while (!lost.signal.aborted) {
      clearTimeout(deadline);
      const left = holding.renewedAt + RENEW_DEADLINE_MS - this.#now();
      deadline = setTimeout(() => lost.abort(new Error('the Lease could not be renewed in time')), Math.max(left, 0));
      await this.#pause(lost.signal);
      if (!lost.signal.aborted) await this.#renewOnce(holding, lost);
    }
    clearTimeout(deadline);
  }

  async #renewOnce(holding: Holding, lost: AbortController): Promise<void> {
    const at = this.#now();
    try {
      const { client, name, namespace, identity } = this.#options;
      const next = heldLease(holding.lease, { namespace, name }, { identity, wallTime: new Date().toISOString() });
      holding.lease = await client.replace(objectPath(this.#path, name), next, { timeoutMs: CALL_MS });
      holding.renewedAt = at;
    } catch (error) {
      if (lost.signal.aborted) return;
      this.#options.log.warn({ reason: messageOf(error) }, 'the Lease could not be renewed');
      if (isKubeError(error, 'conflict', 'not-found')) await this.#lookAgain(holding, lost);
    }
  }

  /** Somebody else changed the Lease: it may be another one's now. */
  async #lookAgain(holding: Holding, lost: AbortController): Promise<void> {
    const { client, name, identity } = this.#options;
    try {
      const now = await client.find<Lease>(objectPath(this.#path, name), { timeoutMs: CALL_MS });
      const holder = now?.spec?.holderIdentity ?? 'nobody';
      if (now !== undefined && holder === identity) holding.lease = now;
      else lost.abort(new Error(`the Lease is held by ${holder}`));
    } catch (error) {
      // the deadline goes on
      this.#options.log.warn({ reason: messageOf(error) }, 'who holds the Lease cannot be read');
    }
  }

  async #release(lease: Lease): Promise<void> {
    const { client, name, log } = this.#options;
    try {
      await client.replace(objectPath(this.#path, name), releasedLease(lease, new Date().toISOString()), { timeoutMs: CALL_MS });
    } catch (error) {
      log.warn({ reason: messageOf(error) }, 'the Lease could not be given back: it ends by itself');
    }
  }

  #noteTrouble(error: unknown): undefined {
    if (this.#end.signal.aborted) return;
    // two that reach for it at once: the other one was first
    if (isKubeError(error, 'conflict', 'exists')) return;
    this.#become({ is: 'unknown', reason: messageOf(error) });
  }

  #become(state: Leadership): void {
    const before = JSON.stringify(this.#state);
    this.#state = state;
    if (JSON.stringify(state) === before) return;
    const { log, identity } = this.#options;
    if (state.is === 'unknown') log.warn({ identity, reason: state.reason }, 'whether to work is not known');
    else log.info({ identity, ...state }, state.is === 'leader' ? 'this process works' : 'another process works; this one stands by');
  }

  async #pause(signal: AbortSignal): Promise<void> {
    const random = this.#options.random ?? Math.random;
    await this.#wait(RETRY_MS * (0.9 + random() / 5), signal).catch(() => {});
  }
}

interface Holding {
  lease: Lease;
  /** when the request that renewed it last was sent, ms */
  renewedAt: number;
}
