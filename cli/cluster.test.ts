import { expect, test } from 'vitest';
import { declaredBy } from '../operator/records/configmap.ts';
import { shownBy } from './cluster.ts';

const document = JSON.stringify({ name: 'com.example/weather', version: '1.0.0' });

function configMap(annotations: Readonly<Record<string, string>>) {
  const metadata = { name: 'weather', namespace: 'team', uid: 'u', creationTimestamp: '2026-11-30T10:00:00Z', annotations };
  return declaredBy({ metadata, data: { 'server.json': document } });
}

test('a ConfigMap is shown as its operator wrote it', () => {
  const condition = { type: 'Published', status: 'True', reason: 'Published', message: 'm', lastTransitionTime: '2026-11-30T10:00:00Z' };
  const status = { name: 'com.example/weather', version: '1.0.0', state: 'Published', conditions: [condition] };
  expect(shownBy(configMap({ 'toolyard.dev/status': JSON.stringify(status) }))).toEqual({ ...status, source: 'team/weather' });
});

test.each([
  ['nothing', {}],
  ['something else', { 'toolyard.dev/status': '{"version":2}' }],
])('one that says %s waits for an operator', (_what, annotations: Readonly<Record<string, string>>) => {
  const shown = shownBy(configMap(annotations));
  expect(shown).toMatchObject({ source: 'team/weather', state: 'Pending' });
  expect(shown.conditions[0]?.message).toContain('no operator has written a status yet');
});
