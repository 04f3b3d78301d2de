import type { SandboxClaim } from '../../../lib/kube/objects.ts';
import type { Log } from '../../../lib/log.ts';
import { unlessAborted } from '../abort.ts';
import { SandboxError, type SandboxInfo, type SandboxOrder } from '../backend.ts';
import { infoOf, newClaim, ownerLabel, readyCondition } from './claims.ts';
import type { ClaimsClient } from './claims-client.ts';
import { explainDelay } from './delays.ts';
import type { Runtime } from './runtime.ts';

export interface StartsOptions {
  readonly claims: ClaimsClient;
  readonly defaults: { readonly idleMs: number; readonly ageMs: number };
  /** opens a connection to a sandbox, and what else has to be done before it is used */
  readonly moveIn: (claim: SandboxClaim, address: string, signal: AbortSignal) => Promise<Runtime>;
  readonly log: Log;
}

/** One claim on its way to be used. */
interface Start {
  readonly info: SandboxInfo;
  readonly done: Promise<SandboxClaim>;
  /** ends it, with a SandboxError as reason */
  readonly end: AbortController;
  /** callers that wait for it */
  waiting: number;
  /** as last seen; undefined until the cluster has answered */
  claim: SandboxClaim | undefined;
  /** by this start: it is this one's to remove when nobody wants it */
  made: boolean;
}

/** Makes claims, and waits until commands can run in what they were given. */
export class Starts {
  readonly #options: StartsOptions;
  readonly #starts = new Map<string, Start>();

  constructor(options: StartsOptions) {
    this.#options = options;
  }

  /** Those under way; the cluster may not list them yet. */
  get infos(): readonly SandboxInfo[] {
    return [...this.#starts.values()].map(({ info }) => info);
  }

  /**
   * Two orders for one handle wait for the same claim.
   * @throws SandboxError
   */
  async take(order: SandboxOrder): Promise<SandboxClaim> {
    const { handle, signal, readyTimeoutMs } = order;
    if (signal.aborted) throw cancelled(handle);
    const start = this.#starts.get(handle) ?? this.#begin(order);
    const late = AbortSignal.timeout(readyTimeoutMs);
    start.waiting += 1;
    try {
      return await unlessAborted(start.done, AbortSignal.any([signal, late]));
    } catch (error) {
      if (!signal.aborted && !late.aborted) throw error;
      const givenUp = signal.aborted ? cancelled(handle) : await this.#tooLate(start, order);
      if (start.waiting === 1) await this.#abandon(start, givenUp);
      throw givenUp;
    } finally {
      start.waiting -= 1;
    }
  }

  /** Ends the start of a sandbox that is being deleted. @returns whether there was one */
  async stop(handle: string, why: string): Promise<boolean> {
    const start = this.#starts.get(handle);
    if (start === undefined) return false;
    await this.#abandon(start, new SandboxError('ended', `sandbox ${handle} is over: ${why}; create another with create_sandbox`));
    return true;
  }

  #begin(order: SandboxOrder): Start {
    const { handle, owner, lifetime } = order;
    const end = new AbortController();
    const started = Promise.withResolvers<SandboxClaim>();
    const info = { handle, owner, lifetime, state: 'starting', message: 'it is being started' } as const;
    const start: Start = { info, done: started.promise, end, waiting: 0, claim: undefined, made: false };
    this.#starts.set(handle, start);
    started.promise.catch(() => {});
    this.#run(start, order)
      .then(started.resolve, started.reject)
      .finally(() => this.#starts.delete(handle));
    return start;
  }

  async #run(start: Start, order: SandboxOrder): Promise<SandboxClaim> {
    const { claims } = this.#options;
    const { signal } = start.end;
    try {
      // a slow start uses up nothing of its time: what is not needed is taken off when it is there
      const patience = order.lifetime.shutdownAt + order.readyTimeoutMs;
      const { claim, made } = await claims.create(newClaim(order, patience));
      start.claim = claim;
      start.made = made && sameOrder(claim, order);
      if (!made) assertOurs(claim, order);
      signal.throwIfAborted();
      const settled = await claims.settled(claim, signal, (seen) => (start.claim = seen));
      if (settled.verdict.is === 'over') throw overBeforeItBegan(order.handle, settled.verdict);
      const [, lasting] = await Promise.all([
        this.#options.moveIn(settled.claim, settled.verdict.address, signal),
        start.made ? this.#shortened(settled.claim, order) : settled.claim,
      ]);
      signal.throwIfAborted();
      return lasting;
    } catch (error) {
      if (start.made) await this.#remove(start);
      throw error;
    }
  }

  /** Its time begins now. One who uses it at the same time has said so already. */
  async #shortened(claim: SandboxClaim, { lifetime }: SandboxOrder): Promise<SandboxClaim> {
    const shutdownAt = Date.now() + (lifetime.shutdownAt - lifetime.createdAt);
    return (await this.#options.claims.endAt(claim, shutdownAt, {})) ?? claim;
  }

  async #abandon(start: Start, reason: SandboxError): Promise<void> {
    start.end.abort(reason);
    await start.done.catch(() => {});
  }

  async #remove({ claim, info }: Start): Promise<void> {
    if (claim === undefined) return;
    try {
      await this.#options.claims.delete(claim);
    } catch (error) {
      // its shutdownTime ends it
      this.#options.log.warn({ err: error, handle: info.handle }, 'a claim that did not start could not be deleted');
    }
  }

  async #tooLate({ claim }: Start, { handle, readyTimeoutMs, placement }: SandboxOrder): Promise<SandboxError> {
    const after = `sandbox ${handle} did not start within ${readyTimeoutMs / 1000} s`;
    if (claim === undefined) return new SandboxError('start-timeout', `${after}: the Kubernetes API did not answer; try again`);
    const delay = { ...placement, ready: readyCondition(claim), ...(await this.#options.claims.surroundings(claim)) };
    const { code, why } = explainDelay(delay);
    return new SandboxError(code, `${after}: ${why}; try again`);
  }

  /** As callers see it. */
  infoOf(claim: SandboxClaim): SandboxInfo {
    return infoOf(claim, this.#options.defaults, Date.now());
  }
}

function cancelled(handle: string): SandboxError {
  return new SandboxError('cancelled', `the caller left before sandbox ${handle} had started; it was removed`);
}

function overBeforeItBegan(handle: string, { code, why }: { code: SandboxError['code']; why: string }): SandboxError {
  return new SandboxError(code, `sandbox ${handle} cannot be started: ${why}`);
}

function sameOrder(claim: SandboxClaim, { owner, placement }: SandboxOrder): boolean {
  return claim.metadata.labels?.[ownerLabel] === owner && claim.spec.warmPoolRef.name === placement.warmpool;
}

/** @throws SandboxError when what is there by that name is not what was ordered */
function assertOurs(claim: SandboxClaim, order: SandboxOrder): void {
  const { name } = claim.metadata;
  if (!sameOrder(claim, order))
    throw new SandboxError('failed', `there is a claim ${name} that is not this caller's: use another idempotency_key`);
  if (claim.metadata.deletionTimestamp !== undefined)
    throw new SandboxError('ended', `sandbox ${name} is being removed: try again in a few seconds, or with another idempotency_key`);
}
