import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { paths, type ConfigMap } from '../../lib/kube/objects.ts';
import { record, until } from '../operator/bench.ts';
import { Site, type RunningProcess } from './site.ts';

const COUNT = 500;
const NAMESPACES = ['team-0', 'team-1', 'team-2', 'team-3', 'team-4'];

let site: Site;
let operator: RunningProcess;

beforeAll(async () => {
  site = await Site.start();
  for (const name of NAMESPACES) await site.namespace(name);
});

afterAll(async () => {
  await site.close();
});

async function published(): Promise<number> {
  const configMaps = await site.admin.list<ConfigMap>(paths.configMaps(), { labelSelector: 'toolyard.dev/state=Published' });
  return configMaps.length;
}

test(`${COUNT} ConfigMaps at once are published and say so; then nothing is written any more`, async () => {
  const endpoint = `${(await site.bench.server()).url}/mcp`;
  const proxy = await site.bench.proxy();
  operator = await site.operator({ REGISTRY_URL: proxy.url, PROBE_INTERVAL_SECONDS: '10' });
  await site.untilReady(operator);
  const startedAt = performance.now();
  const sources = Array.from({ length: COUNT }, (_, index) => `${NAMESPACES[index % NAMESPACES.length] ?? ''}/server-${index}`);
  const declareNext = async (): Promise<void> => {
    for (let source = sources.pop(); source !== undefined; source = sources.pop()) {
      const name = source.split('/')[1] ?? '';
      await site.declare(source, record(`com.example/${name}`, `https://${name}.example.com/mcp`), { 'toolyard.dev/endpoint': endpoint });
    }
  };
  await Promise.all(Array.from({ length: 8 }, declareNext));
  const declaredAt = performance.now();
  await until('all are published', async () => (await published()) === COUNT, 200_000);
  const convergedAt = performance.now();
  const counts = await site.requests(operator);
  process.stdout.write(
    `${COUNT} declared in ${Math.round(declaredAt - startedAt)} ms, all Published ${Math.round(convergedAt - startedAt)} ms after the first; ` +
      `requests: ${JSON.stringify(Object.fromEntries(counts))}; CPU of the operator ${await cpuOf(operator)} s\n`,
  );
  // a status is written once for most of them, twice for those whose probe took its time, and each tells one Event
  expect(counts.get('patch configmaps')).toBeLessThanOrEqual(COUNT * 3);
  // two rounds of probes (there is one address for each namespace), and several readings of the registry
  // Events follow, one at a time
  let quiet = await writesTo(operator);
  await until(
    'Events were told',
    async () => {
      await delay(2_000);
      const last = quiet;
      quiet = await writesTo(operator);
      return isDeepStrictEqual(last, quiet);
    },
    60_000,
  );
  const [before, lists, writes] = [await writesTo(operator), proxy.lists, proxy.writes];
  const probes = await probesOf(operator);
  await until('every server was asked twice more', async () => (await probesOf(operator)) >= probes + 2 * NAMESPACES.length, 60_000);
  await until('the registry was read again', () => proxy.lists > lists + 1, 20_000);
  expect(proxy.lists).toBeGreaterThan(lists);
  expect(proxy.writes).toBe(writes);
  expect(await writesTo(operator)).toEqual(before);
}, 400_000);

test('a new leader over the same ConfigMaps writes nothing', async () => {
  await site.stop(operator);
  const next = await site.operator({ PROBE_INTERVAL_SECONDS: '10' });
  await site.untilReady(next);
  await until('every server was asked', async () => (await probesOf(next)) >= NAMESPACES.length, 60_000);
  await until('the registry was read', async () => (await site.readiness(next))?.ready);
  const requests = await site.requests(next);
  expect(requests.get('patch configmaps') ?? 0).toBe(0);
  expect(requests.get('create events') ?? 0).toBe(0);
  const [resident] = /^process_resident_memory_bytes (\S+)/m.exec(await metricsOf(next))?.slice(1) ?? [];
  process.stdout.write(`resident with ${COUNT} ConfigMaps, from sources, with a kubeconfig: ${Math.round(Number(resident) / 1e6)} MB\n`);
}, 180_000);

/** What an operator changed in the cluster, but for renewing its Lease. */
async function writesTo(running: RunningProcess): Promise<Readonly<Record<string, number>>> {
  const writes = [...(await site.requests(running))].filter(
    ([what]) => /^(create|update|patch|delete) /.test(what) && what !== 'update leases',
  );
  return Object.fromEntries(writes);
}

async function probesOf(running: RunningProcess): Promise<number> {
  return Number(/^toolyard_probe_seconds_count (\d+)$/m.exec(await metricsOf(running))?.[1] ?? 0);
}

async function cpuOf(running: RunningProcess): Promise<string> {
  return Number(/^process_cpu_seconds_total (\S+)$/m.exec(await metricsOf(running))?.[1]).toFixed(1);
}

async function metricsOf({ metricsUrl }: RunningProcess): Promise<string> {
  return (await fetch(metricsUrl)).text();
}
