import { Gauge, Histogram, type Registry } from 'prom-client';
import { SandboxError, type Placement, type SandboxBackend, type SandboxInfo } from './backend.ts';
import { isHandle, type Handles } from './handles.ts';
import { admission, newLifetime, renewedEnd, type SandboxLimits } from './policy.ts';

export interface SandboxWish {
  readonly placement: Placement;
  /** seconds; null: as long as is allowed */
  readonly idleSeconds: number | null;
  readonly readyTimeoutMs: number;
  /** the same key of the same caller gives the same sandbox while that lives */
  readonly idempotencyKey: string | undefined;
}

export interface SandboxesOptions {
  readonly backend: SandboxBackend;
  readonly handles: Handles;
  readonly limits: SandboxLimits;
  readonly metrics: Registry;
  /** ms since 1970 */
  readonly now?: () => number;
}

/** Who may have which sandbox, how many, and for how long; the backend does the rest. */
export class Sandboxes {
  readonly backend: SandboxBackend;
  readonly limits: SandboxLimits;
  readonly #handles: Handles;
  readonly #now: () => number;
  readonly #startSeconds: Histogram<'outcome'>;
  #admitting: Promise<unknown> = Promise.resolve();

  constructor({ backend, handles, limits, metrics, now = Date.now }: SandboxesOptions) {
    this.backend = backend;
    this.limits = limits;
    this.#handles = handles;
    this.#now = now;
    const gauge: Gauge = new Gauge({
      name: 'toolyard_sandboxes',
      help: 'sandboxes that live now, also those that are being started',
      registers: [metrics],
      collect: async (): Promise<void> => {
        // while the cluster does not answer, the other metrics still can be had
        const held = await backend.list().catch(() => undefined);
        if (held !== undefined) gauge.set(held.length);
      },
    });
    this.#startSeconds = new Histogram({
      name: 'toolyard_sandbox_start_seconds',
      help: 'time from the request for a sandbox until commands can run in it, by outcome: ok, or the code of the error',
      labelNames: ['outcome'],
      buckets: [0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 180],
      registers: [metrics],
    });
  }

  /** @throws SandboxError `quota`, and what the backend's `create` throws */
  async create(principal: string, wish: SandboxWish, signal: AbortSignal): Promise<SandboxInfo> {
    const startedAt = performance.now();
    const ended = (outcome: string) => this.#startSeconds.observe({ outcome }, (performance.now() - startedAt) / 1000);
    try {
      const info = await this.#create(principal, wish, signal);
      ended('ok');
      return info;
    } catch (error) {
      ended(error instanceof SandboxError ? error.code : 'failed');
      throw error;
    }
  }

  /**
   * Puts off the end of a caller's own sandbox, because it is used now and for up to `busyMs` more.
   * @throws SandboxError `not-found`, in the same words whether there is none or it is somebody else's
   */
  async use(principal: string, handle: string, busyMs: number): Promise<void> {
    const { state, lifetime } = await this.#own(principal, handle);
    const end = state === 'ended' ? undefined : renewedEnd(lifetime, busyMs, this.limits, this.#now());
    if (end !== undefined) await this.backend.renew(handle, end);
  }

  /** Done also when it had ended already. @throws SandboxError `not-found` */
  async delete(principal: string, handle: string): Promise<void> {
    const { state } = await this.#own(principal, handle);
    if (state !== 'ended') await this.backend.delete(handle);
  }

  /** A caller's own sandbox; undefined when there is none or it is somebody else's. */
  async find(principal: string, handle: string): Promise<SandboxInfo | undefined> {
    const info = isHandle(handle) ? await this.backend.find(handle) : undefined;
    return info?.owner === this.#handles.owner(principal) ? info : undefined;
  }

  /** A caller's own sandboxes that have not ended, the oldest first. */
  async list(principal: string): Promise<readonly SandboxInfo[]> {
    const owner = this.#handles.owner(principal);
    const own = (await this.backend.list()).filter((info) => info.owner === owner);
    return own.toSorted((a, b) => a.lifetime.createdAt - b.lifetime.createdAt);
  }

  async #own(principal: string, handle: string): Promise<SandboxInfo> {
    const info = await this.find(principal, handle);
    if (info !== undefined) return info;
    const name = JSON.stringify(handle.slice(0, 80));
    throw new SandboxError('not-found', `you have no sandbox ${name}: it never was, or its time is over; create one with create_sandbox`);
  }

  async #create(
    principal: string,
    { idleSeconds, idempotencyKey, placement, readyTimeoutMs }: SandboxWish,
    signal: AbortSignal,
  ): Promise<SandboxInfo> {
    const handle = this.#handles.handle(principal, idempotencyKey);
    const owner = this.#handles.owner(principal);
    const lifetime = newLifetime(idleSeconds, this.limits, this.#now());
    const { starting } = await this.#oneAtATime(async () => {
      const held = await this.backend.list();
      if (!held.some((info) => info.handle === handle)) this.#admit(held, owner);
      return { starting: this.backend.create({ handle, owner, placement, lifetime, readyTimeoutMs, signal }) };
    });
    return starting;
  }

  #admit(held: readonly SandboxInfo[], owner: string): void {
    const byCaller = held.filter((info) => info.owner === owner).length;
    const verdict = admission({ byCaller, inAll: held.length }, this.limits);
    if (!verdict.admitted) throw new SandboxError('quota', verdict.message);
  }

  /** Counting and taking a place must not be torn apart by another request. */
  #oneAtATime<T>(act: () => Promise<T>): Promise<T> {
    const next = this.#admitting.then(act);
    this.#admitting = next.catch(() => {});
    return next;
  }
}
