import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { KubeClient } from '../../../lib/kube/client.ts';
import type { SandboxClaim } from '../../../lib/kube/objects.ts';
import { ClaimsClient } from './claims-client.ts';
import { newClaim } from './claims.ts';
import { condition, FakeCluster, namespace, readyStatus } from './testing/fake-cluster.ts';

let cluster: FakeCluster;
let claims: ClaimsClient;
beforeEach(async () => {
  cluster = await FakeCluster.start();
  claims = new ClaimsClient(cluster.client(), namespace);
});
afterEach(() => cluster.close());

const never = new AbortController().signal;
const wanted = (name = 'sb-a', shutdownAt = Date.now() + 60_000): SandboxClaim =>
  newClaim(
    {
      handle: name,
      owner: 'ann',
      placement: { namespace, warmpool: 'default' },
      lifetime: { createdAt: 0, idleMs: 1000, shutdownAt },
      readyTimeoutMs: 1,
      signal: never,
    },
    shutdownAt,
  );
/** Follows a claim, and tells when that has begun. */
async function following(claim: SandboxClaim): Promise<{ outcome: ReturnType<ClaimsClient['settled']> }> {
  const outcome = claims.settled(claim, never, () => {});
  while (!cluster.requests.some((request) => request.startsWith('GET ') && request.endsWith('/sandboxclaims'))) await delay(5);
  return { outcome };
}

test('creating twice gives the same claim, and the second time nothing of it is changed', async () => {
  const first = await claims.create(wanted());
  const second = await claims.create(wanted('sb-a', Date.now() + 999_000));
  expect([first.made, second.made]).toEqual([true, false]);
  expect(second.claim).toEqual(first.claim);
});

test('a claim is followed from where it was made until it is Ready, by one watch', async () => {
  const { claim } = await claims.create(wanted());
  const { outcome } = await following(claim);
  cluster.setStatus('sb-a', { conditions: [condition('False', 'SandboxNotReady', 'not yet')] });
  cluster.setStatus('sb-a', readyStatus('10.0.0.1'));
  expect(await outcome).toMatchObject({ verdict: { is: 'ready', address: '10.0.0.1' } });
  expect(cluster.requests).toHaveLength(2);
});

test('watches that break or are too old to go on are begun again, and nothing is missed', async () => {
  const { claim } = await claims.create(wanted());
  const { outcome } = await following(claim);
  cluster.cutWatches();
  await delay(20);
  cluster.forget();
  cluster.setStatus('sb-a', readyStatus('10.0.0.1'));
  expect(await outcome).toMatchObject({ verdict: { is: 'ready' } });
});

test('a claim of the same name that is another one is not waited for', async () => {
  const { claim } = await claims.create(wanted());
  const { outcome } = await following(claim);
  cluster.remove('sb-a');
  expect(await outcome).toMatchObject({ verdict: { is: 'over', why: 'it was deleted' } });
  await claims.create(wanted());
  expect(await claims.settled(claim, never, () => {})).toMatchObject({ verdict: { is: 'over' } });
});

test('following ends when the caller wants', async () => {
  const { claim } = await claims.create(wanted());
  const leaving = new AbortController();
  const outcome = claims.settled(claim, leaving.signal, () => {});
  await delay(20);
  leaving.abort(new Error('left'));
  await expect(outcome).rejects.toThrow('left');
});

test('an end is moved only while the claim is as it was read', async () => {
  const { claim } = await claims.create(wanted());
  const later = Date.parse('2099-01-01T00:00:00Z');
  const moved = await claims.endAt(claim, later, { note: 'x' });
  expect(moved?.spec.lifecycle).toEqual({ shutdownTime: '2099-01-01T00:00:00Z', shutdownPolicy: 'Delete' });
  expect(moved?.metadata.annotations).toMatchObject({ note: 'x', 'toolyard.dev/idle-seconds': '1' });
  expect(await claims.endAt(claim, later + 1000, {})).toBeUndefined();
});

test('only the very claim is deleted, not another one that has its name by now', async () => {
  const { claim } = await claims.create(wanted());
  cluster.remove('sb-a');
  const { claim: other } = await claims.create(wanted());
  await claims.delete(claim);
  expect(await claims.find('sb-a')).toEqual(other);
  await claims.delete(other);
  expect(await claims.find('sb-a')).toBeUndefined();
  await claims.delete(other);
});

test.each([
  ['quota', 403, 'exceeded quota: claims, requested: 1, used: 9, limited: 9', 'ResourceQuota claims of namespace'],
  ['not-ready', 403, 'User "x" cannot create resource', 'its Role is missing or incomplete'],
  ['not-ready', 404, 'namespaces "toolyard-sandboxes" not found', 'create it, or set SANDBOX_NAMESPACE'],
  ['not-ready', 404, 'the server could not find the requested resource', 'install agent-sandbox'],
  ['failed', 422, 'spec.warmPoolRef: Required value', 'the cluster refused the claim'],
  ['not-ready', 500, 'etcd is away', 'did not answer as it should'],
] as const)('a refusal is %s when the API says %i: %s', async (code, status, message, words) => {
  cluster.refuse(status, 'Refused', message);
  await expect(claims.create(wanted())).rejects.toMatchObject({ code, message: expect.stringContaining(words) as string });
});

test('an API server that is away is no claim', async () => {
  const nobody = new KubeClient({ access: { url: 'http://127.0.0.1:1', tls: {}, headers: async () => ({}) } });
  await expect(new ClaimsClient(nobody, namespace).list()).rejects.toMatchObject({ code: 'not-ready' });
  await nobody.close();
});
