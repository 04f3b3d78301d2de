import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { KubernetesBackend } from '../../../mcp-servers/sandbox/kubernetes/backend.ts';
import { condition, namespace, readyStatus } from '../../../mcp-servers/sandbox/kubernetes/testing/fake-cluster.ts';
import { Guest, patience } from '../suite.ts';
import { describeWithPods, Pod } from './pods.ts';
import { World } from './world.ts';

const handle = 'sb-fault';

describeWithPods('when something goes wrong around claims', () => {
  let world: World;
  let backend: KubernetesBackend;
  let guest: Guest;

  beforeEach(async () => {
    world = await World.start();
    backend = world.replica();
    guest = new Guest(backend, handle);
  });
  afterEach(() => world.close());

  test('a sandbox made on one replica is used on another, also when the first one has closed, which leaves it be', async () => {
    await guest.create();
    await guest.write('state', 'kept');
    await backend.close();
    const other = new Guest(world.replica(), handle);
    expect(await other.read('state')).toBe('kept');
    expect(await other.run('cat state')).toMatchObject({ stdout: 'kept' });
    await other.delete();
    expect(world.cluster.claim(handle)).toBeUndefined();
  });

  test('what is counted is what all replicas have made', async () => {
    const other = world.replica();
    await guest.create();
    await new Guest(other, 'sb-other').create();
    expect((await other.list()).map((info) => info.handle).sort()).toEqual([handle, 'sb-other']);
  });

  test('a retry on another replica gets the same sandbox, and does not prolong it', async () => {
    await guest.create();
    const before = world.cluster.claim(handle);
    await new Guest(world.replica(), handle).create(Date.now() + 9_000_000);
    expect(world.cluster.claim(handle)?.spec).toEqual(before?.spec);
  });

  test('a claim of that name which is somebody else’s is not taken, nor one that is going', async () => {
    await guest.create();
    const foreign = { ...guest.order(), owner: 'bob' };
    await expect(world.replica().create(foreign)).rejects.toMatchObject({
      code: 'failed',
      message: expect.stringContaining('not this caller') as string,
    });
    world.cluster.change(handle, (claim) => ({ ...claim, metadata: { ...claim.metadata, deletionTimestamp: '2026-11-30T12:00:00Z' } }));
    await expect(world.replica().create(guest.order())).rejects.toMatchObject({
      code: 'ended',
      message: expect.stringContaining('being removed') as string,
    });
    expect(world.cluster.claim(handle)).toBeDefined();
  });

  test.each([
    ['namespace', { namespace: 'kube-system', warmpool: 'default' }],
    ['warmpool', { namespace, warmpool: 'other' }],
  ])('a %s of the caller’s choice is refused, with what may be said', async (what, placement) => {
    await expect(backend.create({ ...guest.order(), placement })).rejects.toMatchObject({
      code: 'invalid',
      message: expect.stringContaining(
        `${what} "${Object.values(placement).find((each) => each !== namespace && each !== 'default')}"`,
      ) as string,
    });
    expect(world.cluster.claim(handle)).toBeUndefined();
  });

  test('a pod that is killed under a command is told of, the command is not run again, and the next call works in the new one', async () => {
    await guest.create();
    await backend.renew(handle, Date.now() + 60_000);
    const running = guest.run('echo once >> runs; sleep 60', { timeoutMs: 20_000 }).catch((error: Error) => error);
    await guest.appears('runs');
    await world.replacePod(handle);
    expect(await running).toMatchObject({
      code: 'failed',
      message: expect.stringContaining('its pod ended and is being replaced') as string,
    });
    // said once more by whoever notices from the address alone, then it can be used
    await expect(guest.run('true')).rejects.toMatchObject({
      code: 'ended',
      message: expect.stringContaining('nothing was done') as string,
    });
    expect(await guest.run('ls; echo works')).toMatchObject({ stdout: 'works\n' });
  });

  test('a pod that was replaced between two calls is noticed by every replica before anything is sent', async () => {
    await guest.create();
    await backend.renew(handle, Date.now() + 60_000);
    await world.replacePod(handle);
    const other = new Guest(world.replica(), handle);
    await expect(other.run('echo sent > file')).rejects.toMatchObject({ code: 'ended' });
    expect(await other.run('ls')).toMatchObject({ stdout: '' });
  });

  test('an address that belongs to another pod by now gets nothing of what was meant for the old one', async () => {
    await guest.create();
    const { address } = world.pod(handle);
    await world.pod(handle).kill();
    const stranger = await Pod.start(address);
    world.pods.set('stranger', stranger);
    world.cluster.remove(handle);
    await expect(guest.run('echo sent > file')).rejects.toMatchObject({ code: 'ended' });
    await expect(guest.read('file')).rejects.toMatchObject({ code: 'ended' });
    expect(stranger.connections).toBe(0);
  });

  test('a connection that breaks under a command does not run it twice', async () => {
    await guest.create();
    const running = guest.run('echo once >> runs; sleep 60', { timeoutMs: 20_000 }).catch((error: Error) => error);
    await guest.appears('runs');
    world.pod(handle).cut();
    expect(await running).toMatchObject({ code: 'failed', message: expect.stringContaining('not known how far') as string });
    expect(await guest.read('runs')).toBe('once\n');
  });

  test('connections that were closed meanwhile are opened again', async () => {
    await guest.create();
    for (let round = 0; round < 3; round += 1) {
      world.pod(handle).cut();
      // what is sent in the very moment is lost, and is not sent again
      const ran = await vi.waitUntil(() => guest.run('echo there').catch(() => undefined), patience);
      expect(ran).toMatchObject({ stdout: 'there\n' });
    }
  });

  test('a claim that never gets ready is given up in time, said why, and removed', async () => {
    world.cluster.refuseReady = true;
    const order = { ...guest.order(), readyTimeoutMs: 300 };
    await expect(backend.create(order)).rejects.toMatchObject({
      code: 'start-timeout',
      message: expect.stringContaining('did not start within 0.3 s') as string,
    });
    expect(world.cluster.claim(handle)).toBeUndefined();
  });

  test('what can never get ready fails at once', async () => {
    world.cluster.refuseReady = true;
    const creating = backend.create(guest.order()).catch((error: Error) => error);
    while (world.cluster.claim(handle) === undefined) await new Promise((resolve) => setImmediate(resolve));
    world.cluster.setStatus(handle, { conditions: [condition('False', 'WarmPoolNotFound', 'SandboxWarmPool "default" not found')] });
    expect(await creating).toMatchObject({ code: 'not-ready', message: expect.stringContaining('apply it') as string });
    expect(world.cluster.claim(handle)).toBeUndefined();
  });

  test('its life begins when it is ready, is put off by use, and never beyond the highest age', async () => {
    const short = world.replica({ maxAgeMs: 5_000 });
    const startedAt = Date.now();
    await short.create(guest.order());
    const end = () => Date.parse(world.cluster.claim(handle)?.spec.lifecycle?.shutdownTime ?? '');
    expect(end()).toBeLessThan(startedAt + 310_000);
    await short.renew(handle, startedAt + 9_000_000);
    expect(end()).toBeLessThanOrEqual(startedAt + 6_000);
  });

  test('renewals at the same time on two replicas leave the later end', async () => {
    await guest.create();
    const other = world.replica();
    const ends = Array.from({ length: 6 }, (_, index) => Date.now() + 400_000 + index * 10_000);
    await Promise.all(ends.map((end, index) => (index % 2 === 0 ? backend : other).renew(handle, end)));
    const last = Date.parse(world.cluster.claim(handle)?.spec.lifecycle?.shutdownTime ?? '');
    expect(last).toBeGreaterThanOrEqual(ends.at(-1) ?? 0);
  });

  test('an API server that is away fails a call before anything is sent', async () => {
    await guest.create();
    const other = new Guest(world.replica(), handle);
    world.cluster.refuse(500, 'InternalError', 'etcd is away');
    await expect(other.run('echo sent > file')).rejects.toMatchObject({ code: 'not-ready' });
    expect((await guest.run('ls')).stdout).toBe('');
  });

  test('whatever address a claim has, nothing listens there: the call gives up and says that nothing was done', async () => {
    await guest.create();
    world.cluster.setStatus(handle, readyStatus('127.0.2.1'));
    const leaving = AbortSignal.timeout(500);
    await expect(new Guest(world.replica(), handle).run('true', { signal: leaving })).rejects.toBeDefined();
  });
});
