import * as fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { OFFICIAL_META, PUBLISHER_META, type ServerRecord } from '../../lib/registry-api/server-json.ts';
import type { Permission } from '../../lib/registry-api/token.ts';
import { documentOf, pathOf, type Ask } from '../../mcp-servers/registry/testing.ts';
import { microsecondsOf } from './answers.ts';
import { drawing } from './drawing.ts';
import { everything, TwoRegistries, type Target } from './two-registries.ts';

const both = await TwoRegistries.start();
afterAll(() => both.close());

const SEQUENCES = 200;
const MAX_STEPS = 30;

/** Few names and versions, so that steps meet. Ordered and unordered versions, one that no registry takes. */
const names = ['a', 'a-b', 'B'] as const;
const versions = ['1.0.0', '1.1.0', '2.0.0-rc.1', '2.0.0', '2.0.0+b', 'snapshot', '50% a/b', '1.x'] as const;
const changes: readonly Readonly<Record<string, unknown>>[] = [
  {},
  { description: 'another' },
  { title: 'With a title', icons: [], repository: null },
  { remotes: [{ type: 'streamable-http', url: 'https://a.example/mcp', headers: [{ name: 'A', isSecret: false }] }] },
  { packages: [{ registryType: 'npm', identifier: 'a', version: '1.0.0', transport: { type: 'stdio' } }] },
  { _meta: { [PUBLISHER_META]: { big: 2 ** 60, nothing: null, list: [0.5, {}] } } },
  { description: '' },
  { remotes: [{ type: 'sse', url: 'http://a.example' }] },
];

type Step =
  | {
      readonly do: 'publish' | 'edit';
      readonly name: string;
      readonly version: string;
      readonly changes: Readonly<Record<string, unknown>>;
    }
  | { readonly do: 'set status'; readonly name: string; readonly version: string; readonly wish: unknown }
  | { readonly do: 'set status of all'; readonly name: string; readonly wish: unknown }
  | { readonly do: 'list'; readonly query: string }
  | { readonly do: 'read'; readonly name: string; readonly rest: string }
  | { readonly do: 'remember the time' };

/** Who asks: not everybody may do everything. */
const callers = {
  owner: everything,
  publisher: [{ action: 'publish', resource: `${both.space}/*` }],
  editor: [{ action: 'edit', resource: `${both.space}/*` }],
  stranger: [
    { action: 'publish', resource: 'a.stranger/*' },
    { action: 'edit', resource: 'a.stranger/*' },
  ],
} satisfies Record<string, readonly Permission[]>;

type Caller = keyof typeof callers;

const steps: fc.Arbitrary<readonly { readonly by: Caller; readonly step: Step }[]> = (() => {
  const name = fc.constantFrom('a', 'a', ...names);
  const version = fc.constantFrom(...versions);
  const status = fc.constantFrom('active', 'deprecated', 'deleted');
  const message = fc.option(fc.constantFrom('', 'why', 'because'), { nil: undefined, freq: 2 });
  const wish = fc.record({ status, statusMessage: message });
  const filters = fc.subarray(['version=latest', 'include_deleted=true', 'limit=2', 'version=2.0.0']);
  const rest = fc.constantFrom('', '/latest', ...versions.map((each) => `/${encodeURIComponent(encodeURIComponent(each))}`));
  const deleted = fc.constantFrom('', '?include_deleted=true');
  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 6, arbitrary: fc.record({ do: fc.constant('publish' as const), name, version, changes: fc.constantFrom(...changes) }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('edit' as const), name, version, changes: fc.constantFrom(...changes) }) },
    { weight: 5, arbitrary: fc.record({ do: fc.constant('set status' as const), name, version, wish }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('set status of all' as const), name, wish }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('list' as const), query: filters.map((each) => each.join('&')) }) },
    {
      weight: 1,
      arbitrary: fc.tuple(name, rest, deleted).map(([name, rest, query]) => ({ do: 'read' as const, name, rest: rest + query })),
    },
    { weight: 1, arbitrary: fc.constant({ do: 'remember the time' as const }) },
  );
  const by = fc.oneof(
    { weight: 9, arbitrary: fc.constant<Caller>('owner') },
    { weight: 1, arbitrary: fc.constantFrom<Caller>('publisher', 'editor', 'stranger') },
  );
  return fc.array(fc.record({ by, step }), { minLength: 1, maxLength: MAX_STEPS, size: 'max' });
})();

let sequences = 0;
/** of writes: a run in which all were refused would compare little */
const statuses = new Set<number>();

test('any sequence of publications, edits, status changes and reads is answered alike, and ends in equal lists', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      sequences += 1;
      const run = new Run(`${both.space}/s${sequences}.`);
      for (const { by, step } of sequence) await run.take(step, await both.tokenFor(...callers[by]));
      await run.compareLists();
      expect(both.differences.splice(0)).toEqual([]);
    }),
    drawing(SEQUENCES),
  );
  expect([...statuses]).toEqual(expect.arrayContaining([200, 400, 403, 404, 422]));
});

/** One sequence, on names of its own. */
class Run {
  readonly #prefix: string;
  #remembered: Target | undefined;

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  async take(step: Step, token: string): Promise<void> {
    switch (step.do) {
      case 'publish':
        return this.#write('POST', '/v0.1/publish', { token, body: this.#document(step) });
      case 'edit':
        return this.#write('PUT', this.#path(step.name, step.version), { token, body: this.#document(step) });
      case 'set status':
        return this.#write('PATCH', `${this.#path(step.name, step.version)}/status`, { token, body: JSON.stringify(step.wish) });
      case 'set status of all':
        return this.#write('PATCH', `${this.#path(step.name)}/status`, { token, body: JSON.stringify(step.wish) });
      case 'list':
        return both.walk(`search=${this.#prefix}&${step.query}`);
      case 'read':
        return both.get(`${this.#path(step.name)}/versions${step.rest}`);
      case 'remember the time':
        this.#remembered = await this.#lastTimes();
    }
  }

  async compareLists(): Promise<void> {
    for (const filter of ['', '&version=latest', '&include_deleted=true', '&include_deleted=true&version=latest']) {
      await both.walk(`search=${this.#prefix}&limit=4${filter}`);
    }
    for (const name of names) await both.get(`${this.#path(name)}/versions?include_deleted=true`);
    if (this.#remembered !== undefined) await both.ask('GET', this.#remembered);
  }

  async #write(method: string, target: string, ask: Ask): Promise<void> {
    const { embedded } = await both.ask(method, target, ask);
    statuses.add(embedded.status);
  }

  #path(name: string, version?: string): string {
    return pathOf(`${this.#prefix}${name}`, version);
  }

  #document({ name, version, changes }: Extract<Step, { do: 'publish' | 'edit' }>): string {
    return documentOf(`${this.#prefix}${name}`, { version, ...changes });
  }

  /** What was written later than all so far, as each registry's own clock has it. */
  async #lastTimes(): Promise<Target> {
    const { official, embedded } = await both.ask('GET', `/v0.1/servers?search=${this.#prefix}&include_deleted=true&limit=100`);
    const target = ({ body }: { readonly body: unknown }): string => {
      const times = (body as { servers: ServerRecord[] }).servers.map(({ _meta }) => microsecondsOf(_meta[OFFICIAL_META]?.updatedAt ?? ''));
      return `/v0.1/servers?search=${this.#prefix}&updated_since=${times.toSorted().at(-1) ?? '2020-01-01T00:00:00'}Z`;
    };
    return { official: target(official), embedded: target(embedded) };
  }
}
