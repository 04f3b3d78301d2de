import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ManagedFields } from '../../lib/kube/objects.ts';
import { declaredBy, STATE_LABEL, STATUS_ANNOTATION } from './configmap.ts';

const metadata = { name: 'weather', namespace: 'team', uid: 'u-1', creationTimestamp: '2026-11-30T10:00:00Z' };

test('a ConfigMap is a declaration: the document, the settings in its annotations, its age', () => {
  const annotations = { 'toolyard.dev/endpoint': 'http://x.team.svc/mcp', 'toolyard.dev/status': '{}', 'other.example/x': 'y' };
  const { raw, uid } = declaredBy({ metadata: { ...metadata, annotations }, data: { 'server.json': '{"name":"com.example/x"}' } });
  expect(raw).toEqual({
    source: 'team/weather',
    namespace: 'team',
    createdAt: Date.parse('2026-11-30T10:00:00Z'),
    document: { value: { name: 'com.example/x' } },
    settings: { value: { endpoint: 'http://x.team.svc/mcp' } },
  });
  expect(uid).toBe('u-1');
});

test.each([
  ['nothing in it', {}, 'the ConfigMap has no data'],
  ['another key', { data: { 'weather.json': '{}' } }, 'the ConfigMap has weather.json'],
  ['binary data', { binaryData: { 'server.json': 'e30=' } }, 'under binaryData'],
  ['several keys', { data: { 'server.json': '{}', 'b.json': '' }, binaryData: { a: '' } }, 'the ConfigMap has a, b.json'],
  ['no JSON', { data: { 'server.json': '{' } }, 'it is not JSON'],
])('one with %s says what is wrong', (_what, content, words) => {
  const { document } = declaredBy({ metadata, ...content }).raw;
  expect('message' in document && document.message).toContain(words);
});

function managed(manager: string, operation: 'Apply' | 'Update', fields: object): ManagedFields {
  return { manager, operation, fieldsV1: { 'f:metadata': fields } };
}

const annotation = { 'f:annotations': { [`f:${STATUS_ANNOTATION}`]: {} } };
const label = { 'f:labels': { [`f:${STATE_LABEL}`]: {} } };

test.each([
  ['ours alone', [managed('toolyard-operator', 'Apply', { ...annotation, ...label })], undefined, undefined],
  ["another's too", [managed('toolyard-operator', 'Apply', annotation), managed('team', 'Apply', annotation)], 'team', undefined],
  ['set by hand', [managed('kubectl-annotate', 'Update', annotation)], 'kubectl-annotate', undefined],
  [
    'inside a map that somebody says is empty',
    [managed('gitops', 'Apply', { 'f:annotations': {}, 'f:labels': { 'f:a': {} } })],
    'gitops',
    undefined,
  ],
  ["the label is another's", [managed('team', 'Apply', label)], undefined, 'team'],
  ['nobody knows', [], undefined, undefined],
])('whose the status is: %s', (_what, managedFields, status, state) => {
  const declared = declaredBy({ metadata: { ...metadata, managedFields }, data: {} });
  expect([declared.status.foreign, declared.state.foreign]).toEqual([status, state]);
});

test('whatever a ConfigMap holds, it is understood or told what is wrong', () => {
  const texts = fc.dictionary(fc.string(), fc.string());
  fc.assert(
    fc.property(
      texts,
      texts,
      fc.array(fc.record({ manager: fc.string(), fieldsV1: fc.jsonValue() })),
      (data, annotations, managedFields) => {
        const { raw } = declaredBy({ metadata: { ...metadata, annotations, managedFields }, data });
        expect(raw.source).toBe('team/weather');
      },
    ),
  );
});
