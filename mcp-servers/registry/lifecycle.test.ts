import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PUBLISHER_META, type RecordStatus } from '../../lib/registry-api/server-json.ts';
import { MAX_VERSIONS_PER_NAME, planPublish } from './lifecycle.ts';
import { documentOf, pathOf, seen, startTestRegistry, type Seen, type TestRegistry } from './testing.ts';
import { parseTime } from './time.ts';

let registry: TestRegistry;
let names = 0;

beforeAll(async () => {
  registry = await startTestRegistry();
});

afterAll(() => registry.close());

function freshName(): string {
  names += 1;
  return `life.b/n${names}`;
}

/** Times are written without trailing zeros, so their texts have no order. */
function micros(time: string): number {
  return parseTime(time) ?? Number.NaN;
}

async function versionsOf(name: string): Promise<Seen[]> {
  const { status, body } = await registry.ask('GET', `${pathOf(name)}/versions?include_deleted=true`);
  return status === 404 ? [] : (body as { servers: unknown[] }).servers.map(seen);
}

async function latestOf(name: string, query = ''): Promise<string | number> {
  const { status, body } = await registry.ask('GET', `${pathOf(name, 'latest')}${query}`);
  return status === 200 ? seen(body).server.version : status;
}

/** Versions in the order that the registry has to give them, lowest first; equal rank where only build metadata or a `v` differs. */
const ranked: readonly (readonly string[])[] = [
  ['snapshot', '2021.03.05', '1.0', 'V1.0.0', '1.0.0-01'],
  ['1.0.0-1'],
  ['1.0.0-a'],
  ['1.0.0-a-b'],
  ['1.0.0-rc.2'],
  ['1.0.0-rc.10'],
  ['1.0.0', 'v1.0.0', '1.0.0+b'],
  ['1.9.0'],
  ['1.10.0'],
  ['2.0.0-rc.1'],
  ['2.0.0'],
];

describe('latest', () => {
  interface Modelled {
    readonly version: string;
    status: RecordStatus;
    isLatest: boolean;
  }

  /** The simplest thing that could be right: records in the order of publication. */
  class Model {
    readonly records: Modelled[] = [];

    publish(version: string): number {
      if (this.records.some((record) => record.version === version)) return 400;
      const flagged = this.records.find(({ isLatest }) => isLatest);
      const isLatest = flagged === undefined || this.#outranks(version, flagged.version);
      if (isLatest && flagged !== undefined) flagged.isLatest = false;
      this.records.push({ version, status: 'active', isLatest });
      return 200;
    }

    edit(version: string): number {
      const record = this.records.find((one) => one.version === version);
      return record === undefined || record.status === 'deleted' ? 404 : 200;
    }

    setStatus(version: string | undefined, status: RecordStatus): number {
      const meant = this.records.filter((record) => version === undefined || record.version === version);
      if (meant.length === 0) return 404;
      if (meant.every((record) => record.status === status)) return 400;
      for (const record of meant) record.status = status;
      const alive = this.records.filter((record) => record.status !== 'deleted');
      const eligible = alive.length > 0 ? alive : this.records;
      const best = Math.max(...eligible.map((record) => rankOf(record.version)));
      // Of equals, and of those without an order, the one published last.
      const winner = eligible.findLast((record) => rankOf(record.version) === best);
      for (const record of this.records) record.isLatest = record === winner;
      return 200;
    }

    #outranks(version: string, flagged: string): boolean {
      // Without an order the later publication wins; equal precedence keeps the older one.
      return rankOf(version) > rankOf(flagged) || (rankOf(version) === 0 && rankOf(flagged) === 0);
    }
  }

  function rankOf(version: string): number {
    return ranked.findIndex((equals) => equals.includes(version));
  }

  const version = fc.constantFrom(...ranked.flat());
  const status = fc.constantFrom<RecordStatus>('active', 'deprecated', 'deleted', 'deleted');
  const command = fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('publish' as const), version }) },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('setStatus' as const), version, status }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('setStatusOfAll' as const), status }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('edit' as const), version }) },
  );
  type Command = typeof command extends fc.Arbitrary<infer C> ? C : never;

  async function answered(name: string, wanted: Command): Promise<number> {
    if (wanted.do === 'publish') return (await registry.publish(name, wanted.version)).status;
    if (wanted.do === 'setStatus') return (await registry.setStatus(pathOf(name, wanted.version), wanted.status)).status;
    if (wanted.do === 'setStatusOfAll') return (await registry.setStatus(pathOf(name), wanted.status)).status;
    const body = documentOf(name, { version: wanted.version, title: 'Edited' });
    return (await registry.ask('PUT', pathOf(name, wanted.version), { body })).status;
  }

  function expected(model: Model, wanted: Command): number {
    if (wanted.do === 'publish') return model.publish(wanted.version);
    if (wanted.do === 'edit') return model.edit(wanted.version);
    return model.setStatus(wanted.do === 'setStatus' ? wanted.version : undefined, wanted.status);
  }

  test('after any sequence of writes there is one latest, and it is the right one', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { minLength: 1, maxLength: 14 }), async (commands) => {
        const name = freshName();
        const model = new Model();
        for (const wanted of commands) {
          expect(await answered(name, wanted)).toBe(expected(model, wanted));
          const shown = (await versionsOf(name)).toReversed();
          expect(shown.map(({ server, status: its, isLatest }) => ({ version: server.version, status: its, isLatest }))).toEqual(
            model.records,
          );
          expect(shown.filter(({ isLatest }) => isLatest)).toHaveLength(Math.min(shown.length, 1));
        }
      }),
      { numRuns: 40 },
    );
  });

  test('a backport is not the latest, a prerelease of a higher version is', async () => {
    const name = freshName();
    for (const [published, latest] of [
      ['1.9.0', '1.9.0'],
      ['2.0.0-rc.1', '2.0.0-rc.1'],
      ['1.9.1', '2.0.0-rc.1'],
      ['2.0.0', '2.0.0'],
      ['snapshot', '2.0.0'],
    ] as const) {
      await registry.publish(name, published);
      expect(await latestOf(name)).toBe(latest);
    }
  });

  test('deleting the latest makes the next lower one latest; when all are deleted there is none to see', async () => {
    const name = freshName();
    for (const one of ['1.0.0', '2.0.0', '1.5.0']) await registry.publish(name, one);
    for (const [deleted, latest] of [
      ['2.0.0', '1.5.0'],
      ['1.0.0', '1.5.0'],
      ['1.5.0', 404],
    ] as const) {
      await registry.setStatus(pathOf(name, deleted), 'deleted');
      expect(await latestOf(name)).toBe(latest);
    }
    expect(await latestOf(name, '?include_deleted=true')).toBe('2.0.0');
    expect((await registry.ask('GET', `${pathOf(name)}/versions`)).status).toBe(404);
    expect((await registry.list(`search=${name}&version=latest`)).count).toBe(0);
    await registry.setStatus(pathOf(name, '1.0.0'), 'active');
    expect(await latestOf(name)).toBe('1.0.0');
  });

  test('a deprecated record can be the latest', async () => {
    const name = freshName();
    await registry.publish(name, '1.0.0');
    await registry.setStatus(pathOf(name, '1.0.0'), 'deprecated', 'old');
    expect(await latestOf(name)).toBe('1.0.0');
  });

  test('a lower version published after all were deleted is hidden until a status of the name changes', async () => {
    const name = freshName();
    await registry.publish(name, '2.0.0');
    await registry.setStatus(pathOf(name, '2.0.0'), 'deleted');
    expect(seen((await registry.publish(name, '1.5.0')).body).isLatest).toBe(false);
    await registry.ask('PUT', pathOf(name, '1.5.0'), { body: documentOf(name, { version: '1.5.0' }) });
    expect(await latestOf(name)).toBe(404);
    await registry.setStatus(pathOf(name, '2.0.0'), 'deleted', 'another message');
    expect(await latestOf(name)).toBe('1.5.0');
  });

  test('losing the flag is no update', async () => {
    const name = freshName();
    const before = seen((await registry.publish(name, '1.0.0')).body);
    await registry.publish(name, '2.0.0');
    const after = seen((await registry.ask('GET', pathOf(name, '1.0.0'))).body);
    expect([after.isLatest, after.updatedAt]).toEqual([false, before.updatedAt]);
  });
});

describe('publishing', () => {
  test('a new record is active, and its three times are one', async () => {
    const { status, body } = await registry.publish(freshName(), '1.0.0');
    const { publishedAt, updatedAt, statusChangedAt, ...rest } = seen(body);
    expect(status).toBe(200);
    expect(rest).toMatchObject({ status: 'active', isLatest: true });
    expect(rest).not.toHaveProperty('statusMessage');
    expect([updatedAt, statusChangedAt]).toEqual([publishedAt, publishedAt]);
    expect(publishedAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{0,5}[1-9])?Z$/);
  });

  test('what was answered to a publish is what is read', async () => {
    const name = freshName();
    const { body } = await registry.publish(name, '1.0.0');
    expect((await registry.ask('GET', pathOf(name, '1.0.0'))).body).toEqual(body);
  });

  test('a version is taken for ever, in whatever state', async () => {
    const name = freshName();
    await registry.publish(name, '1.0.0');
    for (const status of ['deprecated', 'deleted']) {
      await registry.setStatus(pathOf(name, '1.0.0'), status);
      expect(await registry.publish(name, '1.0.0')).toMatchObject({
        status: 400,
        body: {
          detail: 'Failed to publish server',
          errors: [{ message: `invalid version: cannot publish duplicate version: ${name}@1.0.0 already exists` }],
        },
      });
    }
  });

  test('two names may share a remote', async () => {
    const remotes = [{ type: 'sse', url: 'https://shared.example/mcp' }];
    for (const name of [freshName(), freshName()]) expect((await registry.publish(name, '1.0.0', { remotes })).status).toBe(200);
  });

  test('of ten publishes at once of different versions one is the latest; of one version one succeeds', async () => {
    const name = freshName();
    const different = await Promise.all(Array.from({ length: 10 }, (_, minor) => registry.publish(name, `1.${minor}.0`)));
    expect(different.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
    expect((await versionsOf(name)).filter(({ isLatest }) => isLatest).map(({ server }) => server.version)).toEqual(['1.9.0']);
    const same = await Promise.all(Array.from({ length: 10 }, () => registry.publish(name, '2.0.0')));
    expect(same.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(same.filter(({ status }) => status === 400)).toHaveLength(9);
    expect((await versionsOf(name)).length).toBe(11);
  });

  test('a name has at most 10,000 versions, deleted ones included', () => {
    const facts = { name: 'a.b/x', version: '1.0.0', taken: false, latest: undefined };
    expect(planPublish({ ...facts, count: MAX_VERSIONS_PER_NAME - 1 }, 1).do).toBe('insert');
    expect(planPublish({ ...facts, count: MAX_VERSIONS_PER_NAME }, 1)).toMatchObject({
      do: 'refuse',
      problem: {
        status: 400,
        message: 'Failed to publish server',
        details: [{ message: expect.stringContaining('maximum number of versions') as string }],
      },
    });
  });
});

describe('status', () => {
  test('every transition is allowed, both ways, and moves statusChangedAt', async () => {
    const name = freshName();
    let last = seen((await registry.publish(name, '1.0.0')).body);
    for (const status of ['deprecated', 'deleted', 'active', 'deleted', 'deprecated', 'active']) {
      const answer = await registry.setStatus(pathOf(name, '1.0.0'), status);
      const now = seen(answer.body);
      expect([answer.status, now.status, now.publishedAt]).toEqual([200, status, last.publishedAt]);
      expect(micros(now.statusChangedAt)).toBeGreaterThan(micros(last.statusChangedAt));
      expect(now.updatedAt).toBe(now.statusChangedAt);
      last = now;
    }
  });

  test('a message may change alone, be empty, and be cleared; statusChangedAt stays', async () => {
    const name = freshName();
    await registry.publish(name, '1.0.0');
    const at = pathOf(name, '1.0.0');
    const first = seen((await registry.setStatus(at, 'deprecated', 'why')).body);
    const second = seen((await registry.setStatus(at, 'deprecated', '')).body);
    expect([first.statusMessage, second.statusMessage, second.statusChangedAt]).toEqual(['why', '', first.statusChangedAt]);
    expect(seen((await registry.setStatus(at, 'deprecated')).body)).not.toHaveProperty('statusMessage');
    await registry.setStatus(at, 'deprecated', 'again');
    expect(seen((await registry.setStatus(at, 'active')).body)).not.toHaveProperty('statusMessage');
  });

  test('what would change nothing, or gives active a message, is refused', async () => {
    const name = freshName();
    await registry.publish(name, '1.0.0');
    const at = pathOf(name, '1.0.0');
    const nothing = 'No changes to apply: status and message are already set to the provided values';
    expect((await registry.setStatus(at, 'active')).body).toMatchObject({ status: 400, detail: nothing });
    await registry.setStatus(at, 'deprecated', 'm');
    expect((await registry.setStatus(at, 'deprecated', 'm')).body).toMatchObject({ status: 400, detail: nothing });
    for (const message of ['m', '']) {
      expect((await registry.setStatus(at, 'active', message)).body).toMatchObject({
        status: 400,
        detail: 'status_message cannot be provided when setting status to active',
      });
    }
  });

  test.each([
    ['x'.repeat(500), 200],
    ['x'.repeat(501), 422],
    ['\u{1F600}'.repeat(500), 200],
    ['a\u0000b', 400],
    [5, 422],
  ])('a message of 500 code points at most: %.8s', async (message, status) => {
    const name = freshName();
    await registry.publish(name, '1.0.0');
    expect((await registry.setStatus(pathOf(name, '1.0.0'), 'deprecated', message)).status).toBe(status);
  });

  test('`latest` and unknown versions are no versions here', async () => {
    const name = freshName();
    await registry.publish(name, '1.0.0');
    for (const version of ['latest', '9.9.9']) {
      expect((await registry.setStatus(pathOf(name, version), 'deleted')).body).toMatchObject({
        status: 404,
        detail: 'Server version not found',
      });
    }
  });

  test('all versions at once: those that differ are written, all are shown', async () => {
    const name = freshName();
    for (const version of ['1.0.0', '2.0.0', '3.0.0']) await registry.publish(name, version);
    const untouched = seen((await registry.setStatus(pathOf(name, '2.0.0'), 'deprecated', 'm')).body);
    const { status, body } = await registry.setStatus(pathOf(name), 'deprecated', 'm');
    const { updatedCount, servers } = body as { updatedCount: number; servers: unknown[] };
    expect([status, updatedCount]).toEqual([200, 3]);
    const shown = servers.map(seen);
    expect(shown.map((record) => [record.server.version, record.status, record.statusMessage])).toEqual(
      ['3.0.0', '2.0.0', '1.0.0'].map((version) => [version, 'deprecated', 'm']),
    );
    expect(shown[1]?.updatedAt).toBe(untouched.updatedAt);
    expect((await registry.setStatus(pathOf(name), 'deprecated', 'm')).body).toMatchObject({
      status: 400,
      detail: 'No changes to apply: all versions already have the requested status and message',
    });
    expect((await registry.setStatus(pathOf('life.b/unknown'), 'deprecated')).body).toMatchObject({
      status: 404,
      detail: 'Server not found',
    });
  });

  test('the body is status and statusMessage, in any case, and nothing else', async () => {
    const name = freshName();
    await registry.publish(name, '1.0.0');
    const patch = (body: string) => registry.ask('PATCH', `${pathOf(name, '1.0.0')}/status`, { body });
    expect((await patch('{"STATUS":"deprecated","StatusMessage":"m"}')).status).toBe(200);
    expect(await patch('{"status":"gone","statusMessage":5,"x":1}')).toMatchObject({
      status: 422,
      body: {
        errors: [
          { message: 'expected value to be one of "active, deprecated, deleted"', location: 'body.status' },
          { message: 'expected string', location: 'body.statusMessage' },
          { message: 'unexpected property', location: 'body.x' },
        ],
      },
    });
    expect((await patch('{}')).body).toMatchObject({
      errors: [{ message: 'expected required property status to be present', location: 'body' }],
    });
  });
});

describe('editing', () => {
  test('replaces the document, moves updatedAt even when nothing changed, and keeps all else', async () => {
    const name = freshName();
    await registry.publish(name, '1.0.0');
    await registry.publish(name, '2.0.0');
    const before = seen((await registry.setStatus(pathOf(name, '1.0.0'), 'deprecated', 'old')).body);
    const put = () => registry.ask('PUT', pathOf(name, '1.0.0'), { body: documentOf(name, { title: 'Edited' }) });
    const [first, second] = [seen((await put()).body), seen((await put()).body)];
    const { updatedAt: _, server: __, ...kept } = before;
    expect(first).toMatchObject({ ...kept, server: { title: 'Edited', description: 'a server' } });
    expect(micros(first.updatedAt)).toBeGreaterThan(micros(before.updatedAt));
    expect(micros(second.updatedAt)).toBeGreaterThan(micros(first.updatedAt));
  });

  test.each([
    ['another name', { name: 'life.b/other' }, 400, 'Cannot rename server'],
    ['another version', { version: '2.0.0' }, 400, 'Version in request body must match URL path parameter'],
    ['another name and no valid one', { name: 'a/b', version: 'latest' }, 400, 'Cannot rename server'],
    ['an invalid document', { websiteUrl: 'http://a.example' }, 422, 'Failed to edit server, invalid schema: call /validate for details'],
    ['what cannot be stored', { description: 'a\u0000b' }, 400, 'Failed to edit server'],
  ])('refuses %s', async (_, changes, status, detail) => {
    const name = freshName();
    await registry.publish(name, '1.0.0');
    const answer = await registry.ask('PUT', pathOf(name, '1.0.0'), { body: documentOf(name, changes) });
    expect([answer.status, (answer.body as { detail: string }).detail]).toEqual([status, detail]);
  });

  test('finds no deleted record, none under `latest`, and says so before it looks at rights', async () => {
    const name = freshName();
    await registry.publish(name, '1.0.0');
    await registry.setStatus(pathOf(name, '1.0.0'), 'deleted');
    for (const version of ['1.0.0', 'latest', '9.9.9']) {
      const answer = await registry.ask('PUT', pathOf(name, version), { body: documentOf(name) });
      expect(answer.body).toMatchObject({ status: 404, detail: 'Server not found' });
    }
  });

  test('knows no limit for the publisher’s own metadata', async () => {
    const name = freshName();
    await registry.publish(name, '1.0.0');
    const large = { _meta: { [PUBLISHER_META]: { a: 'x'.repeat(5000) } } };
    expect((await registry.publish(name, '1.1.0', large)).status).toBe(400);
    expect((await registry.ask('PUT', pathOf(name, '1.0.0'), { body: documentOf(name, large) })).status).toBe(200);
  });
});
