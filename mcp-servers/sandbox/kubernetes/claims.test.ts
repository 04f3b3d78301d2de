import { expect, test } from 'vitest';
import type { SandboxClaim } from '../../../lib/kube/objects.ts';
import { infoOf, kubeTime, lifetimeOf, newClaim, verdictOf } from './claims.ts';
import { condition, readyStatus } from './testing/fake-cluster.ts';

const now = Date.parse('2026-11-30T12:00:00Z');
const order = {
  handle: 'sb-a',
  owner: 'ann',
  placement: { namespace: 'n', warmpool: 'w' },
  lifetime: { createdAt: now, idleMs: 90_500, shutdownAt: now + 90_500 },
  readyTimeoutMs: 1000,
  signal: new AbortController().signal,
};
const claim = (status?: SandboxClaim['status'], metadata: object = {}): SandboxClaim => {
  const made = newClaim(order, now + 60_000);
  return { ...made, metadata: { ...made.metadata, ...metadata }, ...(status !== undefined && { status }) };
};
const notReady = (reason: string) => claim({ conditions: [condition('False', reason, 'says the cluster')] });

test('a claim is made with an owner, an end after which it is deleted, and its idle time in whole seconds', () => {
  expect(claim()).toMatchObject({
    apiVersion: 'extensions.agents.x-k8s.io/v1beta1',
    kind: 'SandboxClaim',
    metadata: {
      name: 'sb-a',
      labels: { 'toolyard.dev/kind': 'sandbox', 'toolyard.dev/owner': 'ann' },
      annotations: { 'toolyard.dev/idle-seconds': '91' },
    },
    spec: { warmPoolRef: { name: 'w' }, lifecycle: { shutdownTime: '2026-11-30T12:01:00Z', shutdownPolicy: 'Delete' } },
  });
  expect(kubeTime(now + 1)).toBe('2026-11-30T12:00:01Z');
});

test('a claim can be used when it is Ready and has an address', () => {
  expect(verdictOf(claim(readyStatus('10.0.0.7')), now)).toEqual({ is: 'ready', address: '10.0.0.7' });
  expect(verdictOf(claim(readyStatus('fd00::7')), now)).toEqual({ is: 'ready', address: 'fd00::7' });
  expect(verdictOf(claim({ ...readyStatus('10.0.0.7'), sandbox: { podIPs: [] } }), now)).toMatchObject({ is: 'waiting' });
  expect(verdictOf(claim(readyStatus('metadata.internal')), now)).toMatchObject({ is: 'waiting' });
});

test.each(['DependenciesNotReady', 'SandboxMissing', 'AdoptionPending', 'ReconcilerError', 'InventedInVersion7', 'constructor'])(
  '%s is waited out',
  (reason) => {
    expect(verdictOf(notReady(reason), now)).toEqual({ is: 'waiting', reason, message: 'says the cluster' });
  },
);

test.each([
  ['ClaimExpired', 'ended'],
  ['SandboxExpired', 'ended'],
  ['PodFailed', 'ended'],
  ['PodSucceeded', 'ended'],
  ['InvalidMetadata', 'failed'],
  ['EnvVarsInjectionRejected', 'failed'],
  ['VolumeClaimTemplatesError', 'failed'],
  ['InvalidConfiguration', 'not-ready'],
  ['WarmPoolNotFound', 'not-ready'],
  ['TemplateNotFound', 'not-ready'],
])('%s is the end, told as %s', (reason, code) => {
  expect(verdictOf(notReady(reason), now)).toMatchObject({ is: 'over', code, why: expect.stringContaining('says the cluster') as string });
});

test('a claim whose time is over or that is being deleted is not used, whatever else it says', () => {
  const ready = claim(readyStatus('10.0.0.7'));
  expect(verdictOf(ready, now + 60_000)).toMatchObject({ is: 'over', why: 'its time was over' });
  expect(verdictOf(claim(readyStatus('10.0.0.7'), { deletionTimestamp: '2026-11-30T12:00:00Z' }), now)).toMatchObject({ is: 'over' });
});

test('what a claim says of its life is what any replica goes by; what it does not say is the longest that is allowed', () => {
  const defaults = { idleMs: 1, ageMs: 1000 };
  const made = claim(undefined, { creationTimestamp: '2026-11-30T12:00:00Z' });
  expect(lifetimeOf(made, defaults)).toEqual({ createdAt: now, idleMs: 91_000, shutdownAt: now + 60_000 });
  const foreign = { ...made, metadata: { ...made.metadata, annotations: {} }, spec: { warmPoolRef: { name: 'w' } } };
  expect(lifetimeOf(foreign, defaults)).toEqual({ createdAt: now, idleMs: 1, shutdownAt: now + 1000 });
  expect(infoOf(made, defaults, now)).toMatchObject({ handle: 'sb-a', owner: 'ann', state: 'starting' });
});
