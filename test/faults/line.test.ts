import { expect, test } from 'vitest';
import { setTimeout as delay } from 'node:timers/promises';
import type { Install } from './install.ts';
import { Line, lineFaults, type LineFault, type Write } from './line.ts';
import { kinds } from './registries.ts';
import { range, tell } from './tell.ts';
import { inWorld, type World } from './world.ts';

const FAULT_MS = 20_000;
const LABELS = ['n0', 'n1', 'n2', 'n3', 'n4'];
/** A list has two pages then, and what is ours is on the second. */
const FILLER = 120;
/**
 * Of an operator that starts anew in the midst of it: 2 times 6 tries of which each takes 3 requests, and some to spare. Without a
 * pause between tries it would be thousands.
 */
const MOST_REQUESTS = 60;
/** Where reading works, it goes on once a second, page by page, before and after each write. */
const MOST_REQUESTS_OF_A_READER = 250;

interface Lined {
  readonly fault: LineFault;
  readonly line: Line;
  readonly install: Install;
}

test.each(kinds)('%s: 20 s of each fault between operator and registry, while declarations change and the operator dies', async (kind) => {
  await inWorld(kind, { filler: FILLER }, async (world) => {
    const under = await Promise.all(lineFaults.map((fault) => setUp(world, fault)));
    try {
      await world.converge();
      for (const { line, fault } of under) [line.fault, line.requests] = [fault, 0];
      for (const { install } of under) await change(world, install);
      await delay(FAULT_MS / 2);
      for (const { install } of under) {
        await install.operator.kill();
        install.operator.start();
      }
      await delay(FAULT_MS / 2);
      const requests = new Map(under.map(({ line, fault }) => [fault, line.requests]));
      const written = new Map(under.map(({ line, fault }) => [fault, line.writes.length]));
      for (const { line } of under) line.fault = undefined;
      const took = await world.convergeEach();
      for (const { fault, line, install } of under) {
        const seen = requests.get(fault) ?? 0;
        tell(`line, ${kind}, ${fault}`, { requests: seen, writes: line.writes.length, converged: range([took.get(install) ?? 0]) });
        expectSound(line, install);
        expect(seen, `requests under "${fault}"`).toBeLessThan(canWriteUnder(fault) ? MOST_REQUESTS_OF_A_READER : MOST_REQUESTS);
        const meanwhile = canWriteUnder(fault) ? [] : line.writes.slice(LABELS.length, written.get(fault));
        expect(meanwhile, `writes under "${fault}"`).toEqual([]);
      }
    } finally {
      await Promise.all(under.map(({ line }) => line.close()));
    }
  });
});

function canWriteUnder(fault: LineFault): boolean {
  return fault === 'slow' || fault === 'answer lost';
}

async function setUp(world: World, fault: LineFault): Promise<Lined> {
  const line = await Line.start(world.registry.url);
  const install = await world.install({ name: fault.replaceAll(' ', '-'), registryUrl: line.url });
  for (const label of LABELS) await install.declare(label, install.document(label), world.probing(0));
  install.operator.start();
  return { fault, line, install };
}

/** An edit, a new version, a file that goes and one that comes. */
async function change(world: World, install: Install): Promise<void> {
  await install.declare('n0', install.document('n0', { description: 'edited meanwhile' }), world.probing(0));
  await install.declare('n1', install.document('n1', { version: '1.1.0' }), world.probing(0));
  await install.remove('n2');
  await install.declare('n5', install.document('n5'), world.probing(0));
}

/** Nothing was published twice, and only what is declared no more was withdrawn. */
function expectSound({ writes }: Line, install: Install): void {
  const published = writes.filter(({ method }) => method === 'POST').map(({ body }) => `${body.name} ${body.version}`);
  expect(published.toSorted()).toEqual([...new Set(published)].toSorted());
  const withdrawn = writes.filter(({ body }) => body.status === 'deleted').map(pathOfRecord);
  const mayGo = new Set([`${install.document('n1').name} 1.0.0`, `${install.document('n2').name} 1.0.0`]);
  expect(withdrawn.filter((record) => !mayGo.has(record))).toEqual([]);
}

function pathOfRecord({ path }: Write): string {
  const [, , , name = '', , version = ''] = path.split('/');
  return `${decodeURIComponent(name)} ${decodeURIComponent(version)}`;
}
