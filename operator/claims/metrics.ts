import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Write } from './plan.ts';
import { claimStates, type ClaimState } from './policy.ts';

/** What is counted of SandboxClaims. */
export class ClaimMetrics {
  readonly #claims: Gauge<'state'>;
  readonly #readable: Gauge;
  readonly #launches: Counter<'launch'>;
  readonly #readySeconds: Histogram<'launch'>;
  readonly #shortened: Counter<'reason'>;
  readonly #reclaimed: Counter<'reason'>;

  constructor(registry: Registry = new Registry()) {
    const registers = [registry];
    this.#claims = new Gauge({ name: 'toolyard_claims', help: 'SandboxClaims, by state', labelNames: ['state'], registers });
    this.#readable = new Gauge({
      name: 'toolyard_claims_readable',
      help: '1 while this process looks after the claims of all CLAIMS_NAMESPACES',
      registers,
    });
    this.#launches = new Counter({
      name: 'toolyard_claims_launched_total',
      help: 'claims that became ready, by launch: warm ones got a sandbox from the pool, cold ones waited for a new one',
      labelNames: ['launch'],
      registers,
    });
    this.#readySeconds = new Histogram({
      name: 'toolyard_claim_ready_seconds',
      help: 'time from the creation of a claim until it was ready, as seen by the operator',
      labelNames: ['launch'],
      buckets: [0.05, 0.1, 0.2, 0.3, 0.5, 1, 2, 5, 10, 30, 60, 180],
      registers,
    });
    this.#shortened = new Counter({
      name: 'toolyard_claims_shortened_total',
      help: 'claims that got an end, or an earlier one, by reason',
      labelNames: ['reason'],
      registers,
    });
    this.#reclaimed = new Counter({
      name: 'toolyard_claims_reclaimed_total',
      help: 'claims that the operator deleted, by reason',
      labelNames: ['reason'],
      registers,
    });
  }

  shows(counts: ReadonlyMap<ClaimState, number>, readable: boolean): void {
    for (const state of claimStates) this.#claims.set({ state }, counts.get(state) ?? 0);
    this.#readable.set(readable ? 1 : 0);
  }

  launched(launch: 'warm' | 'cold', seconds: number): void {
    this.#launches.inc({ launch });
    this.#readySeconds.observe({ launch }, seconds);
  }

  wrote({ do: done, why: reason }: Write): void {
    (done === 'delete' ? this.#reclaimed : this.#shortened).inc({ reason });
  }
}
