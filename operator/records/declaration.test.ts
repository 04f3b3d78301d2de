import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { PUBLISHER_META } from '../../lib/registry-api/server-json.ts';
import { validateServerJson } from '../../lib/registry-api/validate.ts';
import { readDeclaration, type ReadingRules, type Wish } from './declaration.ts';
import { raw, serverJson } from './testing/world.ts';

const rules: ReadingRules = { install: 'toolyard', publishEndpoint: false, endpoints: {} };
const local: ReadingRules = { ...rules, publishEndpoint: true };
const document = serverJson('com.example/weather', '1.0.0');

function read(value: unknown, settings: unknown = {}, how = rules): Wish {
  return readDeclaration(raw('catalog/weather/server.json', value, settings), how).wish;
}

function faultsOf(wish: Wish): readonly string[] {
  return wish.is === 'unusable' ? wish.faults.map(({ path }) => path) : [];
}

function remotesOf(wish: Wish): unknown {
  return wish.is === 'record' ? wish.document.remotes : wish;
}

test('a record carries who keeps it, beside what its author put there', () => {
  const wish = read({ ...document, _meta: { [PUBLISHER_META]: { team: 'x' } } });
  const mark = { install: 'toolyard', source: 'catalog/weather/server.json' };
  expect(wish).toMatchObject({ is: 'record', document: { _meta: { [PUBLISHER_META]: { team: 'x', 'toolyard.dev': mark } } } });
});

test('what becomes of a record after its declaration is written into it, since the declaration will be gone', () => {
  expect(read(document, { 'on-delete': 'keep' })).toMatchObject({
    document: { _meta: { [PUBLISHER_META]: { 'toolyard.dev': { onDelete: 'keep' } } } },
  });
});

test('every fault of document and settings is reported at once, with its path', () => {
  const wish = read({ ...document, description: '', packages: [{}], extra: 1 }, { endpoint: 'ftp://x', probe: 'on', colour: 1 });
  expect(faultsOf(wish).toSorted()).toEqual([
    'description',
    'extra',
    'packages[0]',
    'packages[0]',
    'packages[0]',
    'toolyard.json: colour',
    'toolyard.json: endpoint',
    'toolyard.json: probe',
  ]);
  expect(wish).toMatchObject({ name: 'com.example/weather', version: '1.0.0' });
});

test('the mark is nobody else’s to set', () => {
  const wish = read({ ...document, _meta: { [PUBLISHER_META]: { 'toolyard.dev': { install: 'other' } } } });
  expect(faultsOf(wish)).toEqual([`_meta.${PUBLISHER_META}.toolyard.dev`]);
});

test('with the mark, what the author keeps in _meta must still fit the registry’s 4 KB', () => {
  const fill = (length: number) => ({ ...document, _meta: { [PUBLISHER_META]: { text: 'x'.repeat(length) } } });
  expect(validateServerJson(fill(4050))).toEqual([]);
  expect(faultsOf(read(fill(4050)))).toEqual([`_meta.${PUBLISHER_META}`]);
  expect(read(fill(3950)).is).toBe('record');
});

test('an address on this machine is published under toolyard up alone, and no other plain http address ever', () => {
  const at = (url: string) => ({ ...document, remotes: [{ type: 'streamable-http', url }] });
  expect(faultsOf(read(at('http://127.0.0.1:9000/mcp')))).toEqual(['remotes[0].url']);
  expect(read(at('http://127.0.0.1:9000/mcp'), {}, local).is).toBe('record');
  expect(read(at('http://[::1]:9000/mcp'), {}, local).is).toBe('record');
  expect(faultsOf(read(at('http://weather.example/mcp'), {}, local))).toEqual(['remotes[0].url']);
  expect(faultsOf(read(at('http://127.0.0.1.example/mcp'), {}, local))).toEqual(['remotes[0].url']);
});

test('an http address says where it belongs', () => {
  const at = (url: string) => ({ ...document, remotes: [{ type: 'streamable-http', url }] });
  const advice = 'an address that is good here alone goes into toolyard.json as "endpoint"';
  expect(read(at('http://localhost:9000/mcp'))).toMatchObject({
    message: expect.stringContaining(`https addresses only; ${advice}`) as string,
  });
  expect(read(at('http://weather.example/mcp'), {}, local)).toMatchObject({
    message: expect.stringContaining(`http on this machine, are taken; ${advice}`) as string,
  });
});

test('under toolyard up the endpoint takes the place of all remotes, elsewhere it is only probed', () => {
  const two = { ...document, remotes: [...(document.remotes ?? []), { type: 'sse', url: 'https://weather.example/sse' }] };
  const endpoint = 'http://127.0.0.1:9000/mcp';
  expect(remotesOf(read(two, { endpoint }, local))).toEqual([{ type: 'streamable-http', url: endpoint }]);
  expect(remotesOf(read(two, { endpoint }))).toEqual(two.remotes);
});

test('an address given to the operator is stronger than the declaration’s own', () => {
  const endpoints = { 'com.example/weather': 'http://127.0.0.1:7/mcp' };
  const wish = read(document, { endpoint: 'http://127.0.0.1:9000/mcp' }, { ...local, endpoints });
  expect(remotesOf(wish)).toEqual([{ type: 'streamable-http', url: 'http://127.0.0.1:7/mcp' }]);
});

test('an endpoint without a remote to stand in for is refused', () => {
  const packages = [{ registryType: 'npm', identifier: 'x', version: '1.0.0', transport: { type: 'stdio' } }];
  expect(faultsOf(read({ ...document, remotes: [], packages }, { endpoint: 'http://127.0.0.1:9000/' }))).toEqual([
    'toolyard.json: endpoint',
  ]);
});

test.each([
  [{ adopt: true }, 'true'],
  [{ adopt: 'true' }, 'true'],
  [{ adopt: 'other' }, 'other'],
])('settings %j adopt from %s', (settings, adopt) => {
  expect(read(document, settings)).toMatchObject({ settings: { adopt } });
});

test('a user name in an endpoint is refused: credentials have their own place', () => {
  expect(faultsOf(read(document, { endpoint: 'https://me:secret@weather.example/mcp' }))).toEqual(['toolyard.json: endpoint']);
});

test('a document nested without end is a fault, not a crash', () => {
  let abyss: unknown = 1;
  for (let depth = 0; depth < 20_000; depth += 1) abyss = [abyss];
  expect(read({ ...document, _meta: { [PUBLISHER_META]: { abyss } } }).is).toBe('unusable');
  expect(read(abyss).is).toBe('unusable');
});

test('any JSON gets an answer: a record, or at least one fault', () => {
  const property = fc.property(fc.jsonValue(), fc.jsonValue(), fc.boolean(), (value, settings, publishEndpoint) => {
    const wish = read(value, settings, { ...rules, publishEndpoint });
    return wish.is === 'record' || wish.faults.length > 0;
  });
  expect(() => fc.assert(property)).not.toThrow();
});

test('what is taken, the registry takes', () => {
  const mutations = fc.dictionary(fc.constantFrom(...Object.keys(document), 'title', '_meta', 'packages'), fc.jsonValue(), { maxKeys: 2 });
  const property = fc.property(mutations, (changes) => {
    const wish = read({ ...document, ...changes });
    return wish.is === 'unusable' || validateServerJson(wish.document).length === 0;
  });
  expect(() => fc.assert(property)).not.toThrow();
});
