import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { RouteName } from './routes.ts';

/** What the registry counts about itself; requests by status are counted by its HTTP host. */
export interface RegistryMetrics {
  readonly register: Registry;
  readonly answered: (operation: RouteName | 'cached page', seconds: number) => void;
  readonly committed: (writes: number, seconds: number) => void;
}

/** @param recordsByStatus asked on every scrape */
export function createMetrics(recordsByStatus: () => ReadonlyMap<string, number>): RegistryMetrics {
  const register = new Registry();
  collectDefaultMetrics({ register });
  const seconds = new Histogram({
    name: 'toolyard_registry_operation_seconds',
    help: 'time to answer one request, by operation; "cached page" is any reading one whose finished answer was at hand',
    labelNames: ['operation'],
    buckets: [0.000_1, 0.000_5, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5],
    registers: [register],
  });
  const commits = new Histogram({
    name: 'toolyard_registry_commit_seconds',
    help: 'time of one transaction, its flush to disk included',
    buckets: [0.000_5, 0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.5],
    registers: [register],
  });
  const writes = new Counter({ name: 'toolyard_registry_writes_total', help: 'writes committed', registers: [register] });
  const records = new Gauge({
    name: 'toolyard_registry_records',
    help: 'records by status',
    labelNames: ['status'],
    registers: [register],
    collect: () => {
      records.reset();
      for (const [status, count] of recordsByStatus()) records.set({ status }, count);
    },
  });
  return {
    register,
    answered: (operation, taken) => seconds.observe({ operation }, taken),
    committed: (count, taken) => {
      commits.observe(taken);
      writes.inc(count);
    },
  };
}
