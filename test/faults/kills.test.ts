import { expect, test } from 'vitest';
import { setTimeout as delay } from 'node:timers/promises';
import { Chance, drawnSeed } from './chance.ts';
import type { Install } from './install.ts';
import { kinds } from './registries.ts';
import { range, tell } from './tell.ts';
import { inWorld, type World } from './world.ts';

/** under each of the two registries */
const KILLS = 100;
const CHECK_EVERY = 25;
const LONGEST_PAUSE_MS = 1000;
const CHANGES_PER_KILL = 0.7;
const SERVERS = 4;
const LABELS = Array.from({ length: 8 }, (_, index) => `n${index}`);
const VERSIONS = ['1.0.0', '1.1.0', '2.0.0-rc.1', '2.0.0', 'snapshot'];

test.concurrent.each(kinds)('%s: a hundred times kill -9 of registry, operator or a server, while declarations change', async (kind) => {
  await inWorld(kind, { servers: SERVERS }, async (world) => {
    const seed = drawnSeed();
    tell(`kills, ${kind}`, { FAULTS_SEED: seed });
    const chance = new Chance(seed);
    const install = await world.install({ name: 'ours' });
    await world.contest(install);
    install.operator.start();
    const changes = new Changes(world, install, chance);
    for (const label of LABELS) await changes.declare(label, '1.0.0');
    await world.converge();
    const killed = { registry: 0, operator: 0, server: 0 };
    const took: number[] = [];
    for (let kill = 1; kill <= KILLS; kill += 1) {
      if (chance.next() < CHANGES_PER_KILL) await changes.one();
      // mostly soon, so that programs die while they start, too
      await delay(chance.next() ** 2 * LONGEST_PAUSE_MS);
      const victim = chance.oneOf(['registry', 'operator', 'server'] as const);
      killed[victim] += 1;
      await killAndStart(world, install, { victim, server: chance.below(SERVERS) });
      if (kill % CHECK_EVERY > 0) continue;
      took.push(await world.converge());
      tell(`kills, ${kind}`, { kills: kill, changes: changes.made, 'converged within': range(took.slice(-1)) });
    }
    expect(killed.registry + killed.operator + killed.server).toBe(KILLS);
    tell(`kills, ${kind}`, { ...killed, changes: changes.made, converged: range(took) });
  });
});

async function killAndStart(
  world: World,
  { operator }: Install,
  what: { victim: 'registry' | 'operator' | 'server'; server: number },
): Promise<void> {
  const victim = { registry: world.registry, operator, server: world.servers[what.server]?.program }[what.victim];
  await victim?.kill();
  if (what.victim === 'registry') await world.registry.examine();
  await victim?.start();
}

/** Changes as people make them: another description or server, a new version, a revert, a file that goes, one that comes. */
class Changes {
  made = 0;
  readonly #world: World;
  readonly #install: Install;
  readonly #chance: Chance;

  constructor(world: World, install: Install, chance: Chance) {
    this.#world = world;
    this.#install = install;
    this.#chance = chance;
  }

  async one(): Promise<void> {
    const label = this.#chance.oneOf(LABELS);
    const version = this.#install.declared.get(label)?.version;
    const kind = this.#chance.below(4);
    if (version !== undefined && kind === 0) {
      this.made += 1;
      await this.#install.remove(label);
    } else await this.declare(label, version === undefined || kind < 3 ? this.#chance.oneOf(VERSIONS) : version);
  }

  async declare(label: string, version: string): Promise<void> {
    this.made += 1;
    const document = this.#install.document(label, { version, description: `change ${this.made}` });
    await this.#install.declare(label, document, this.#world.probing(this.#chance.below(SERVERS)));
  }
}
