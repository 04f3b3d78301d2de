import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { KubeClient } from '../../lib/kube/client.ts';
import type { ConfigMap } from '../../lib/kube/objects.ts';
import { Reflector, type ReflectorOptions } from './reflector.ts';
import { FakeApi } from './testing/fake-api.ts';
import { eventually, reflectorContract, silentLog } from './testing/reflector-contract.ts';

function clientOf(api: FakeApi): KubeClient {
  return new KubeClient({ access: { url: api.url, tls: {}, headers: async () => ({}) } });
}

describe('against a server that plays the API', () => {
  reflectorContract(async () => {
    const api = await FakeApi.start();
    const client = clientOf(api);
    return {
      client,
      put: async (...what) => api.put(...what),
      remove: async (name) => api.remove(name),
      cut: async () => api.cut(),
      whileAway: async (work) => {
        api.cut();
        await work();
        api.forget();
      },
      lists: async () => api.lists,
      close: async () => {
        await client.close();
        await api.close();
      },
    };
  });
});

describe('when something goes wrong', () => {
  let api: FakeApi;
  let client: KubeClient;
  let reflector: Reflector<ConfigMap, string> | undefined;
  let waits: number[];

  beforeEach(async () => {
    api = await FakeApi.start();
    client = clientOf(api);
    waits = [];
  });

  afterEach(async () => {
    await reflector?.close();
    await client.close();
    await api.close();
  });

  function reflect(options: Partial<ReflectorOptions<ConfigMap, string>> = {}): Reflector<ConfigMap, string> {
    reflector = new Reflector<ConfigMap, string>({
      client,
      path: '/api/v1/configmaps',
      keep: ({ data }) => data?.['value'] ?? '',
      onChange: () => {},
      log: silentLog,
      random: () => 1,
      wait: async (ms) => void waits.push(ms),
      ...options,
    });
    return reflector;
  }

  test('an error inside a stream that began with 200 is no end: 500 goes on at first, and lists again when it stays', async () => {
    api.put('a', {}, '1');
    api.errors = Array.from({ length: 4 }, () => ({ kind: 'Status', code: 500, message: 'etcdserver: no leader' }));
    const one = reflect();
    await one.start();
    await eventually('all errors are over', () => api.watches === 5);
    expect(api.lists).toBe(2);
    api.put('b', {}, '1');
    await eventually('it follows again', () => one.items.size === 2);
  });

  test('waits double from 200 ms to 5 s, and begin anew after a change was seen', async () => {
    api.errors = Array.from({ length: 8 }, () => ({ kind: 'Status', code: 429, message: 'too many requests' }));
    const one = reflect();
    await one.start();
    await eventually('all errors are over', () => api.watches === 9);
    expect(waits).toEqual([200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
    api.put('a', {}, '1');
    await eventually('it follows', () => one.items.size === 1);
    api.cut();
    await eventually('it is there again', () => api.watches === 10);
    expect(waits.at(-1)).toBe(200);
  });

  test('a connection that went silent is given up some time after the watch should have ended', async () => {
    api.silent = true;
    const one = reflect({ watchMs: { least: 50, most: 50, silence: 50 } });
    await one.start();
    await eventually('it asks again', () => api.watches >= 2);
    api.silent = false;
    api.put('a', {}, '1');
    await eventually('it hears again', () => one.items.size === 1);
    expect(api.lists).toBe(1);
  });

  test('a server that is not there is no empty collection, and is told once', async () => {
    api.put('a', {}, '1');
    const told: (string | undefined)[] = [];
    const one = reflect({
      wait: (ms) => new Promise((resolve) => void setTimeout(resolve, ms / 20)),
      onChange: () => told.push(one.trouble),
    });
    await one.start();
    const { url } = api;
    await api.close();
    await eventually('it notices', () => one.trouble !== undefined);
    expect(one.items.size).toBe(1);
    expect(one.synced).toBe(true);
    expect(told.filter((trouble) => trouble !== undefined)).toHaveLength(1);
    expect(one.trouble).toContain('watch /api/v1/configmaps');
    expect(url).toContain('127.0.0.1');
    api = await FakeApi.start();
  });
});
