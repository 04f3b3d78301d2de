import { describe, expect, test } from 'vitest';
import type { UnreadableRecord } from '../../lib/registry-api/answers.ts';
import { SCHEMA_URL, type ServerJson } from '../../lib/registry-api/server-json.ts';
import type { Reach } from './answers.ts';
import { readDeclaration, type Declaration } from './declaration.ts';
import type { Claim } from './ownership.ts';
import { endedSources, planName, type Action, type World } from './plan.ts';
import { stamped, type OnDelete, type PublishedRecord } from './record.ts';
import type { Target } from './target.ts';
import { answersVerdict, namespaceOf, raw, refusedVerdict, serverJson, urlOf } from './testing/world.ts';

const NAME = 'com.example/weather';
const answers: Reach = { is: 'answers', verdict: answersVerdict };
const silent: Reach = { is: 'silent', failure: refusedVerdict };
const doubtful: Reach = { is: 'doubtful', failure: refusedVerdict };
const unasked: Reach = { is: 'unasked' };

interface Situation extends Partial<World> {
  readonly declared?: readonly Declaration[];
  readonly records?: readonly PublishedRecord[];
  readonly unreadable?: readonly UnreadableRecord[];
  /** by the first part of the host name; others answer */
  readonly reaches?: Readonly<Record<string, Reach>>;
  readonly ended?: Readonly<Record<string, number>>;
}

function declare(
  version = '1.0.0',
  { source = 'a/x', at = 'main', settings = {}, name = NAME, createdAt = 0, fields = {} } = {},
): Declaration {
  const document = serverJson(name, version, { at, ...fields });
  return readDeclaration(raw(source, document, settings, createdAt), { install: 'toolyard', publishEndpoint: false, endpoints: {} });
}

const broken: Declaration = readDeclaration(
  { source: 'a/x', namespace: 'a', createdAt: 0, document: { unusable: 'InvalidJson', message: 'no JSON' }, settings: { value: {} } },
  { install: 'toolyard', publishEndpoint: false, endpoints: {} },
);

interface Publication extends Partial<PublishedRecord> {
  readonly source?: string;
  readonly install?: string;
  readonly onDelete?: OnDelete;
  readonly at?: string;
}

/** A record as this operator would have published it. */
function published(
  version = '1.0.0',
  { source = 'a/x', install = 'toolyard', onDelete, at = 'main', ...fields }: Publication = {},
): PublishedRecord {
  const stamp = { install, source, ...(onDelete !== undefined && { onDelete }) };
  const document = stamped(serverJson(NAME, version, { at }), stamp);
  return { name: NAME, version, document, status: 'active', isLatest: true, publishedAt: 1, stamp, ...fields };
}

function strange(version = '1.0.0', fields: Partial<PublishedRecord> = {}): PublishedRecord {
  const document = serverJson(NAME, version, { description: 'by hand' });
  return { name: NAME, version, document, status: 'active', isLatest: true, publishedAt: 1, ...fields };
}

function isClaim(declaration: Declaration): declaration is Claim {
  return declaration.wish.is === 'record' && declaration.wish.name === NAME;
}

function worldOf({ declared = [], reaches = {}, ended = {}, ...fields }: Situation): World {
  return {
    install: 'toolyard',
    installNamespace: 'toolyard',
    namePolicy: {},
    withdrawAfterMs: 30_000,
    now: 100_000,
    complete: true,
    immutableVersions: false,
    publishEndpoint: false,
    declarationOf: (source) => declared.find((declaration) => declaration.source === source),
    namespaceOf,
    endedSince: (_name, source) => ended[source],
    adoptedBefore: () => false,
    reach: (target: Target) => (target.is === 'none' ? target : (reaches[hostOf(target.url)] ?? answers)),
    ...fields,
  };
}

function hostOf(url: string): string {
  return new URL(url).hostname.split('.')[0] ?? '';
}

/** What is done, per source and version: `a/x 1.0.0: publish`. */
function plan(situation: Situation): readonly string[] {
  const claims = (situation.declared ?? []).filter(isClaim);
  const { records = [], unreadable = [] } = situation;
  const steps = planName({ name: NAME, claims, records, unreadable }, worldOf(situation));
  return steps.map(({ source, version, action }) => `${source} ${version}: ${wordsOf(action)}`);
}

function wordsOf(action: Action): string {
  if (action.do === 'wait') return `wait for ${action.for}`;
  return action.do === 'refuse' ? `refuse ${action.reason}` : action.do;
}

describe('publishing', () => {
  test.each([
    ['its server answers', answers, 'publish'],
    ['its server asks for credentials', { is: 'answers', verdict: { is: 'auth-required', status: 401 } }, 'publish'],
    ['its server was not asked yet', unasked, 'wait for answer'],
    ['its server failed once', doubtful, 'wait for answer'],
    ['its server is silent', silent, 'wait for answer'],
  ] as [string, Reach, string][])('when %s', (_when, main, action) => {
    expect(plan({ declared: [declare()], reaches: { main } })).toEqual([`a/x 1.0.0: ${action}`]);
  });

  test('without asking, when that is what is declared', () => {
    expect(plan({ declared: [declare('1.0.0', { settings: { probe: 'off' } })] })).toEqual(['a/x 1.0.0: publish']);
  });

  test('nothing, when the registry shows it already', () => {
    expect(plan({ declared: [declare()], records: [published()] })).toEqual(['a/x 1.0.0: nothing']);
  });
});

describe('a record that is published', () => {
  test.each([
    ['active', unasked, 'nothing'],
    ['active', doubtful, 'nothing'],
    ['active', silent, 'deprecate'],
    ['deprecated', silent, 'nothing'],
    ['deprecated', doubtful, 'nothing'],
    ['deprecated', answers, 'activate'],
    ['deleted', answers, 'restore'],
    ['deleted', silent, 'wait for answer'],
  ] as [PublishedRecord['status'], Reach, string][])('that is %s, while its server is %j: %s', (status, main, action) => {
    expect(plan({ declared: [declare()], records: [published('1.0.0', { status })], reaches: { main } })).toEqual([`a/x 1.0.0: ${action}`]);
  });

  test('is edited at once, whether its server answers or not', () => {
    const declared = [declare('1.0.0', { fields: { description: 'better' } })];
    expect(plan({ declared, records: [published()], reaches: { main: silent } })).toEqual(['a/x 1.0.0: edit']);
  });

  test('moves to another address only when that answers, and is kept by the answers of its own until then', () => {
    const declared = [declare('1.0.0', { at: 'spare' })];
    const records = [published()];
    expect(plan({ declared, records, reaches: { spare: unasked } })).toEqual(['a/x 1.0.0: wait for answer']);
    expect(plan({ declared, records, reaches: { spare: silent, main: silent } })).toEqual(['a/x 1.0.0: deprecate']);
    expect(plan({ declared, records, reaches: { spare: answers, main: silent } })).toEqual(['a/x 1.0.0: edit']);
  });

  test('of an immutable version is not edited, but its mark is', () => {
    const better = declare('1.0.0', { fields: { description: 'better' } });
    expect(plan({ declared: [better], records: [published()], immutableVersions: true })).toEqual(['a/x 1.0.0: refuse ImmutableVersion']);
    const moved = plan({ declared: [declare()], records: [published('1.0.0', { source: 'a/old' })], immutableVersions: true });
    expect(moved).toEqual(['a/x 1.0.0: edit']);
  });

  test('of an immutable version is still deprecated when its server stops', () => {
    const better = declare('1.0.0', { fields: { description: 'better' } });
    expect(plan({ declared: [better], records: [published()], immutableVersions: true, reaches: { main: silent } })).toEqual([
      'a/x 1.0.0: deprecate',
    ]);
  });

  test('says what differs when it may not be changed', () => {
    const claims = [declare('1.0.0', { fields: { description: 'better' } })].filter(isClaim);
    const world = worldOf({ declared: claims, immutableVersions: true });
    const [step] = planName({ name: NAME, claims, records: [published()] }, world);
    expect(step?.action).toMatchObject({ message: expect.stringContaining('differs in description') as string });
  });
});

describe('versions', () => {
  const [older, newer] = [published('1.0.0', { isLatest: false }), published('1.1.0')];

  test('the new one comes first, the old one goes when it is there', () => {
    expect(plan({ declared: [declare('1.1.0')], records: [published('1.0.0')] })).toEqual([
      'a/x 1.1.0: publish',
      'a/x 1.0.0: wait for successor',
    ]);
    expect(plan({ declared: [declare('1.1.0')], records: [older, newer] })).toEqual(['a/x 1.1.0: nothing', 'a/x 1.0.0: withdraw']);
  });

  test('an old one whose successor never answers is deprecated when its own server stops', () => {
    const situation = { declared: [declare('1.1.0', { at: 'spare' })], records: [published()], reaches: { spare: silent, main: silent } };
    expect(plan(situation)).toEqual(['a/x 1.1.0: wait for answer', 'a/x 1.0.0: deprecate']);
  });

  test.each([
    ['keep', 'nothing'],
    ['deprecate', 'deprecate'],
    ['delete', 'withdraw'],
  ] as [OnDelete, string][])('on-delete %s holds for old versions too', (onDelete, action) => {
    const declared = [declare('1.1.0', { settings: { 'on-delete': onDelete } })];
    const records = [published('1.0.0', { onDelete, isLatest: false }), published('1.1.0', { onDelete })];
    expect(plan({ declared, records })).toEqual(['a/x 1.1.0: nothing', `a/x 1.0.0: ${action}`]);
  });

  test('but a left-over that is still the latest is always withdrawn: a revert in Git reverts the latest', () => {
    const declared = [declare('1.0.0', { settings: { 'on-delete': 'keep' } })];
    const records = [published('1.0.0', { onDelete: 'keep', isLatest: false }), published('1.1.0', { onDelete: 'keep' })];
    expect(plan({ declared, records })).toEqual(['a/x 1.0.0: nothing', 'a/x 1.1.0: withdraw']);
  });

  test('several sources of one namespace may each declare one', () => {
    const declared = [declare('1.0.0'), declare('2.0.0', { source: 'a/y' })];
    expect(plan({ declared })).toEqual(['a/x 1.0.0: publish', 'a/y 2.0.0: publish']);
  });

  test('when the registry’s latest is a deleted one, a status changes there and back, so that it counts anew', () => {
    const records = [published('1.0.0', { isLatest: false }), published('2.0.0', { status: 'deleted' })];
    expect(plan({ declared: [declare()], records })).toEqual(['a/x 1.0.0: deprecate']);
  });
});

describe('a declaration that is gone', () => {
  test('is waited for, then its record is withdrawn', () => {
    const records = [published()];
    expect(plan({ records })).toEqual(['a/x 1.0.0: wait for return']);
    expect(plan({ records, ended: { 'a/x': 70_001 } })).toEqual(['a/x 1.0.0: wait for return']);
    expect(plan({ records, ended: { 'a/x': 70_000 } })).toEqual(['a/x 1.0.0: withdraw']);
  });

  test('is not gone while the source was not read in full', () => {
    expect(plan({ records: [published()], ended: { 'a/x': 0 }, complete: false })).toEqual(['a/x 1.0.0: wait for repair']);
  });

  test('is not gone while its file is broken; its record is deprecated when its server stops', () => {
    expect(plan({ declared: [broken], records: [published()], ended: { 'a/x': 0 } })).toEqual(['a/x 1.0.0: wait for repair']);
    expect(plan({ declared: [broken], records: [published()], reaches: { main: silent } })).toEqual(['a/x 1.0.0: deprecate']);
  });

  test('is gone when its source declares another name now', () => {
    const declared = [declare('1.0.0', { name: 'com.example/other' })];
    expect(plan({ declared, records: [published()], ended: { 'a/x': 0 } })).toEqual(['a/x 1.0.0: withdraw']);
  });

  test('within its namespace a successor takes the record over by an edit', () => {
    expect(plan({ declared: [declare('1.0.0', { source: 'a/y' })], records: [published()] })).toEqual(['a/y 1.0.0: edit']);
  });

  test('elsewhere a successor has to wait until the name is free', () => {
    const declared = [declare('1.0.0', { source: 'b/x' })];
    const records = [published()];
    expect(plan({ declared, records })).toEqual(['b/x 1.0.0: refuse NameTaken', 'a/x 1.0.0: wait for return']);
    expect(plan({ declared, records, ended: { 'a/x': 0 } })).toEqual(['b/x 1.0.0: edit']);
  });

  test('its record does not wait for a successor whose server never comes', () => {
    const situation = { declared: [declare('1.0.0', { source: 'b/x', at: 'spare' })], records: [published()], reaches: { spare: silent } };
    expect(plan({ ...situation, ended: { 'a/x': 0 } })).toEqual(['b/x 1.0.0: withdraw']);
  });

  test('and was withdrawn: who takes its version over need not wait again', () => {
    const claims = [declare('1.0.0', { source: 'b/x' })].filter(isClaim);
    const facts = { name: NAME, claims, records: [published('1.0.0', { status: 'deleted' })] };
    expect(endedSources(facts, worldOf({ declared: claims }))).toEqual([{ source: 'a/x', withdrawn: true }]);
  });
});

describe('ownership', () => {
  test('an unpublished name goes to the oldest declaration, then by source', () => {
    const old = declare('1.0.0', { source: 'b/x', createdAt: 1 });
    const young = declare('1.0.0', { source: 'a/x', createdAt: 2 });
    expect(plan({ declared: [young, old] })).toEqual(['a/x 1.0.0: refuse NameTaken', 'b/x 1.0.0: publish']);
    const same = declare('1.0.0', { source: 'a/x', createdAt: 1 });
    expect(plan({ declared: [same, old] })).toEqual(['a/x 1.0.0: publish', 'b/x 1.0.0: refuse NameTaken']);
  });

  test('a published name stays with the source in its mark, however young that is', () => {
    const declared = [declare('1.0.0', { source: 'a/x', createdAt: 9 }), declare('2.0.0', { source: 'b/x', createdAt: 1 })];
    expect(plan({ declared, records: [published()] })).toEqual(['a/x 1.0.0: nothing', 'b/x 2.0.0: refuse NameTaken']);
  });

  test('of two declarations of one version in one namespace the newer wins', () => {
    const declared = [declare('1.0.0', { createdAt: 2 }), declare('1.0.0', { source: 'a/y', createdAt: 1 })];
    expect(plan({ declared, records: [published()] })).toEqual(['a/x 1.0.0: nothing', 'a/y 1.0.0: refuse DuplicateVersion']);
  });

  test('a version that nobody may publish any more does not keep the name from others', () => {
    const records = [published('1.0.0', { install: 'other', status: 'deleted' })];
    const declared = [declare('1.0.0', { createdAt: 1 }), declare('2.0.0', { source: 'b/x', createdAt: 2 })];
    expect(plan({ declared, records })).toEqual(['a/x 1.0.0: refuse VersionTaken', 'b/x 2.0.0: publish']);
  });

  test('a policy says which names a namespace may declare', () => {
    const namePolicy = { a: ['org.example/*', 'com.example/other'], '*': ['com.example/*'] };
    const declared = [declare('1.0.0', { source: 'a/x' }), declare('2.0.0', { source: 'b/x' })];
    expect(plan({ declared, namePolicy })).toEqual(['a/x 1.0.0: refuse NameNotAllowed', 'b/x 2.0.0: publish']);
  });

  test('a record that policy would no longer allow is left as it is', () => {
    const situation = { declared: [declare()], records: [published()], namePolicy: { a: [] } };
    expect(plan(situation)).toEqual(['a/x 1.0.0: refuse NameNotAllowed', 'a/x 1.0.0: wait for repair']);
  });

  test('toolyard’s own names belong to the namespace it is installed in', () => {
    const world = worldOf({});
    const name = 'dev.toolyard/fetch';
    const actions = ['team/x', 'toolyard/x'].map((source) => {
      const claims = [declare('1.0.0', { source, name })].filter((claim): claim is Claim => claim.wish.is === 'record');
      return planName({ name, claims, records: [] }, world).map(({ action }) => wordsOf(action));
    });
    expect(actions).toEqual([['refuse NameNotAllowed'], ['publish']]);
  });
});

describe('records of others', () => {
  test('by hand: refused, and not touched', () => {
    expect(plan({ declared: [declare()], records: [strange()] })).toEqual(['a/x 1.0.0: refuse NameTaken']);
    expect(plan({ declared: [declare('2.0.0')], records: [strange()] })).toEqual(['a/x 2.0.0: refuse NameTaken']);
  });

  test('by hand: taken over when adopt says so, once', () => {
    const declared = [declare('1.0.0', { settings: { adopt: true } })];
    expect(plan({ declared, records: [strange()] })).toEqual(['a/x 1.0.0: edit']);
    expect(plan({ declared, records: [strange()], adoptedBefore: () => true })).toEqual(['a/x 1.0.0: refuse NameTaken']);
  });

  test('by hand: never deprecated before it is taken over', () => {
    const declared = [declare('1.0.0', { at: 'spare', settings: { adopt: true } })];
    expect(plan({ declared, records: [strange()], reaches: { spare: silent, main: silent } })).toEqual(['a/x 1.0.0: wait for answer']);
  });

  test('by hand: other versions of an adopted name stay whose they are', () => {
    const declared = [declare('2.0.0', { settings: { adopt: true } })];
    expect(plan({ declared, records: [strange('1.0.0'), published('2.0.0')] })).toEqual(['a/x 2.0.0: nothing']);
  });

  test('of another install: taken over only by its name, then all of the name goes with it', () => {
    const records = [published('0.9.0', { install: 'other', source: 'c/x' }), published('1.0.0', { install: 'other', source: 'c/x' })];
    expect(plan({ declared: [declare('1.0.0', { settings: { adopt: true } })], records })).toEqual(['a/x 1.0.0: refuse NameTaken']);
    const declared = [declare('1.0.0', { settings: { adopt: 'other' } })];
    expect(plan({ declared, records })).toEqual(['a/x 1.0.0: edit', 'c/x 0.9.0: wait for return']);
  });

  test('of another install that published first: ours gives way', () => {
    const records = [published('1.0.0', { publishedAt: 2 }), published('2.0.0', { install: 'other', publishedAt: 1 })];
    expect(plan({ declared: [declare()], records })).toEqual(['a/x 1.0.0: refuse NameTaken', 'a/x 1.0.0: withdraw']);
  });

  test('of another install that published first: an earlier version of ours gives way too', () => {
    const records = [published('1.0.0', { publishedAt: 2 }), published('2.0.0', { install: 'other', publishedAt: 1 })];
    expect(plan({ declared: [declare('1.1.0')], records })).toEqual(['a/x 1.1.0: refuse NameTaken', 'a/x 1.0.0: withdraw']);
  });

  test('of another install that published later: ours stays', () => {
    const records = [published('1.0.0', { publishedAt: 1 }), published('2.0.0', { install: 'other', publishedAt: 2 })];
    expect(plan({ declared: [declare()], records })).toEqual(['a/x 1.0.0: nothing']);
  });

  test('nothing is planned for records that nobody here has to do with', () => {
    expect(plan({ records: [strange('1.0.0'), published('2.0.0', { install: 'other' })] })).toEqual([]);
  });
});

test('a document that differs only in what the registry drops is no change', () => {
  const spelled: ServerJson = {
    ...serverJson(NAME, '1.0.0', { at: 'main' }),
    $schema: SCHEMA_URL,
    icons: [],
    remotes: [{ type: 'streamable-http', url: urlOf('main'), headers: [] }],
  };
  const declared = [readDeclaration(raw('a/x', spelled), { install: 'toolyard', publishEndpoint: false, endpoints: {} })];
  expect(plan({ declared, records: [published()] })).toEqual(['a/x 1.0.0: nothing']);
});

describe('while a record of the name cannot be read', () => {
  const unreadable = [{ fault: 'x' }];

  test('nothing is published, edited, restored or withdrawn', () => {
    const reading = ['a/x 1.0.0: wait for reading'];
    expect(plan({ unreadable, declared: [declare()] })).toEqual(reading);
    expect(plan({ unreadable, declared: [declare('1.0.0', { fields: { description: 'better' } })], records: [published()] })).toEqual(
      reading,
    );
    expect(plan({ unreadable, declared: [declare()], records: [published('1.0.0', { status: 'deleted' })] })).toEqual(reading);
    expect(plan({ unreadable, records: [published()], ended: { 'a/x': 0 } })).toEqual(reading);
    expect(plan({ unreadable, declared: [declare('1.1.0')], records: [published('1.1.0'), published()] })).toEqual([
      'a/x 1.1.0: nothing',
      'a/x 1.0.0: wait for reading',
    ]);
  });

  test('records of ours follow the answers of their servers, and nobody else’s are touched', () => {
    const declared = [declare()];
    expect(plan({ unreadable, declared, records: [published()] })).toEqual(['a/x 1.0.0: nothing']);
    expect(plan({ unreadable, declared, records: [published()], reaches: { main: silent } })).toEqual(['a/x 1.0.0: deprecate']);
    expect(plan({ unreadable, declared, records: [published('1.0.0', { status: 'deprecated' })] })).toEqual(['a/x 1.0.0: activate']);
    expect(plan({ unreadable, records: [strange(), published('2.0.0', { install: 'other' })] })).toEqual([]);
  });
});
