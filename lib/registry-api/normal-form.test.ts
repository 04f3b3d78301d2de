import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { changedPaths, excessOf, foldDocument, MAX_NESTING, MAX_VALUES, normalForm, sameDocument } from './normal-form.ts';
import { PUBLISHER_META, SCHEMA_URL } from './server-json.ts';

const good = { $schema: SCHEMA_URL, name: 'io.example/a', description: 'd', version: '1.0.0' };
const npm = { registryType: 'npm', identifier: 'a', transport: { type: 'stdio' } };

test('optional fields that are null, empty or false are not stored', () => {
  const empties = {
    title: '',
    websiteUrl: null,
    icons: [],
    packages: null,
    remotes: [{ type: 'sse', url: 'https://a', headers: [], variables: {} }],
  };
  expect(normalForm({ ...good, ...empties })).toEqual({ ...good, remotes: [{ type: 'sse', url: 'https://a' }] });
  const header = { name: 'A', value: '', isRequired: false, isSecret: true, choices: [] };
  expect(normalForm({ ...good, remotes: [{ type: 'sse', headers: [header] }] }).remotes).toEqual([
    { type: 'sse', headers: [{ name: 'A', isSecret: true }] },
  ]);
});

test('required fields, objects and items of lists stay, however empty', () => {
  const kept = { ...good, description: '', repository: {}, _meta: {}, packages: [{ ...npm, environmentVariables: [{ name: '' }] }] };
  expect(normalForm(kept)).toEqual(kept);
});

test('an argument keeps an explicit empty value and valueHint', () => {
  const argument = { type: 'positional', value: '', valueHint: '', default: '', isRepeated: false };
  const stored = normalForm({ ...good, packages: [{ ...npm, packageArguments: [argument] }] });
  expect(stored.packages?.[0]?.packageArguments).toEqual([{ type: 'positional', value: '', valueHint: '' }]);
});

test('what a publisher provides is kept as it is', () => {
  const provided = { a: null, b: false, c: '', d: [], e: {}, Title: 'x' };
  expect(normalForm({ ...good, _meta: { [PUBLISHER_META]: provided } })['_meta']).toEqual({ [PUBLISHER_META]: provided });
  expect(normalForm({ ...good, _meta: { [PUBLISHER_META]: {} } })['_meta']).toEqual({});
});

test('keys match in any case, also by the two letters that fold into ASCII, and the last one wins', () => {
  const document = JSON.parse('{"NAME":"a/b","Title":"one","tITLE":"two","pac\u212Aages":[],"de\u017Fcription":"d","webSiteUrl":null}');
  expect(foldDocument(document)).toEqual({ name: 'a/b', title: 'two', packages: [], description: 'd' });
});

test('null replaces no value of another spelling', () => {
  expect(foldDocument({ name: 'a/b', NAME: null, title: 'x', Title: null })).toEqual({ name: 'a/b', title: 'x' });
});

test('unknown keys are not stored, but kept for the validator to see', () => {
  expect(normalForm({ ...good, extra: 1 })).toEqual(good);
  expect(foldDocument({ ...good, extra: 1 })).toEqual({ ...good, extra: 1 });
});

test('a lone surrogate becomes the replacement character', () => {
  expect(normalForm({ ...good, title: 'a\ud800', _meta: { [PUBLISHER_META]: { 'k\ud800': ['\udc00'] } } })).toEqual({
    ...good,
    title: 'a\ufffd',
    _meta: { [PUBLISHER_META]: { 'k\ufffd': ['\ufffd'] } },
  });
});

test('a key named __proto__ stays data', () => {
  const document = JSON.parse(`{"_meta":{"${PUBLISHER_META}":{"__proto__":{"polluted":true}}}}`);
  const stored = normalForm(document);
  expect(JSON.stringify(stored)).toBe(JSON.stringify(document));
  expect(Object.getPrototypeOf(stored['_meta']?.[PUBLISHER_META])).toBe(Object.prototype);
});

const loose = fc.anything({
  withNullPrototype: false,
  key: fc.constantFrom('name', 'Name', 'title', 'packages', 'remotes', 'transport', 'type', 'value', '_meta', 'x'),
});
const document = fc.dictionary(fc.constantFrom('name', 'Title', 'packages', 'remotes', 'icons', 'repository', '_meta', 'x'), loose);

test('the normal form of a normal form is itself, whatever the document', () => {
  fc.assert(
    fc.property(document, (any) => {
      expect(normalForm(normalForm(any))).toEqual(normalForm(any));
    }),
  );
});

test('a document is the same as its stored form', () => {
  fc.assert(
    fc.property(document, (any) => {
      const parsed: unknown = JSON.parse(JSON.stringify(any));
      expect(changedPaths(parsed, normalForm(parsed))).toEqual([]);
    }),
  );
});

test('sameness is symmetric, and says the same as the changed paths', () => {
  fc.assert(
    fc.property(document, document, (a, b) => {
      expect(sameDocument(a, b)).toBe(sameDocument(b, a));
      expect(changedPaths(a, b).length === 0).toBe(sameDocument(a, b));
    }),
  );
});

test('changed paths name each place that differs, and none that only looks different', () => {
  const before = { ...good, title: 'one', packages: [{ ...npm, version: '1' }, npm], icons: [] };
  const after = { ...good, Title: 'two', packages: [{ ...npm, version: '2' }], description: 'd', isLatest: true };
  expect(changedPaths(before, after)).toEqual(['title', 'packages[0].version', 'packages[1]']);
});

test('numbers are those that a double can hold', () => {
  const meta = (json: string): unknown => JSON.parse(`{"_meta":{"${PUBLISHER_META}":{"n":${json}}}}`);
  expect(sameDocument(meta('9007199254740993'), meta('9007199254740992'))).toBe(true);
  expect(sameDocument(meta('-0'), meta('0.0'))).toBe(true);
  expect(changedPaths(meta('1'), meta('1.5'))).toEqual([`_meta.${PUBLISHER_META}.n`]);
});

test('a variable named __proto__ is dropped, since nothing vouches for its type', () => {
  const document = JSON.parse('{"remotes":[{"type":"sse","variables":{"__proto__":5,"a":{}}}]}');
  expect(JSON.stringify(normalForm(document))).toBe('{"remotes":[{"type":"sse","variables":{"a":{}}}]}');
});

test('a number that no double holds is no document', () => {
  expect(excessOf(JSON.parse('{"a":[1e400]}'))).toContain('float64');
});

test('nesting and number of values are bounded, without running out of stack', () => {
  const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));
  expect(excessOf(nested(MAX_NESTING))).toBeUndefined();
  expect(excessOf(nested(MAX_NESTING + 2))).toContain('max depth');
  expect(excessOf(nested(200_000))).toContain('max depth');
  expect(excessOf(Array.from({ length: MAX_VALUES }, () => 0))).toContain('values');
  expect(excessOf(Array.from({ length: MAX_VALUES - 1 }, () => 0))).toBeUndefined();
});
