import { Counter, Gauge, Registry } from 'prom-client';
import type { Verb } from '../../lib/kube/client.ts';

/** What the operator counts of its dealings with the API server. */
export class KubeMetrics {
  readonly #requests: Counter<'verb' | 'resource' | 'code'>;
  readonly #restarts: Counter<'resource' | 'what' | 'why'>;
  readonly #statusWrites: Counter<'outcome'>;
  readonly #leader: Gauge;

  constructor(registry: Registry = new Registry()) {
    const registers = [registry];
    this.#requests = new Counter({
      name: 'toolyard_kube_requests_total',
      help: 'requests to the API server, by verb, resource and HTTP status, or what went wrong without one',
      labelNames: ['verb', 'resource', 'code'],
      registers,
    });
    this.#restarts = new Counter({
      name: 'toolyard_kube_restarts_total',
      help: 'collections that were listed, or watched, anew after trouble',
      labelNames: ['resource', 'what', 'why'],
      registers,
    });
    this.#statusWrites = new Counter({
      name: 'toolyard_status_writes_total',
      help: 'statuses written into ConfigMaps, by outcome: done, conflict, failed',
      labelNames: ['outcome'],
      registers,
    });
    this.#leader = new Gauge({ name: 'toolyard_leader', help: '1 while this process is the one that works', registers });
    this.#leader.set(0);
  }

  readonly called = ({ verb, path, code }: { verb: Verb; path: string; code: string }): void => {
    this.#requests.inc({ verb, resource: resourceOf(path), code });
  };

  restarted(path: string, what: 'list' | 'watch', why: string): void {
    this.#restarts.inc({ resource: resourceOf(path), what, why });
  }

  wroteStatus(outcome: 'done' | 'conflict' | 'failed'): void {
    this.#statusWrites.inc({ outcome });
  }

  leads(leads: boolean): void {
    this.#leader.set(leads ? 1 : 0);
  }
}

/** `configmaps` of `/api/v1/namespaces/team/configmaps/x`. */
export function resourceOf(path: string): string {
  const [, resource = 'other'] = /^\/(?:api|apis\/[^/]+)\/[^/]+\/(?:namespaces\/[^/]+\/)?([^/]+)/.exec(path) ?? [];
  return resource;
}
