import * as fc from 'fast-check';
import { PUBLISHER_META, SCHEMA_URL } from '../../lib/registry-api/server-json.ts';

/** A document as the text of a request body, so that duplicate keys and spellings of numbers survive. */
export interface Sample {
  /** what it tries, for the failure message */
  readonly tries: string;
  readonly text: string;
}

type Fields = Readonly<Record<string, unknown>>;

const emoji = '\u{1F600}';
const combined = 'e\u0301';

/** One change at a time of a document that is otherwise good; `name` and `version` are the caller's, so that runs do not collide. */
export function samples(nameOf: (index: number) => string): Sample[] {
  const tried = [
    ...keySamples(),
    ...topSamples(),
    ...versionSamples(),
    ...remoteSamples(),
    ...packageSamples(),
    ...repositorySamples(),
    ...urlSamples(),
    ...metaSamples(),
  ];
  return tried.map(({ tries, change }, index) => ({ tries, text: change(goodDocument(nameOf(index))) }));
}

interface Trial {
  readonly tries: string;
  readonly change: (good: Fields) => string;
}

export function goodDocument(name: string): Fields {
  return { $schema: SCHEMA_URL, name, description: 'a server', version: '1.0.0' };
}

function fields(overrides: Fields): Trial {
  return { tries: JSON.stringify(overrides).slice(0, 200), change: (good) => JSON.stringify({ ...good, ...overrides }) };
}

function without(name: string): Trial {
  return {
    tries: `no ${name}`,
    change: (good) => JSON.stringify(Object.fromEntries(Object.entries(good).filter(([key]) => key !== name))),
  };
}

/** Puts raw members in front of the closing brace. */
function raw(members: string): Trial {
  return { tries: members.slice(0, 200), change: (good) => `${JSON.stringify(good).slice(0, -1)},${members}}` };
}

function keySamples(): Trial[] {
  const inCases = ['Title', 'TITLE', 'WebsiteURL', 'ſome', 'Icons', 'REMOTES', '_META', '$Schema', 'pacKages'];
  return [
    ...['status', 'website_url', 'ſtatus', 'x', '', '$id', '__proto__', 'constructor'].map((key) => raw(`${JSON.stringify(key)}:1`)),
    ...inCases.map((key) => raw(`${JSON.stringify(key)}:null`)),
    raw('"Title":"In another case"'),
    raw('"tiTle":"one","TITLE":"two"'),
    raw('"Description":"the last one wins"'),
    raw('"description":"first","description":"second"'),
    raw('"pacKages":[{"RegistryType":"npm","IDENTIFIER":"a","Transport":{"TYPE":"stdio"}}]'),
    raw('"pac\u212Aages":[{"registryType":"npm","identifier":"a","transport":{"type":"stdio"}}]'),
    raw('"webſiteUrl":"https://a.example"'),
    fields({ remotes: [{ type: 'sse', url: 'https://a.example', Headers: [{ NAME: 'X', isSECRET: true }] }] }),
    fields({ remotes: [{ type: 'sse', url: 'https://a.example', header: [] }] }),
    fields({ packages: [{ registry_type: 'npm', identifier: 'a', transport: { type: 'stdio' } }] }),
    fields({ _meta: { 'io.modelcontextprotocol.registry/official': {} } }),
    fields({ _meta: { 'com.example/x': { a: 1 } } }),
    fields({ _meta: { 'IO.modelcontextprotocol.registry/Publisher-Provided': { a: 1 } } }),
    ...['[]', '"x"', 'null', '1', 'true', '{}', '[{}]'].map((text): Trial => ({ tries: text, change: () => text })),
  ];
}

function topSamples(): Trial[] {
  const texts = ['', 'x', 1, true, {}, [], null];
  const required = ['$schema', 'name', 'description', 'version'];
  const optional = ['title', 'websiteUrl', 'repository', 'icons', 'packages', 'remotes', '_meta'];
  const schemas = ['2025-07-09', '2025-09-16', '2025-10-17', '2025-12-10', 'draft', 'a~b_c'].map((id) =>
    SCHEMA_URL.replace('2025-12-11', id),
  );
  return [
    ...required.map(without),
    ...[...required, ...optional].flatMap((name) => texts.map((value) => fields({ [name]: value }))),
    ...[
      ...schemas,
      SCHEMA_URL.replace('static.modelcontextprotocol.io', 'evil.example'),
      `${SCHEMA_URL}?x`,
      'http:/schemas/2025-12-11/server.schema.json',
    ].map(($schema) => fields({ $schema })),
    ...['not a uri', '/schemas/2025-12-11/server.schema.json', 'x:', 'https://a.example/', ':x', 'a b:c', '%', 'https://[::1', '1a:b'].map(
      ($schema) => fields({ $schema }),
    ),
    ...[
      'ab',
      'a/b',
      'ab/c',
      'a/bc',
      'ab/cd',
      'ab/cd/ef',
      'ab//cd',
      '/abc',
      'abc/',
      '-a/bc',
      'a-/bc',
      '.a/bc',
      'ab/.c',
      'ab/c_',
      'ab/_c',
      'ab/c-d_e.f',
      'a_b/cd',
      'äb/cd',
      'aa..bb/cd',
      'AB/CD',
      'ab/c d',
      'ab/cd\n',
      `ab/${'c'.repeat(197)}`,
      `ab/${'c'.repeat(198)}`,
    ].map((name) => fields({ name })),
    ...[
      'd'.repeat(100),
      'd'.repeat(101),
      emoji.repeat(100),
      emoji.repeat(101),
      combined.repeat(50),
      combined.repeat(51),
      '\u202eabc',
      '\u200b',
      ' ',
      '\t',
    ].flatMap((text) => [fields({ description: text }), fields({ title: text })]),
    ...['\u00a0', '\u0085', '\ufeff', '\u2003 ', '\v', '\u180e'].map((title) => fields({ title })),
    raw('"title":"\\ud800"'),
    raw('"title":"\\ud800\\ud800"'),
    raw('"title":"a\\u0000b"'),
    fields({ description: 'nul \0 inside' }),
    fields({ icons: [] }),
    fields({ icons: [null] }),
    fields({ icons: [{}] }),
    fields({ icons: [{ src: 'https://a.example/i.png', mimeType: 'image/png', theme: 'dark', sizes: ['48x48', 'any', 'whatever'] }] }),
    fields({ icons: [{ src: 'https://a.example/i.png', mimeType: null, theme: null, sizes: null }] }),
    fields({ icons: [{ src: 'https://a.example/i.png', mimeType: 'image/gif', theme: 'blue', sizes: [1, null] }] }),
    fields({ icons: [{ src: 'https://a.example/i.png', mimeType: '', theme: 5, sizes: '48x48' }] }),
    ...[
      '',
      'i.png',
      '/i.png',
      'http://a.example/i.png',
      'data:image/png;base64,AA',
      'HTTPS://a.example/i',
      'https:',
      'https://',
      'https://a b/',
      'https://a.example/%',
      `https://a.example/${'i'.repeat(237)}`,
      `https://a.example/${'i'.repeat(238)}`,
    ].map((src) => fields({ icons: [{ src }] })),
  ];
}

export const versions: readonly string[] = [
  '^1',
  '~1.2',
  '>= 1.2',
  '<=1',
  '>1',
  '<1',
  '=1.0.0',
  '=v1',
  '^1.2.3.4',
  '^1.2.3.4.5',
  '^1.0.0-beta',
  '^1+b',
  '1.x',
  '1.2.*',
  'X.1',
  '1.*.x',
  'x.x.x',
  '1 - 2',
  '1 -2',
  '1- 2',
  '1.0.0 - v2.0.0-rc',
  '1||2',
  '1.2 || 1.3',
  '1 ||',
  '||1',
  '1.0.0-next.1',
  'v1.0.0-next',
  '2.0.0-linux',
  '1.0.0-experimental',
  '1.0-x',
  '1-x',
  '1.0.0-next+b',
  '*',
  'x',
  'v1.0.0',
  '1',
  '1-2',
  '~>1.2',
  '>1 <2',
  '1.0.0.0',
  '1.0.0.x',
  '1.0/2',
  '1 2',
  '..',
  '.',
  'snapshot',
  'Latest',
  'latest',
  ' latest',
  ' 1.0.0 ',
  '1.0.0\n',
  ' ^1 ',
  '\u00a0^1',
  '\u0085^1',
  '\ufeff^1',
  '\v^1',
  '^\v1',
  '^\u00a01',
  '1 \t- 2',
  '1\u00a0- 2',
  '1.0.0\u2028',
  '1.x\u3000',
  ' ',
  '   ',
  '\t',
  '\n',
  '\u00a0',
  '\u3000',
  '2021.03.05',
  '01.0.0',
  '1.0.0-',
  '1.0.0+',
  'v'.repeat(255),
  'v'.repeat(256),
  emoji.repeat(255),
  emoji.repeat(256),
  '1.0.0%2F',
  'a?b#c',
  '1\\2',
  '',
  '１.x',
  '1.٣',
  'v1.x',
  'V1.x',
  'vx.1',
  '1.x-1',
  '1.x-',
  '1.2.3x',
  '1.2.3-x y',
];

function versionSamples(): Trial[] {
  const ofPackage = (version: unknown): Fields => ({
    packages: [{ registryType: 'npm', identifier: 'a', version, transport: { type: 'stdio' } }],
  });
  return [...versions.map((version) => fields({ version })), ...[...versions, null, 1].map((version) => fields(ofPackage(version)))];
}

const urls: readonly string[] = [
  '',
  'https://a.example/mcp',
  'http://a.example/mcp',
  'HTTPS://A.example',
  'https://localhost/mcp',
  'https://LOCALHOST/mcp',
  'https://localhost./mcp',
  'https://a.localhost',
  'https://a.localhost.',
  'https://.localhost',
  'https://127.0.0.1:1/mcp',
  'https://127.0.0.2',
  'https://0.0.0.0',
  'https://[::1]',
  'https://[::1]:8443/x',
  'https://10.0.0.1',
  'https://a',
  'https://user:pw@a.example',
  'https://localhost@a.example',
  'https://a.example@localhost',
  'https://a@b@localhost',
  'https://a.example:99999',
  'https://a.example:',
  'https://a.example:x',
  'https://a.example:1:2',
  'https://localhost:',
  'https://a.example/a b',
  'https://a b/',
  'https://a%20b/',
  'https://a%41b/',
  'https://a%C3%BC/',
  'https://ä.example',
  'https://a.example/%',
  'https://a.example/%zz',
  'https://a.example?%zz',
  'https://a.example#%zz',
  'https://a.example#x%',
  'https://',
  'https:///path',
  'https:/a.example',
  'https:a.example',
  'https://?x',
  'https://#x',
  'https://:80',
  'https://@',
  '//a.example',
  'a.example/mcp',
  '/mcp',
  'ftp://a.example',
  'ws://a.example',
  'javascript:alert(1)',
  ' https://a.example',
  'https://a.example ',
  'https://a.example\n',
  'https://a\u007f.example',
  'https://[::1',
  'https://[127.0.0.1]',
  'https://[fe80::1%25eth0]',
  'https://[fe80::1%25]',
  'https://[fe80::1%eth0]',
  'https://[::ffff:1.2.3.4]',
  'https://x[::1]',
  'https://[v1.a]',
  'https://a"b',
  "https://a'b",
  'https://a<b>',
  'https://a^b',
  'https://a|b',
  'https://a\\b',
  'https://a`b',
  'https://a{b',
  'https://a}b',
  'https://us er@a',
  'https://u%zz@a',
  'https://u"@a',
  'https://svc.ns.svc.cluster.local/mcp',
  'http://svc.ns.svc.cluster.local',
  '*',
  '1https://a',
  'https+x://a',
  'https:://a',
  ':a',
  '?',
  '#',
  'https://a.example:80/x:y',
  'a:b:c',
  './a:b',
  'a/b:c',
  'https://192.168.0.1.',
  'https://a.example/\u{1F600}',
  'https://a.example/\u0085',
];

const templates: readonly string[] = [
  'https://{host}/x',
  'https://{host}:{port}/x',
  'https://{host}:{port}',
  'https://a.example:{port}/{path}',
  '{scheme}://a.example',
  '{protocol}://{host}',
  'https://{tenant}.example/x',
  'https://{tenant}',
  'https://a.example/{a}{b}',
  'https://a.example/{}',
  'https://a.example/{{host}}',
  'https://a.example/{host',
  'https://a.example/host}',
  'https://{Host}/x',
  'https://a.example:{p}x',
  'https://{a b}/x',
  'https://{a/b}/x',
  'https://a.example?x={host}',
  '{url}',
  'https://{--port}/x',
  'https://{localhost}/',
  'https://localhost/{host}',
  'https://{__proto__}/x',
  'https://{host}{port}/x',
  'https://a.example/}{host}',
  'https://{}{host}/',
];

const declared = Object.fromEntries(
  ['host', 'port', 'path', 'tenant', 'a', 'b', 'a b', 'a/b', 'p', 'scheme', '--port', '{host', 'localhost', ''].map((name) => [name, {}]),
);

function remoteSamples(): Trial[] {
  const one = (remote: unknown): Trial => fields({ remotes: [remote] });
  return [
    ...urls.map((url) => one({ type: 'streamable-http', url })),
    ...templates.flatMap((url) => [one({ type: 'sse', url }), one({ type: 'sse', url, variables: declared })]),
    one({ type: 'stdio' }),
    one({ type: 'stdio', url: 'https://a.example' }),
    one({ type: '' }),
    one({ type: 'SSE', url: 'https://a.example' }),
    one({ type: null, url: 'https://a.example' }),
    one({ url: 'https://a.example' }),
    one({ type: 'sse' }),
    one({ type: 'sse', url: null }),
    one({ type: 'sse', url: 5 }),
    one(null),
    one('x'),
    one([]),
    one({}),
    one({ type: 'sse', url: 'https://a.example', headers: null, variables: null }),
    one({ type: 'sse', url: 'https://a.example', headers: [null] }),
    one({ type: 'sse', url: 'https://a.example', headers: [{}] }),
    one({ type: 'sse', url: 'https://a.example', headers: [{ name: '' }] }),
    one({
      type: 'sse',
      url: 'https://a.example',
      headers: [{ name: 'A', value: '{x}', variables: { x: { default: 1 }, y: null, z: [], w: { a: 1 } } }],
    }),
    one({ type: 'sse', url: 'https://a.example', headers: [{ name: 'A', isRequired: 'true', isSecret: 1, format: 'uuid', choices: 'a' }] }),
    one({
      type: 'sse',
      url: 'https://a.example',
      headers: [
        {
          name: 'A',
          isRequired: false,
          isSecret: null,
          format: null,
          choices: [],
          default: '',
          value: '',
          placeholder: '',
          description: '',
        },
      ],
    }),
    one({ type: 'sse', url: 'https://a.example', headers: [{ name: 'A', format: '', choices: ['', null, 1] }] }),
    one({ type: 'sse', url: 'https://a.example', variables: { a: { isRepeated: true }, b: { name: 'x' } } }),
    one({ type: 'sse', url: 'https://a.example', variables: {} }),
    one({ type: 'sse', url: 'https://a.example', variables: [] }),
    fields({ remotes: [{ type: 'stdio' }, { type: 'sse', url: 'http://a.example' }, 5, { type: 'sse', url: 'https://a.example' }] }),
    fields({
      remotes: [
        { type: 'sse', url: 'https://a.example' },
        { type: 'sse', url: 'https://a.example' },
      ],
    }),
  ];
}

function packageSamples(): Trial[] {
  const good: Fields = { registryType: 'npm', identifier: '@a/b', transport: { type: 'stdio' } };
  const one = (overrides: Fields): Trial => fields({ packages: [{ ...good, ...overrides }] });
  const variables: Fields = {
    environmentVariables: [{ name: 'tenant' }, { name: 'host' }],
    runtimeArguments: [{ type: 'named', name: '--port' }],
    packageArguments: [
      { type: 'positional', valueHint: 'path' },
      { type: 'named', name: 'port', value: '{a}', variables: { a: {} } },
    ],
  };
  const argument = (value: unknown): Trial[] => [one({ packageArguments: [value] }), one({ runtimeArguments: [value] })];
  return [
    one({}),
    fields({ packages: [{}] }),
    fields({ packages: [null] }),
    fields({ packages: ['x', good] }),
    fields({ packages: [[]] }),
    ...['', ' ', 'a b', 'a\tb', 'a\u00a0b', null, 5].flatMap((text) => [one({ identifier: text }), one({ registryType: text })]),
    ...['', 'https://packages.example', 'registry', null, 'http://[x', 'a:b'].map((registryBaseUrl) => one({ registryBaseUrl })),
    ...['a'.repeat(64), 'A'.repeat(64), 'a'.repeat(63), '', null, 'g'.repeat(64), `${'a'.repeat(64)}\n`].map((fileSha256) =>
      one({ fileSha256 }),
    ),
    one({ runtimeHint: '' }),
    one({ runtimeHint: 'npx' }),
    one({ runtimeHint: 1 }),
    ...['docker', 'oci', 'nothing-known'].map((registryType) => one({ registryType })),
    ...urls.flatMap((url) => [one({ transport: { type: 'streamable-http', url } })]),
    one({ transport: { type: 'stdio', url: 'http://a' } }),
    one({ transport: { type: 'stdio', url: '' } }),
    one({ transport: null }),
    one({ transport: {} }),
    one({ transport: { type: 'http', url: 'http://a' } }),
    one({ transport: { type: 'sse' } }),
    one({ transport: [] }),
    ...templates.flatMap((url) => [
      one({ transport: { type: 'sse', url } }),
      one({ transport: { type: 'sse', url }, ...variables }),
      one({ transport: { type: 'sse', url, variables: declared } }),
    ]),
    ...[
      null,
      {},
      { type: 'positional' },
      { type: 'positional', value: '' },
      { type: 'positional', valueHint: '' },
      { type: 'positional', value: null, valueHint: null },
      { type: 'positional', value: 'x', default: 'd', isRepeated: false },
      { type: 'positional', name: '', valueHint: 'h' },
      { type: 'named' },
      { type: 'named', name: '' },
      { type: 'named', name: '', value: '', valueHint: '', default: '' },
      { type: 'named', name: '', value: 'x', default: 'y' },
      { type: 'named', name: '--a', value: '--a=1' },
      { type: 'named', name: '--a', default: '--ab', value: '' },
      { type: 'named', name: '--a <b>' },
      { type: 'named', name: '$a' },
      { type: 'named', name: 'a b' },
      { type: 'named', name: 'a\tb' },
      { type: 'flag', name: '-a' },
      { type: '' },
      { type: 'Named', name: '-a' },
      { type: 'named', name: '-a', value: 1, default: true },
      { type: 'named', name: '-a', variables: { x: { format: 'number', value: '' } }, choices: ['1'] },
      { type: 'named', name: '-a', isRepeated: 'no', extra: 1 },
      { type: 5, name: '-a' },
    ].flatMap(argument),
    one({ environmentVariables: [{}] }),
    one({ environmentVariables: [{ name: 'A', value: '', isSecret: false }] }),
    one({ environmentVariables: {} }),
    one({ packageArguments: [], runtimeArguments: null, environmentVariables: [] }),
  ];
}

function repositorySamples(): Trial[] {
  const repositoryUrls = [
    'https://github.com/a/b',
    'http://github.com/a/b',
    'https://www.github.com/a/b/',
    'https://github.com/a',
    'https://github.com/a/b/c',
    'https://github.com/a/b.git',
    'https://github.com/a_b/c-d.e',
    'https://GitHub.com/a/b',
    'https://ghe.example/a/b',
    'https://gitlab.com/a/b',
    'https://gitlab.com/a/b/c/d',
    'https://gitlab.com/a/b/-/tree',
    'https://gitlab.com/a/-',
    'https://gitlab.com/a',
    'https://gitlab.com/-/b',
    'https://gitlab.com/a/b//',
    'git@github.com:a/b',
    '',
    'https://github.com/a/b?x',
    'https://github.com/ä/b',
    'https://github.com/a/b\n',
    'https://gitlab.com/a/b-/c',
    'https://gitlab.com/a/b/\n/-/',
    'https://github.com/a/-/',
  ];
  const subfolders = ['', 'src', 'a/b', '/a', 'a/', 'a//b', '.', '..', 'a/../b', './a', 'a b', '.a', 'a..b', 'ä', 'a\n'];
  const good: Fields = { url: 'https://github.com/a/b', source: 'github' };
  return [
    ...repositoryUrls.flatMap((url) => ['github', 'gitlab', 'GitHub', ''].map((source) => fields({ repository: { url, source } }))),
    ...subfolders.map((subfolder) => fields({ repository: { ...good, subfolder } })),
    ...[
      null,
      {},
      { id: 'x' },
      { url: good['url'] },
      { source: 'github' },
      { ...good, id: '' },
      { ...good, id: 5 },
      { ...good, id: null, subfolder: null },
      { ...good, branch: 'x' },
      { url: null, source: null },
    ].map((repository) => fields({ repository })),
  ];
}

function urlSamples(): Trial[] {
  return [
    ...urls,
    'https://a.example/"',
    "https://a.example/'",
    'https://a.example/<',
    'https://a.example/ü>',
    'https://a.example/\u00a0',
  ].map((websiteUrl) => fields({ websiteUrl }));
}

function metaSamples(): Trial[] {
  const sized = (bytes: number, filler: string, each: number): Trial => {
    const room = bytes - '{"a":""}'.length;
    return fields({ _meta: { [PUBLISHER_META]: { a: filler.repeat(Math.floor(room / each)) + 'x'.repeat(room % each) } } });
  };
  const fillers: [string, number][] = [
    ['x', 1],
    ['<', 6],
    ['&', 6],
    ['\u2028', 6],
    ['ü', 2],
    [emoji, 4],
    ['"', 2],
    ['\\', 2],
    ['\n', 2],
    ['\b', 2],
    ['\u0001', 6],
    ['\u007f', 1],
    ['\u2027', 3],
  ];
  const provided = (json: string): Trial => raw(`"_meta":{"${PUBLISHER_META}":${json}}`);
  return [
    ...fillers.flatMap(([filler, each]) => [sized(4096, filler, each), sized(4097, filler, each)]),
    ...[
      'null',
      '{}',
      '[]',
      '"x"',
      '{"a":null,"b":false,"c":"","d":[],"e":{}}',
      '{"a":1.0,"b":9007199254740993,"c":1e21,"d":1e-7,"e":0.1,"f":123456789012345680000,"g":1E2,"h":-1.50}',
      '{"A":1,"a":2}',
      '{"a":1,"a":2}',
      '{"__proto__":{"a":1}}',
      '{"a":"\\ud800"}',
      '{"\\ud800":1}',
      '{"a":{"b":[{"c":"\\u0000"}]}}',
      '{"\\u0000":1}',
      '{"":{"":""}}',
      '{"a":-0}',
      '{"a":1e300}',
      '{"a":4.9e-324}',
    ].map(provided),
    fields({ _meta: {} }),
    fields({ _meta: { [PUBLISHER_META]: null } }),
  ];
}

/** Documents without a name, with any number of faults at once: each field good, bad, missing, or of another type. */
export const documents: fc.Arbitrary<Fields> = (() => {
  const mostly = (usual: string, other: fc.Arbitrary<string>) =>
    fc.oneof({ weight: 8, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: other });
  const junk = fc.constantFrom<unknown>(null, '', 0, true, [], {}, [null], 'x');
  const optional = <T>(value: fc.Arbitrary<T>) =>
    fc.oneof({ weight: 40, arbitrary: fc.constant(undefined) }, { weight: 40, arbitrary: value }, { weight: 1, arbitrary: junk });
  const required = <T>(value: fc.Arbitrary<T>) =>
    fc.oneof({ weight: 80, arbitrary: value }, { weight: 1, arbitrary: junk }, { weight: 1, arbitrary: fc.constant(undefined) });
  const shortText = fc.oneof(
    fc.constantFrom('a', 'host', '--port', '{host}', ' ', 'x y', ''),
    fc.string({ unit: 'binary', maxLength: 5 }).filter((text) => !text.includes('\0')),
  );
  const url = mostly('https://a.example/mcp', fc.constantFrom(...urls, ...templates));
  const version = mostly('1.0.0', fc.constantFrom(...versions));
  const list = <T>(item: fc.Arbitrary<T>) =>
    fc.array(fc.oneof({ weight: 60, arbitrary: item }, { weight: 1, arbitrary: junk }), { maxLength: 3 });
  const input = {
    description: optional(shortText),
    isRequired: optional(fc.boolean()),
    isSecret: optional(fc.boolean()),
    format: optional(mostly('number', fc.constantFrom('string', 'filepath', 'url'))),
    value: optional(shortText),
    default: optional(shortText),
    choices: optional(list(shortText)),
  };
  const variables = optional(fc.dictionary(fc.constantFrom('host', 'port', 'tenant', 'a'), fc.record(input), { maxKeys: 3 }));
  const keyValue = fc.record({ ...input, variables, name: required(shortText) });
  const argument = fc.record({
    ...input,
    variables,
    type: required(mostly('named', fc.constantFrom('positional', 'other'))),
    name: optional(shortText),
    valueHint: optional(shortText),
    isRepeated: optional(fc.boolean()),
  });
  const transport = fc.record({
    type: required(mostly('sse', fc.constantFrom('stdio', 'streamable-http', 'http'))),
    url: optional(url),
    headers: optional(list(keyValue)),
    variables,
  });
  const packageEntry = fc.record({
    registryType: required(mostly('npm', shortText)),
    identifier: required(mostly('a', shortText)),
    version: optional(version),
    transport: required(transport),
    packageArguments: optional(list(argument)),
    runtimeArguments: optional(list(argument)),
    environmentVariables: optional(list(keyValue)),
    extra: fc.constant(undefined),
  });
  const repository = fc.record({
    url: optional(fc.constantFrom('https://github.com/a/b', 'https://gitlab.com/a/b/c', 'x')),
    source: optional(fc.constantFrom('github', 'gitlab')),
    subfolder: optional(fc.constantFrom('a', '../a')),
  });
  const icon = fc.record({
    src: required(url),
    theme: optional(mostly('dark', fc.constantFrom('light', 'x'))),
    sizes: optional(list(shortText)),
  });
  return fc.record({
    $schema: required(fc.constantFrom(SCHEMA_URL, SCHEMA_URL, SCHEMA_URL.replace('12-11', '10-17'), SCHEMA_URL.replace('12-11', '01-01'))),
    description: required(fc.constant('d')),
    title: optional(mostly('A title', shortText)),
    version: required(version),
    websiteUrl: optional(url),
    repository: optional(repository),
    icons: optional(list(icon)),
    packages: optional(list(packageEntry)),
    remotes: optional(list(transport)),
    _meta: optional(fc.record({ [PUBLISHER_META]: optional(fc.dictionary(shortText, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })) })),
  });
})();
