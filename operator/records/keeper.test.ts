import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { RegistryError } from '../../lib/registry-api/errors.ts';
import { Keeper } from './keeper.ts';
import { Reporter } from './reporter.ts';
import { SimulatedRegistry } from './testing/registry.ts';
import { raw, serverJson, SimulatedInstall } from './testing/world.ts';

const NAME = 'com.example/weather';

function setUp(rules = {}): { registry: SimulatedRegistry; install: SimulatedInstall } {
  const registry = new SimulatedRegistry();
  return { registry, install: new SimulatedInstall('toolyard', registry, rules) };
}

async function declare(install: SimulatedInstall, version = '1.0.0', settings: unknown = {}, fields = {}): Promise<void> {
  install.declared.set('a/x', raw('a/x', serverJson(NAME, version, fields), settings));
  await install.observe();
}

function deedsOf({ deeds }: SimulatedRegistry): readonly string[] {
  return deeds.filter(({ by }) => by !== 'stranger').map(({ did, version }) => `${did} ${version}`);
}

function publishedOf(install: SimulatedInstall): string | undefined {
  return install.keeper.describeAll()[0]?.conditions.find(({ type }) => type === 'Published')?.reason;
}

test('nothing is written before source and registry were read once', async () => {
  const { registry, install } = setUp();
  await install.keeper.resync();
  expect(install.keeper.ready).toBe(false);
  registry.down = true;
  await declare(install);
  await install.pass(1000);
  registry.down = false;
  expect(registry.deeds).toEqual([]);
  await install.pass(1000);
  expect(deedsOf(registry)).toEqual(['publish 1.0.0']);
});

test('an adopted record that lost its mark is not taken over again until adopt is set anew', async () => {
  const { registry, install } = setUp();
  const byHand = serverJson(NAME, '1.0.0', { description: 'by hand' });
  await registry.port('stranger').publish(byHand);
  await declare(install, '1.0.0', { adopt: true });
  await install.pass(1000);
  await install.pass(1000);
  expect(deedsOf(registry)).toEqual(['edit 1.0.0']);
  await registry.port('stranger').edit(byHand);
  await install.pass(1000);
  await install.pass(1000);
  expect(deedsOf(registry)).toEqual(['edit 1.0.0']);
  await declare(install, '1.0.0');
  await declare(install, '1.0.0', { adopt: true });
  await install.pass(1000);
  expect(deedsOf(registry)).toEqual(['edit 1.0.0', 'edit 1.0.0']);
});

test('a name of another install is taken over with all its versions when that install is named', async () => {
  const { registry, install } = setUp();
  const other = new SimulatedInstall('other', registry);
  other.declared.set('c/old', raw('c/old', serverJson(NAME, '0.9.0')));
  other.declared.set('c/new', raw('c/new', serverJson(NAME, '1.0.0')));
  await other.observe();
  for (let round = 0; round < 3; round += 1) await other.pass(1000);
  await declare(install, '1.0.0', { adopt: 'other' });
  for (let round = 0; round < 5; round += 1) await install.pass(31_000);
  await other.pass(31_000);
  await install.pass(31_000);
  const live = registry.all().filter(({ _meta }) => _meta['io.modelcontextprotocol.registry/official']?.status === 'active');
  expect(live.map(({ server }) => server.version)).toEqual(['1.0.0']);
  expect(other.keeper.describeAll().map(({ state }) => state)).toEqual(['Refused', 'Refused']);
});

test('what the registry refuses is tried again ever more seldom, and at once when it changes', async () => {
  const { registry, install } = setUp();
  await declare(install);
  await install.pass(1000);
  expect(deedsOf(registry)).toEqual(['publish 1.0.0']);
  registry.refuses = 'edit';
  await declare(install, '1.0.0', {}, { description: 'better' });
  expect(publishedOf(install)).toBe('RegistryRefused');
  for (let second = 0; second < 60; second += 1) await install.pass(1000);
  const tries = deedsOf(registry).length;
  expect(tries).toBeLessThan(10);
  await declare(install, '1.0.0', {}, { description: 'better still' });
  expect(deedsOf(registry)).toHaveLength(tries + 1);
  registry.refuses = undefined;
  await declare(install, '1.0.0', {}, { description: 'good' });
  expect(publishedOf(install)).toBe('Published');
});

test('a registry that takes a write and does not keep it is not flooded', async () => {
  const { registry, install } = setUp();
  await declare(install);
  await install.pass(1000);
  registry.forgets = true;
  await declare(install, '1.0.0', {}, { description: 'better' });
  expect(publishedOf(install)).toBe('NotKept');
  for (let second = 0; second < 60; second += 1) await install.pass(1000);
  expect(deedsOf(registry).length).toBeLessThan(10);
});

test('one record that is refused does not stop the others', async () => {
  const { registry, install } = setUp();
  registry.refuses = '1.0.0';
  install.declared.set('a/x', raw('a/x', serverJson(NAME, '1.0.0')));
  install.declared.set('a/y', raw('a/y', serverJson(NAME, '2.0.0')));
  install.declared.set('a/z', raw('a/z', serverJson('com.example/other', '3.0.0')));
  await install.observe();
  await install.pass(1000);
  expect(registry.all().map(({ server }) => server.version)).toEqual(['3.0.0', '2.0.0']);
});

test('a mark that somebody changed by hand is set right, a content too', async () => {
  const { registry, install } = setUp();
  await declare(install);
  await install.pass(1000);
  const [record] = registry.all();
  await registry.port('stranger').edit({ ...record!.server, description: 'tampered' });
  await install.pass(1000);
  expect(registry.all()[0]?.server.description).toBe('a server');
});

test('a record that somebody deleted is restored while it is declared', async () => {
  const { registry, install } = setUp();
  await declare(install);
  await install.pass(1000);
  await registry.port('stranger').setStatus({ name: NAME, version: '1.0.0', status: 'deleted' });
  await install.pass(1000);
  expect(deedsOf(registry)).toEqual(['publish 1.0.0', 'active 1.0.0']);
});

test('a version that was withdrawn is taken over by another namespace at once: its old mark has no time left, also after a restart', async () => {
  const { registry, install } = setUp();
  await declare(install);
  await install.pass(1000);
  install.declared.clear();
  await install.observe();
  await install.pass(31_000);
  await install.restart();
  install.declared.set('b/x', raw('b/x', serverJson(NAME, '1.0.0', { description: 'of b' })));
  await install.observe();
  for (let second = 0; second < 5; second += 1) await install.pass(1000);
  expect(deedsOf(registry)).toEqual(['publish 1.0.0', 'deleted 1.0.0', 'active 1.0.0', 'edit 1.0.0']);
  expect(registry.all()[0]?.server.description).toBe('of b');
});

test.each(['named', 'nameless'] as const)(
  'a %s record that cannot be read stops its own name only, is told, and changes nothing',
  async (how) => {
    const { registry, install } = setUp();
    await registry.port('stranger').publish(serverJson(NAME, '9.9.9'));
    registry.obscured.set('9.9.9', how);
    install.declared.set('a/y', raw('a/y', serverJson('com.example/news', '1.0.0')));
    await declare(install);
    for (let round = 0; round < 3; round += 1) await install.pass(31_000);
    expect(deedsOf(registry)).toEqual(['publish 1.0.0']);
    const { registry: state } = install.keeper;
    expect(state).toMatchObject({ state: 'up', unreadable: { count: 1, records: [{ fault: 'of no known shape' }] } });
    expect(publishedOf(install)).toBe('RecordUnreadable');
    registry.obscured.clear();
    await install.pass(1000);
    expect(install.keeper.registry.unreadable).toBeUndefined();
    expect(publishedOf(install)).toBe('NameTaken');
  },
);

test('a record of ours that cannot be read any more is neither withdrawn nor published again', async () => {
  const { registry, install } = setUp();
  await declare(install);
  await install.pass(1000);
  registry.obscured.set('1.0.0', 'named');
  await install.pass(1000);
  install.declared.clear();
  await install.observe();
  for (let round = 0; round < 3; round += 1) await install.pass(31_000);
  expect(deedsOf(registry)).toEqual(['publish 1.0.0']);
  registry.obscured.clear();
  for (let round = 0; round < 3; round += 1) await install.pass(31_000);
  expect(deedsOf(registry)).toEqual(['publish 1.0.0', 'deleted 1.0.0']);
});

test('records that cannot be read are told when that changes, not each time', async () => {
  const { registry, install } = setUp();
  await registry.port('stranger').publish(serverJson(NAME, '9.9.9'));
  const lines: string[] = [];
  const reporter = new Reporter('toolyard', [], { log: pino({ level: 'info' }, { write: (line) => lines.push(line) }) });
  registry.obscured.set('9.9.9', 'named');
  for (let round = 0; round < 3; round += 1) {
    await install.pass(1000);
    reporter.view(install.keeper, false);
  }
  registry.obscured.clear();
  for (let round = 0; round < 3; round += 1) {
    await install.pass(1000);
    reporter.view(install.keeper, false);
  }
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    { count: 1, records: [{ name: NAME, version: '9.9.9', fault: 'of no known shape' }] },
    { msg: 'all records of the registry can be read' },
  ]);
});

test('in an hour in which nothing changes two installs write nothing, whatever state their records are in', async () => {
  const { registry, install } = setUp();
  const other = new SimulatedInstall('other', registry);
  await registry.port('stranger').publish(serverJson('com.example/by-hand', '1.0.0'));
  const put = (of: SimulatedInstall, source: string, document: object, settings = {}): unknown =>
    of.declared.set(source, raw(source, document, settings));
  put(install, 'a/plain', serverJson(NAME, '1.0.0'));
  put(install, 'a/stops', serverJson('com.example/stops', '1.0.0', { at: 'spare' }));
  put(install, 'a/gone', serverJson('com.example/gone', '1.0.0'));
  put(install, 'a/kept', serverJson('com.example/kept', '1.0.0'), { 'on-delete': 'deprecate' });
  put(install, 'a/reverted', serverJson('com.example/reverted', '2.0.0'));
  put(install, 'a/taken', serverJson('com.example/by-hand', '2.0.0'));
  put(other, 'c/plain', serverJson('com.example/news', '1.0.0'));
  put(other, 'c/taken', serverJson(NAME, '3.0.0'));
  install.up.add('spare');
  for (const one of [install, other]) await one.observe();
  for (let round = 0; round < 3; round += 1) for (const one of [install, other]) await one.pass(31_000);
  install.up.delete('spare');
  for (const source of ['a/gone', 'a/kept']) install.declared.delete(source);
  put(install, 'a/reverted', serverJson('com.example/reverted', '1.0.0'));
  await install.observe();
  for (let round = 0; round < 4; round += 1) for (const one of [install, other]) await one.pass(31_000);
  const statuses = registry
    .all()
    .map(({ server, _meta }) => `${server.name} ${server.version} ${_meta['io.modelcontextprotocol.registry/official']?.status}`);
  expect(statuses).toEqual([
    'com.example/by-hand 1.0.0 active',
    'com.example/gone 1.0.0 deleted',
    'com.example/kept 1.0.0 deprecated',
    'com.example/news 1.0.0 active',
    'com.example/reverted 1.0.0 active',
    'com.example/reverted 2.0.0 deleted',
    'com.example/stops 1.0.0 deprecated',
    'com.example/weather 1.0.0 active',
  ]);
  const before = registry.deeds.length;
  for (let minute = 0; minute < 60; minute += 1) for (const one of [install, other]) await one.pass(60_000);
  expect(registry.deeds.slice(before)).toEqual([]);
});

describe('a registry that fails', () => {
  function declareMany(install: SimulatedInstall, many = 20): void {
    for (let index = 0; index < many; index += 1) {
      install.declared.set(`a/${index}`, raw(`a/${index}`, serverJson(`com.example/n${index}`, index < many - 1 ? '6.6.6' : '1.0.0')));
    }
  }

  test('on some records keeps no other from being published, and is up', async () => {
    const { registry, install } = setUp();
    registry.breaksOn = '6.6.6';
    declareMany(install);
    await install.observe();
    await install.pass(1000);
    await install.pass(1000);
    expect(install.keeper.registry.state).toBe('up');
    expect(registry.all().map(({ server }) => server.version)).toEqual(['1.0.0']);
    expect(publishedOf(install)).toBe('RegistryFailed');
    const before = registry.deeds.length;
    for (let second = 0; second < 60; second += 1) await install.pass(1000);
    expect(registry.deeds.length - before, 'tried ever less often').toBeLessThan(19 * 8);
    registry.breaksOn = undefined;
    await install.pass(61_000);
    expect(registry.all()).toHaveLength(20);
  });

  test('to show one name keeps no other from being published, and is up', async () => {
    const { registry, install } = setUp();
    await declare(install);
    registry.breaksAt = NAME;
    declareMany(install, 3);
    await install.observe();
    await install.pass(1000);
    await install.pass(1000);
    expect(install.keeper.registry.state).toBe('up');
    expect(registry.all()).toHaveLength(3);
    expect(
      install.keeper
        .describeAll()
        .find(({ name }) => name === NAME)
        ?.conditions.at(-1)?.reason,
    ).toBe('RegistryFailed');
    registry.breaksAt = undefined;
    await install.pass(61_000);
    expect(registry.all()).toHaveLength(4);
  });

  test.each([
    ['asks for a pause of years', 1e12, 600_000],
    ['asks for no pause', 0, 250],
  ])('and %s gets one that is bounded', async (_what, retryAfterMs, expected) => {
    const waits: number[] = [];
    const { registry } = setUp();
    const keeper = new Keeper({
      rules: { install: 'x', publishEndpoint: false, endpoints: {}, namePolicy: {}, immutableVersions: false, withdrawAfterMs: 1 },
      source: { namespaceOf: () => 'a', installNamespace: 'a' },
      registry: {
        ...registry.port('x'),
        list: async function* () {
          yield* await Promise.reject<never[]>(new RegistryError('rate-limited', 'wait', { status: 429, retryAfterMs }));
        },
      },
      answers: new SimulatedInstall('x', registry).answers,
      log: pino({ level: 'silent' }),
      onChange: () => {},
      onTrouble: (waitMs) => waits.push(waitMs),
    });
    await keeper.resync();
    expect(waits).toEqual([expected]);
  });
});
