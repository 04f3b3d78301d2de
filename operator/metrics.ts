import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Verdict } from './records/answers.ts';
import type { OperatorView, State } from './records/status.ts';

const states: readonly State[] = ['Published', 'Deprecated', 'Pending', 'Refused', 'Withdrawing'];

/** What the operator counts. */
export class OperatorMetrics {
  readonly #declarations: Gauge<'state'>;
  readonly #registryUp: Gauge;
  readonly #unreadable: Gauge;
  readonly #selfSuspicion: Gauge;
  readonly #probes: Counter<'outcome'>;
  readonly #probeSeconds: Histogram;
  readonly #writes: Counter<'action' | 'outcome'>;

  constructor(registry: Registry = new Registry()) {
    const registers = [registry];
    this.#declarations = new Gauge({ name: 'toolyard_declarations', help: 'declarations, by state', labelNames: ['state'], registers });
    this.#registryUp = new Gauge({ name: 'toolyard_registry_up', help: '1 while the registry answers', registers });
    this.#unreadable = new Gauge({
      name: 'toolyard_registry_unreadable_records',
      help: 'records of the registry that cannot be read; nothing is done to their names',
      registers,
    });
    this.#selfSuspicion = new Gauge({
      name: 'toolyard_operator_self_suspicion',
      help: '1 while most servers stopped at once, so that the fault is probably here',
      registers,
    });
    this.#probes = new Counter({
      name: 'toolyard_probes_total',
      help: 'handshakes with servers, by outcome: answers, auth-required, or the reason of a failure',
      labelNames: ['outcome'],
      registers,
    });
    this.#probeSeconds = new Histogram({
      name: 'toolyard_probe_seconds',
      help: 'time that a handshake and the list of tools took',
      buckets: [0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10],
      registers,
    });
    this.#writes = new Counter({
      name: 'toolyard_registry_writes_total',
      help: 'writes to the registry, by action and outcome: done, refused, unknown',
      labelNames: ['action', 'outcome'],
      registers,
    });
  }

  shows({ declarations, registry, selfSuspicion }: OperatorView): void {
    for (const state of states) this.#declarations.set({ state }, declarations.filter((status) => status.state === state).length);
    this.#registryUp.set(registry.state === 'up' ? 1 : 0);
    this.#unreadable.set(registry.unreadable?.count ?? 0);
    this.#selfSuspicion.set(selfSuspicion === true ? 1 : 0);
  }

  probed(verdict: Verdict, seconds: number): void {
    this.#probes.inc({ outcome: verdict.is === 'fails' ? verdict.reason : verdict.is });
    this.#probeSeconds.observe(seconds);
  }

  wrote(action: string, outcome: string): void {
    this.#writes.inc({ action, outcome });
  }
}
