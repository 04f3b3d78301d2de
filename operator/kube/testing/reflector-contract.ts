import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import type { KubeClient } from '../../../lib/kube/client.ts';
import { paths, type ConfigMap } from '../../../lib/kube/objects.ts';
import { Reflector } from '../reflector.ts';

/** An API server, real or not, with one collection of ConfigMaps in the namespace `default`, and a connection to it that can break. */
export interface ReflectorWorld {
  readonly client: KubeClient;
  put(name: string, labels: Readonly<Record<string, string>>, value: string): Promise<void>;
  remove(name: string): Promise<void>;
  /** ends the connections of the client */
  cut(): Promise<void>;
  /** does this while the client is away for so long that its position is too old by then */
  whileAway(work: () => Promise<void>): Promise<void>;
  /** lists that the client began */
  lists(): Promise<number>;
  close(): Promise<void>;
}

const DEADLINE_MS = 60_000;
export const silentLog = pino({ level: 'silent' });
const kept = { 'toolyard.dev/kind': 'server.json' };

export async function eventually(what: string, holds: () => boolean): Promise<void> {
  for (const end = performance.now() + DEADLINE_MS; !holds(); await delay(5)) {
    if (performance.now() > end) throw new Error(`${what}: not within ${DEADLINE_MS} ms`);
  }
}

/** What a reflector promises, whoever serves it. */
export function reflectorContract(start: () => Promise<ReflectorWorld>): void {
  test('a reflector has everything that fits, and follows it through cut connections and long absences', async () => {
    const world = await start();
    const seen: string[] = [];
    const reflector = new Reflector<ConfigMap, string>({
      client: world.client,
      path: paths.configMaps('default'),
      selection: { labelSelector: 'toolyard.dev/kind=server.json' },
      keep: ({ data }) => data?.['value'] ?? '',
      onChange: (keys) => seen.push(...keys),
      log: silentLog,
    });
    const valueOf = (name: string) => reflector.items.get(`default/${name}`);
    try {
      // more than fit on one page
      const many = Array.from({ length: 503 }, (_, index) => `many-${index}`);
      await inGroups(many, (name) => world.put(name, kept, '1'));
      await world.put('other', {}, '1');
      await reflector.start();
      expect(reflector.synced).toBe(true);
      expect(reflector.items.size).toBe(503);

      await world.put('many-0', kept, '2');
      await world.remove('many-1');
      await world.put('many-2', {}, '1');
      await world.put('other', kept, '1');
      await eventually('changes arrive', () => valueOf('many-0') === '2' && valueOf('other') === '1' && reflector.items.size === 502);
      expect(valueOf('many-2')).toBeUndefined();

      const lists = await world.lists();
      await world.cut();
      await world.put('many-0', kept, '3');
      await world.remove('many-3');
      await eventually('the watch goes on where it was', () => valueOf('many-0') === '3' && reflector.items.size === 501);
      expect(await world.lists()).toBe(lists);

      await world.whileAway(async () => {
        await world.remove('many-4');
        await world.put('late', kept, '1');
      });
      await eventually('what was missed is found', () => valueOf('many-4') === undefined && valueOf('late') === '1');
      expect(reflector.items.size).toBe(501);
      expect(await world.lists()).toBe(lists + 1);
      expect(seen.filter((key) => key === 'default/many-4')).toHaveLength(2);
      // nothing that stayed the same was told again
      expect(seen.filter((key) => key === 'default/many-100')).toHaveLength(1);
    } finally {
      await reflector.close();
      await world.close();
    }
  });
}

async function inGroups(names: readonly string[], work: (name: string) => Promise<void>): Promise<void> {
  for (let from = 0; from < names.length; from += 16) await Promise.all(names.slice(from, from + 16).map(work));
}
