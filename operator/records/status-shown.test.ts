import { expect, test } from 'vitest';
import type { DeclaredConfigMap, OwnField } from './configmap.ts';
import { annotationOf, eventBetween, planShowing, statusIn, toolsChanged } from './status-shown.ts';
import type { Condition, DeclarationStatus } from './status.ts';

const time = '2026-11-30T10:00:00.000Z';

function condition(type: Condition['type'], status: Condition['status'], reason: string): Condition {
  return { type, status, reason, message: `about ${reason}`, lastTransitionTime: time };
}

const accepted = condition('Accepted', 'True', 'Valid');
const answers = condition('Reachable', 'True', 'Answers');
const live = condition('Published', 'True', 'Published');

function statusOf(conditions: readonly Condition[], fields: Partial<DeclarationStatus> = {}): DeclarationStatus {
  return { source: 'team/x', name: 'com.example/x', version: '1.0.0', state: 'Published', conditions, ...fields };
}

const good = statusOf([accepted, answers, live]);

function configMap(status: OwnField, state: OwnField): DeclaredConfigMap {
  const raw = { source: 'team/x', namespace: 'team', createdAt: 0, document: { value: {} }, settings: { value: {} } };
  return { raw, uid: 'u', status, state };
}

test('a status is written until it is there, and no longer', () => {
  expect(planShowing(good, configMap({}, {}))).toMatchObject({ due: true, labels: { 'toolyard.dev/state': 'Published' } });
  expect(planShowing(good, configMap({ value: annotationOf(good) }, { value: 'Published' })).due).toBe(false);
  expect(planShowing(good, configMap({ value: annotationOf(good) }, { value: 'Pending' })).due).toBe(true);
});

test('what changes from try to try is not written', () => {
  const later = { ...good, nextProbeAt: '2026-11-30T11:00:00.000Z' };
  expect(planShowing(later, configMap({ value: annotationOf(good) }, { value: 'Published' })).due).toBe(false);
});

test("another manager's field is left alone, the other one is written", () => {
  const plan = planShowing(good, configMap({ value: 'mine', foreign: 'team' }, {}));
  expect(plan).toEqual({
    annotations: {},
    labels: { 'toolyard.dev/state': 'Published' },
    due: true,
    foreign: ['toolyard.dev/status (team)'],
  });
  expect(planShowing(good, configMap({ foreign: 'team' }, { foreign: 'team' })).due).toBe(false);
});

test('what an annotation says is read again, and anything else in it is as good as none', () => {
  expect(statusIn('team/x', { value: annotationOf(good) })).toEqual(good);
  for (const value of ['', '{', 'null', '[]', '{"name":1}', JSON.stringify({ ...good, conditions: [{}] })]) {
    expect(statusIn('team/x', { value })).toBeUndefined();
  }
});

test('of a new record that is published one Event tells', () => {
  expect(eventBetween(undefined, good)).toMatchObject({ type: 'Normal', reason: 'Published' });
  expect(eventBetween(good, good)).toBeUndefined();
});

test('what is wrong is told before what is well, and what comes by itself is not told', () => {
  const asking = statusOf([
    condition('Accepted', 'Unknown', 'RegistryUnread'),
    condition('Reachable', 'Unknown', 'Asking'),
    condition('Published', 'False', 'Pending'),
  ]);
  expect(eventBetween(undefined, asking)).toBeUndefined();
  const down = statusOf([accepted, condition('Reachable', 'False', 'ConnectionRefused'), condition('Published', 'False', 'Pending')]);
  expect(eventBetween(asking, down)).toMatchObject({ type: 'Warning', reason: 'ConnectionRefused' });
  const refused = statusOf([condition('Accepted', 'False', 'InvalidRecord'), answers, condition('Published', 'False', 'NotAccepted')], {
    faults: [
      { path: 'name', message: 'too short' },
      { path: 'version', message: 'missing' },
    ],
  });
  expect(eventBetween(good, refused)).toMatchObject({
    type: 'Warning',
    reason: 'InvalidRecord',
    message: 'name: too short; version: missing',
  });
  expect(eventBetween(refused, statusOf([accepted, answers, condition('Published', 'False', 'Publishing')]))).toMatchObject({
    reason: 'Valid',
  });
});

test('other tools are told, the same tools are not', () => {
  const tools = { count: 1, digest: 'a', names: ['x'] };
  expect(toolsChanged({ ...good, tools }, { ...good, tools: { ...tools, digest: 'b' } })).toMatchObject({ reason: 'ToolsChanged' });
  expect(toolsChanged({ ...good, tools }, { ...good, tools })).toBeUndefined();
  expect(toolsChanged(good, { ...good, tools })).toBeUndefined();
});
