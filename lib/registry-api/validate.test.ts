import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { normalForm } from './normal-form.ts';
import { PUBLISHER_META, SCHEMA_URL } from './server-json.ts';
import { MAX_FAULTS, validateServerJson, type Fault } from './validate.ts';

type Fields = Readonly<Record<string, unknown>>;

// What is tried here is proven against the official registry in test/differential; these keep each rule in place without it.
const good: Fields = { $schema: SCHEMA_URL, name: 'io.example/weather', description: 'd', version: '1.0.0' };

function faultsOf(overrides: Fields): Fault[] {
  return validateServerJson(JSON.parse(JSON.stringify({ ...good, ...overrides })));
}

/** `stage path` of each fault. */
function placesOf(overrides: Fields): string[] {
  return faultsOf(overrides).map(({ stage, path }) => `${stage} ${path}`);
}

const remote = (overrides: Fields): Fields => ({ remotes: [{ type: 'streamable-http', url: 'https://a.example/mcp', ...overrides }] });
const npm = (overrides: Fields): Fields => ({
  packages: [{ registryType: 'npm', identifier: 'a', transport: { type: 'stdio' }, ...overrides }],
});
const argument = (value: Fields): Fields => npm({ packageArguments: [value] });

test('the smallest document is accepted', () => {
  expect(faultsOf({})).toEqual([]);
});

test('all faults of all stages are reported at once, in the order in which the registry finds them', () => {
  const bad = {
    Name: 'a/b',
    description: '',
    version: '^1',
    remotes: [{ type: 'stdio' }, { url: 'http://a' }],
    x: 1,
    packages: [{}],
    icons: null,
  };
  expect(validateServerJson(bad).map(({ stage, path, message }) => [stage, path, message])).toEqual([
    ['input', '', 'expected required property $schema to be present'],
    ['input', 'description', 'expected length >= 1'],
    ['input', 'packages[0]', 'expected required property identifier to be present'],
    ['input', 'packages[0]', 'expected required property registryType to be present'],
    ['input', 'packages[0]', 'expected required property transport to be present'],
    ['input', 'remotes[1]', 'expected required property type to be present'],
    ['input', 'x', 'unexpected property'],
    ['semantic', 'name', expect.stringContaining("namespace 'a' is invalid")],
    ['semantic', 'version', 'version must be a specific version, not a range: "^1"'],
    ['semantic', 'remotes[0].type', 'unsupported transport type for remotes: stdio (only streamable-http and sse are supported)'],
  ]);
});

test.each([[[]], ['x'], [null], [1], [undefined]])('a document that is %j is no object', (document) => {
  expect(validateServerJson(document)).toMatchObject([{ stage: 'input', path: '', message: 'expected object' }]);
});

test('keys match in any case, and null is absent where a field is optional', () => {
  expect(faultsOf({ Title: 'x', WEBSITEURL: 'https://a.example', icons: null, packages: null, _meta: null, repository: null })).toEqual([]);
  expect(placesOf({ description: null })).toEqual(['input description']);
  expect(placesOf({ remotes: [null], packages: [null] })).toEqual(['input packages[0]', 'input remotes[0]']);
  expect(placesOf(remote({ variables: { a: null } }))).toEqual(['input remotes[0].variables.a']);
});

test('an unknown key is refused wherever the schema has a say', () => {
  expect(placesOf({ status: 'active' })).toEqual(['input status']);
  expect(placesOf(npm({ registry_type: 'npm' }))).toEqual(['input packages[0].registry_type']);
  expect(placesOf({ _meta: { 'com.example/x': 1 } })).toEqual(['input _meta.com.example/x']);
  expect(validateServerJson(JSON.parse(`${JSON.stringify(good).slice(0, -1)},"__proto__":1}`))).toMatchObject([{ path: '__proto__' }]);
  expect(placesOf({ _meta: { [PUBLISHER_META]: { anything: { at: ['all'] } } } })).toEqual([]);
});

test('the empty key has a place of its own, and hides no fault of another', () => {
  expect(placesOf({ '': 1, version: 'latest' })).toEqual(['input ""', 'semantic version']);
  expect(placesOf(npm({ '': 1 }))).toEqual(['input packages[0].""']);
});

test.each([
  ['a', 1, 100],
  ['\u{1f600}', 1, 100],
  ['e\u0301', 2, 50],
])('lengths are counted in code points: %j', (character, _points, most) => {
  expect(placesOf({ description: character.repeat(most) })).toEqual([]);
  expect(placesOf({ description: character.repeat(most + 1) })).toEqual(['input description']);
});

test.each(['io.example/a-b_c.d', 'aa..bb/cd', 'AB/CD', `ab/${'c'.repeat(197)}`])('the name %s is accepted', (name) => {
  expect(placesOf({ name })).toEqual([]);
});

test.each([
  ['a/bc', 'semantic'],
  ['ab/c', 'semantic'],
  ['-ab/cd', 'semantic'],
  ['ab/_cd', 'semantic'],
  ['ab/cd.', 'semantic'],
  ['ab', 'input'],
  ['ab/cd/ef', 'input'],
  ['äb/cd', 'input'],
  [`ab/${'c'.repeat(198)}`, 'input'],
])('the name %s is refused', (name, stage) => {
  expect(new Set(placesOf({ name }))).toEqual(new Set([`${stage} name`]));
});

const ranges = [
  '^1',
  '~1.2',
  '>= 1.2',
  '=1.0.0',
  '1.x',
  '1.2.*',
  'X.1',
  '1 - 2',
  '1||2',
  ' ^1 ',
  '1.0.0-next.1',
  'v1.0.0-next',
  '2.0.0-linux',
  '1.0-x',
];
const specific = [
  '1',
  'v1.0.0',
  '1-2',
  '1-x',
  '~>1.2',
  '>1 <2',
  '1.0.0.0',
  '1.0.0.x',
  '1.0.0-next+b',
  '*',
  'x',
  'snapshot',
  'Latest',
  ' latest',
  '1 2',
  '..',
  '\t',
];

test.each(ranges)('the version %s is a range', (version) => {
  expect(placesOf({ version })).toEqual(['semantic version']);
  expect(placesOf(npm({ version }))).toEqual(['semantic packages[0].version']);
});

test.each(specific)('the version %s is specific', (version) => {
  expect(placesOf({ version })).toEqual([]);
});

test('the version latest is reserved, an empty one is too short, blanks alone cannot be stored', () => {
  expect(placesOf({ version: 'latest' })).toEqual(['semantic version']);
  expect(placesOf({ version: '' })).toEqual(['input version']);
  expect(placesOf({ version: '  ' })).toEqual(['storage version']);
  expect(placesOf({ version: 'v'.repeat(256) })).toEqual(['input version']);
});

test.each([
  ['2025-12-11', []],
  ['2025-07-09', []],
  ['draft', ['semantic schema']],
  ['2025-12-10', ['semantic schema']],
])('schema %s is known or not, on any host', (id, places) => {
  expect(placesOf({ $schema: `https://mirror.example/schemas/${id}/server.schema.json` })).toEqual(places);
});

test('an older schema is a warning, given only when asked for', () => {
  const old = { ...good, $schema: SCHEMA_URL.replace('2025-12-11', '2025-10-17') };
  expect(validateServerJson(old)).toEqual([]);
  expect(validateServerJson(old, { warnings: true })).toMatchObject([{ severity: 'warning', reference: 'schema-version-deprecated' }]);
});

const localRemotes = [
  'http://a.example/mcp',
  'http://svc.ns.svc.cluster.local',
  'https://localhost/mcp',
  'https://127.0.0.1/mcp',
  'https://a.localhost',
  'http://127.0.0.1:8001/mcp',
];

test.each(localRemotes)('the remote %s is refused by the official registry, and taken when local ones are allowed', (url) => {
  expect(placesOf(remote({ url }))).toEqual(['semantic remotes[0].url']);
  expect(validateServerJson({ ...good, ...remote({ url }) }, { allowLocalRemotes: true })).toEqual([]);
});

test.each(['ftp://a.example', 'https://', '/mcp', 'https://a b/'])('the remote %s is refused even when local ones are allowed', (url) => {
  expect(validateServerJson({ ...good, ...remote({ url }) }, { allowLocalRemotes: true })).not.toEqual([]);
});

test.each(['https://svc.ns.svc:8443/mcp', 'https://LOCALHOST', 'https://[::1]', 'https://10.0.0.1', 'https://a.example:99999/a b'])(
  'the remote %s passes, as at the official registry',
  (url) => {
    expect(placesOf(remote({ url }))).toEqual([]);
  },
);

test('variables of a remote’s URL must be declared by that remote', () => {
  expect(placesOf(remote({ url: 'https://{host}/x', variables: { host: {} } }))).toEqual([]);
  expect(placesOf(remote({ url: 'https://{host}/x', variables: { port: {} } }))).toEqual(['semantic remotes[0].url']);
  expect(placesOf(remote({ url: '{scheme}://a.example', variables: { scheme: {} } }))).toEqual(['semantic remotes[0].url']);
});

test('variables of a package’s URL are its environment variables, argument names and value hints', () => {
  const transport = { type: 'sse', url: 'http://{HOST}:{--port}/{path}' };
  const declared = {
    environmentVariables: [{ name: 'HOST' }],
    runtimeArguments: [{ type: 'named', name: '--port' }],
    packageArguments: [{ type: 'positional', valueHint: 'path' }],
  };
  expect(placesOf(npm({ transport, ...declared }))).toEqual([]);
  expect(placesOf(npm({ transport, ...declared, packageArguments: [] }))).toEqual(['semantic packages[0].transport.url']);
});

test('a stdio transport has no URL, the others need one', () => {
  expect(placesOf(npm({ transport: { type: 'stdio', url: 'http://a' } }))).toEqual(['semantic packages[0].transport.url']);
  expect(placesOf(npm({ transport: { type: 'sse' } }))).toEqual(['semantic packages[0].transport.url']);
  expect(placesOf(npm({ transport: { type: 'http', url: 'http://a' } }))).toEqual(['semantic packages[0].transport.type']);
});

test.each([
  [{ type: 'positional', value: '' }, []],
  [{ type: 'positional', valueHint: '' }, []],
  [{ type: 'positional' }, ['semantic packages[0].packageArguments[0]']],
  [{ type: 'positional', value: null }, ['semantic packages[0].packageArguments[0]']],
  [{ type: 'named', name: '--a', value: 'x' }, []],
  [{ type: 'named' }, ['semantic packages[0].packageArguments[0].name']],
  [{ type: 'named', name: '--a <b>' }, ['semantic packages[0].packageArguments[0].name']],
  [{ type: 'named', name: '--a', value: '--a=1' }, ['semantic packages[0].packageArguments[0].value']],
  [{ type: 'named', name: '--a', default: '--ab' }, ['semantic packages[0].packageArguments[0].default']],
  [{ type: 'flag' }, ['semantic packages[0].packageArguments[0].type']],
  [{ type: 'named', name: '-a', value: 1 }, ['input packages[0].packageArguments[0].value']],
  [{ name: '-a' }, ['input packages[0].packageArguments[0]']],
])('argument %j', (value, places) => {
  expect(placesOf(argument(value))).toEqual(places);
});

test.each([
  [{ url: 'https://github.com/a/b', source: 'github' }, []],
  [{ url: 'https://gitlab.com/a/b/c/d', source: 'gitlab' }, []],
  [{ url: 'https://gitlab.com/a/b/-/tree', source: 'gitlab' }, ['url']],
  [{ url: 'https://github.com/a/b/c', source: 'github' }, ['url']],
  [{ url: 'https://ghe.example/a/b', source: 'github' }, ['url']],
  [{ url: 'https://github.com/a/b', source: 'GitHub' }, ['url']],
  [{}, ['url', 'source']],
  [{ url: 'https://github.com/a/b' }, ['source']],
  [{ url: 'https://github.com/a/b', source: 'github', subfolder: 'a/../b' }, ['subfolder']],
  [{ url: 'https://github.com/a/b', source: 'github', subfolder: 'a/b' }, []],
])('repository %j', (repository, fields) => {
  expect(placesOf({ repository })).toEqual(fields.map((field) => `semantic repository.${field}`));
});

test.each([
  ['https://a.example/x', []],
  ['https://', []],
  ['http://a.example', ['semantic websiteUrl']],
  ['https://a.example/"', ['semantic websiteUrl']],
  ['/relative', ['input websiteUrl']],
  ['', ['input websiteUrl']],
])('website %s', (websiteUrl, places) => {
  expect(placesOf({ websiteUrl })).toEqual(places);
});

test('icons are https, of a known type, and not longer than 255', () => {
  expect(placesOf({ icons: [{ src: 'https://a.example/i.png', mimeType: 'image/png', theme: 'dark', sizes: ['whatever'] }] })).toEqual([]);
  expect(placesOf({ icons: [{ src: 'http://a.example/i' }] })).toEqual(['semantic icons[0].src']);
  expect(placesOf({ icons: [{ src: `https://a/${'i'.repeat(250)}`, mimeType: 'image/gif' }] })).toEqual([
    'input icons[0].mimeType',
    'input icons[0].src',
  ]);
});

test.each([
  ['x', 1],
  ['<', 6],
  ['\u2028', 6],
  ['ü', 2],
  ['\u{1f600}', 4],
  ['"', 2],
  ['\u0001', 6],
])('a publisher’s _meta has 4096 bytes, as Go writes %j', (filler, bytes) => {
  const metaOf = (size: number): Fields => {
    const room = size - '{"a":""}'.length;
    return { _meta: { [PUBLISHER_META]: { a: filler.repeat(Math.floor(room / bytes)) + 'x'.repeat(room % bytes) } } };
  };
  expect(faultsOf(metaOf(4096))).toEqual([]);
  expect(faultsOf(metaOf(4097))).toMatchObject([{ stage: 'size', message: expect.stringContaining('exceeds 4KB limit (4097 bytes)') }]);
});

test('whatever nesting fits into those bytes is accepted', () => {
  const nested: unknown = JSON.parse('['.repeat(2044) + ']'.repeat(2044));
  const document = { ...good, _meta: { [PUBLISHER_META]: { a: nested } } };
  expect(validateServerJson(document)).toEqual([]);
  expect(normalForm(document)).toEqual(document);
});

test('a NUL character cannot be stored, in any text or key', () => {
  expect(placesOf({ title: 'a\0' })).toEqual(['storage title']);
  expect(placesOf({ _meta: { [PUBLISHER_META]: { a: [{ '\0': 1 }] } } })).toEqual([`storage _meta.${PUBLISHER_META}.a[0].\0`]);
});

test('what is at fault in its shape is not judged by the rules as well', () => {
  expect(placesOf({ name: 'a b', version: 5, remotes: [{ url: 'http://a' }, 'x'] })).toEqual([
    'input name',
    'input remotes[0]',
    'input remotes[1]',
    'input version',
  ]);
});

test('a hostile document is refused in bounded time with a bounded answer', () => {
  const hostile: Fields[] = [
    { remotes: Array.from({ length: 15_000 }, () => null) },
    { packages: Array.from({ length: 5000 }, () => ({})) },
    Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`k${index}`, 1])),
    { remotes: [{ type: 'sse', url: '{'.repeat(500_000) }] },
    { websiteUrl: `https://a.example/${'<'.repeat(500_000)}` },
    { _meta: JSON.parse('['.repeat(100_000) + ']'.repeat(100_000)) },
    { remotes: [{ type: 'sse', url: 'https://a', variables: { ['k'.repeat(500_000)]: { unknown: 1 } } }] },
  ];
  const started = performance.now();
  for (const fields of hostile) {
    const faults = validateServerJson({ ...good, ...fields });
    expect(faults.length).toBeGreaterThan(0);
    expect(faults.length).toBeLessThanOrEqual(MAX_FAULTS);
    expect(JSON.stringify(faults).length).toBeLessThan(1_000_000);
  }
  expect(performance.now() - started).toBeLessThan(5000);
});

const loose = fc.anything({ key: fc.constantFrom('type', 'url', 'name', 'variables', 'headers', 'transport', 'x', '__proto__') });
const anyDocument = fc.dictionary(
  fc.constantFrom(...Object.keys(good), 'remotes', 'packages', 'icons', 'repository', '_meta', 'Title', 'websiteUrl'),
  loose,
);

test('no document makes the validator fail', () => {
  fc.assert(
    fc.property(anyDocument, (document) => {
      expect(Array.isArray(validateServerJson({ ...good, ...document }))).toBe(true);
    }),
  );
});

/** Documents that are accepted, full of what their stored form drops. */
const accepted = fc.record(
  {
    Title: fc.constantFrom('x', null),
    ICONS: fc.constantFrom(null, [], [{ src: 'https://a.example/i', sizes: [], theme: null }]),
    repository: fc.constantFrom(null, { url: 'https://github.com/a/b', source: 'github', id: '', subfolder: '' }),
    packages: fc.constantFrom(
      ...[
        { type: 'positional', value: '' },
        { type: 'named', name: '-a', value: '', isRepeated: false },
      ].map((one) => argument(one)['packages']),
    ),
    remotes: fc.constantFrom([], [{ type: 'sse', url: 'https://{a}/', variables: { a: { default: '', isSecret: false } }, headers: [] }]),
    _meta: fc.constantFrom(null, {}, { [PUBLISHER_META]: {} }, { [PUBLISHER_META]: { a: null } }),
  },
  { requiredKeys: [] },
);

test('a document that is accepted is accepted in its stored form too', () => {
  fc.assert(
    fc.property(accepted, (overrides) => {
      expect(faultsOf(overrides)).toEqual([]);
      expect(validateServerJson(normalForm({ ...good, ...overrides }))).toEqual([]);
    }),
  );
});
