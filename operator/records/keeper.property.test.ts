import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { sameDocument } from '../../lib/registry-api/normal-form.ts';
import type { ServerJson } from '../../lib/registry-api/server-json.ts';
import { isLive, onDeletes, unstamped, type PublishedRecord } from './record.ts';
import { happening, mishaps, names, TwoInstalls } from './testing/happenings.ts';
import { SimulatedRegistry } from './testing/registry.ts';
import { namespaceOf, raw, serverJson, SimulatedInstall } from './testing/world.ts';

/** PROPERTY_RUNS=20000 makes a long search of it; a failure prints its seed. */
const numRuns = Number(process.env['PROPERTY_RUNS'] ?? 100);
const timeout = 20_000 + numRuns * 50;

test('whatever happens, the registry ends equal to the declarations, and nobody else is touched', { timeout }, async () => {
  const property = fc.asyncProperty(fc.array(happening, { minLength: 10, maxLength: 40, size: 'max' }), async (events) => {
    const world = new TwoInstalls();
    for (const install of world.installs) await install.observe();
    for (const event of events) await world.happen(event);
    await world.heal();
    expect(world.wrongs).toEqual([]);
    for (const name of names) expectEqual(world, name);
  });
  await fc.assert(property, { numRuns });
});

test('the version that is declared last is the latest, whatever was declared before and becomes of old versions', { timeout }, async () => {
  const step = fc.record({ version: fc.constantFrom('1.0.0', '1.1.0', '2.0.0-rc.1', '2.0.0', 'snapshot', 'nightly'), mishaps });
  const history = fc.array(step, { minLength: 1, maxLength: 8 });
  const property = fc.asyncProperty(history, fc.constantFrom(...onDeletes), async (steps, onDelete) => {
    const registry = new SimulatedRegistry();
    const install = new SimulatedInstall('one', registry);
    for (const { version, mishaps } of steps) {
      install.declared.set('a/x', raw('a/x', serverJson(names[0], version), { 'on-delete': onDelete }));
      await install.observe();
      registry.mishaps = mishaps;
      await install.pass(1000);
    }
    for (let round = 0; round < 10; round += 1) await install.pass(31_000);
    const latest = registry.all().filter(({ _meta }) => _meta['io.modelcontextprotocol.registry/official']?.isLatest);
    expect(latest.map(({ server }) => server.version)).toEqual([steps.at(-1)?.version]);
    expect(latest.map(({ _meta }) => _meta['io.modelcontextprotocol.registry/official']?.status)).toEqual(['active']);
  });
  await fc.assert(property, { numRuns });
});

/** What is declared where, and whether its server answers. */
interface Declared {
  readonly source: string;
  /** undefined: the file is broken */
  readonly document: ServerJson | undefined;
  readonly answers: boolean;
}

function expectEqual(world: TwoInstalls, name: string): void {
  const records = world.records().filter((record) => record.name === name);
  const owners = records.filter(isLive).flatMap(({ stamp }) => stamp?.install ?? []);
  expect(new Set(owners).size, `installs that keep ${name}`).toBeLessThanOrEqual(1);
  for (const install of world.installs) {
    const declared = [...install.declared.values()].map(({ source, document }): Declared => {
      const wish = 'value' in document ? (document.value as ServerJson) : undefined;
      return { source, document: wish, answers: wish !== undefined && doesAnswer(wish, install.up) };
    });
    const own = records.filter((record) => isLive(record) && record.stamp?.install === install.install);
    const others = records.filter((record) => record.stamp?.install !== install.install);
    expectOneNamespace(name, own);
    for (const record of own) expectKept(record, declared, { records, up: install.up });
    expectPublished(name, own, { declared, others });
    expectLatest(name, records);
  }
}

function doesAnswer({ remotes = [] }: ServerJson, up: ReadonlySet<string>): boolean {
  return up.has(new URL(remotes[0]?.url ?? '').hostname.split('.')[0] ?? '');
}

function expectOneNamespace(name: string, own: readonly PublishedRecord[]): void {
  expect(new Set(own.map(({ stamp }) => namespaceOf(stamp?.source ?? ''))).size, `namespaces that keep ${name}`).toBeLessThanOrEqual(1);
}

interface Surroundings {
  readonly records: readonly PublishedRecord[];
  readonly up: ReadonlySet<string>;
}

/** A record that is there is declared, and shows what is declared unless that cannot be. */
function expectKept(record: PublishedRecord, declared: readonly Declared[], around: Surroundings): void {
  const declaration = declared.find(({ source }) => source === record.stamp?.source);
  if (declaration === undefined) expect.fail(`${record.name} ${record.version} has no declaration`);
  const { document } = declaration;
  if (document === undefined) return;
  if (document.name === record.name && document.version === record.version) expectAsDeclared(record, document, { declared, around });
  else expectNoSuccessor(record, declaration, { declared, around });
}

interface Context {
  readonly declared: readonly Declared[];
  readonly around: Surroundings;
}

/** Whether another source, whose server does not answer, has this version: then nobody else may change it. */
function isAwaited({ name, version }: PublishedRecord, declared: readonly Declared[]): boolean {
  return declared.some(({ document, answers }) => !answers && document?.name === name && document.version === version);
}

function expectAsDeclared(record: PublishedRecord, document: ServerJson, { declared, around: { up } }: Context): void {
  const what = `${record.name} ${record.version}`;
  expect(`${what} is ${record.status}`).toBe(`${what} is ${doesAnswer(record.document, up) ? 'active' : 'deprecated'}`);
  const same = sameDocument(unstamped(record.document), document);
  expect(same || isAwaited(record, declared), `${what} is as declared`).toBe(true);
}

/** An earlier version goes as soon as its source's new one is there, unless another source waits with it. */
function expectNoSuccessor(record: PublishedRecord, { document }: Declared, { declared, around }: Context): void {
  const { name, version, stamp } = record;
  const successor = around.records.find((other) => isLive(other) && other.name === document?.name && other.version === document.version);
  const hasSuccessor = document?.name !== name || (successor !== undefined && successor.stamp?.install === stamp?.install);
  expect(!hasSuccessor || isAwaited(record, declared), `${name} ${version} gave way to its successor`).toBe(true);
}

/** A name that nobody else has is published when all of its servers answer. */
function expectPublished(
  name: string,
  own: readonly PublishedRecord[],
  { declared, others }: { declared: readonly Declared[]; others: readonly PublishedRecord[] },
): void {
  if (others.some(isLive) || declared.some(({ document }) => document === undefined)) return;
  const claims = declared.filter(({ document }) => document?.name === name);
  const free = claims.filter(({ document }) => !others.some(({ version }) => version === document?.version));
  if (free.length === 0 || claims.some(({ answers }) => !answers)) return;
  expect(
    own.some(({ status }) => status === 'active'),
    `${name} is published`,
  ).toBe(true);
}

/** Whoever asks for the latest version finds one. */
function expectLatest(name: string, records: readonly PublishedRecord[]): void {
  const active = records.filter(({ status, stamp }) => status === 'active' && stamp !== undefined);
  if (active.length === 0) return;
  expect(
    records.some((record) => isLive(record) && record.isLatest),
    `${name} has a latest version`,
  ).toBe(true);
}
