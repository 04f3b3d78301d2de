import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Outcome } from './pods/errand.ts';
import { api, apply, eventually, kubectl, type KubeObject } from './testing/cluster.ts';
import { execIn, POOL, poolFull } from './testing/sandboxes.ts';
import { clientPod, INSTALL, namespace, published, REGISTRY, SANDBOXES, type ClientPod, type Pod } from './testing/yard.ts';

/** An agent's namespace: it knows the registry and the authority, nothing else. */
const CLIENT = 'client-of-the-sandbox';
const SERVER = 'dev.toolyard/sandbox';
const fibonacci = 'def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\n\nprint(fib(15))\n';
let client: ClientPod;

type Era = 'legacy' | 'modern';

async function call(tool: string, args: object = {}, era: Era = 'modern'): Promise<Extract<Outcome, { is: 'called' }>> {
  const outcome = await client.run({ do: 'call', registry: REGISTRY, server: SERVER, tool, args: { ...args }, era });
  if (outcome.is !== 'called') throw new Error(`${tool}: ${JSON.stringify(outcome)}`);
  return outcome;
}

/** What a tool gave. @throws Error with what it said instead */
async function given(tool: string, args: object = {}, era: Era = 'modern'): Promise<Record<string, unknown>> {
  const { isError, text } = await call(tool, args, era);
  if (isError) throw new Error(`${tool}: ${text}`);
  return JSON.parse(text) as Record<string, unknown>;
}

async function created(args: object = {}, era: Era = 'modern'): Promise<string> {
  return (await given('create_sandbox', args, era))['sandbox_claim_name'] as string;
}

interface Claim extends KubeObject {
  readonly status?: { readonly sandbox?: { readonly name?: string } };
}

/** The pod that a sandbox is. */
async function podOf(handle: string): Promise<string> {
  const { status } = await api.get<Claim>({ kind: 'SandboxClaim', namespace: SANDBOXES, name: handle });
  return status?.sandbox?.name ?? '';
}

const remove = (handle: string): Promise<unknown> => call('delete_sandbox', { sandbox_claim_name: handle });
const servers = (): Promise<readonly Pod[]> =>
  api.list<Pod>({ kind: 'Pod', namespace: INSTALL, selector: 'app.kubernetes.io/name=sandbox' });

beforeAll(async () => {
  await apply(namespace(CLIENT, { 'toolyard.dev/client': 'true' }));
  const { data } = await api.get({ kind: 'ConfigMap', namespace: INSTALL, name: 'toolyard-ca' });
  await apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'toolyard-ca', namespace: CLIENT }, data });
  client = await clientPod(CLIENT, 'toolyard-ca');
  await published(SERVER);
  await poolFull();
});
afterAll(async () => {
  await kubectl('delete', 'namespace', CLIENT, '--wait=false');
});

describe('an agent that knows the registry', () => {
  test('has the 15th Fibonacci number computed in a claimed gVisor pod, where the script is then found', async () => {
    const handle = await created();
    await given('upload_file', { sandbox_claim_name: handle, path: 'fibonacci.py', content: fibonacci });
    expect(await given('execute_command', { sandbox_claim_name: handle, command: 'python3 fibonacci.py' })).toMatchObject({
      stdout: '610\n',
      stderr: '',
      exit_code: 0,
    });
    const pod = await podOf(handle);
    expect(await execIn(pod, 'cat', '/workspace/fibonacci.py')).toBe(fibonacci);
    expect(await execIn(pod, 'dmesg')).toMatch(/gVisor/);
    await remove(handle);
    await eventually(
      'the claim to be gone',
      async () => (await api.find({ kind: 'SandboxClaim', namespace: SANDBOXES, name: handle })) === undefined,
    );
  });

  test.each([
    ['legacy', '2025-11-25'],
    ['modern', '2026-07-28'],
  ] as const)('runs a program in one call (%s clients), without saying where', async (era, protocol) => {
    const { isError, text, protocol: spoken } = await call('run_code', { language: 'python', code: fibonacci }, era);
    expect([isError, spoken]).toEqual([false, protocol]);
    expect(JSON.parse(text)).toMatchObject({ stdout: '610\n', exit_code: 0, isolation: 'gvisor' });
  });

  test('is told what is used when it leaves out where', async () => {
    expect(await given('get_sandbox_config')).toMatchObject({
      backend: 'kubernetes',
      isolation: 'gvisor',
      ready: true,
      placement: { namespace: SANDBOXES, warmpool: POOL },
    });
    const elsewhere = await call('create_sandbox', { namespace: 'kube-system' });
    expect([elsewhere.isError, elsewhere.text]).toEqual([true, expect.stringMatching(/^invalid: namespace "kube-system"/)]);
  });
});

describe('a sandbox', () => {
  test.each(['legacy', 'modern'] as const)('outlives the server that made it, and another goes on with it (%s clients)', async (era) => {
    const handle = await created({}, era);
    await given('upload_file', { sandbox_claim_name: handle, path: 'kept', content: 'here' }, era);
    const before = await servers();
    for (const { metadata } of before) {
      await kubectl('-n', INSTALL, 'delete', 'pod', metadata.name, '--grace-period=0', '--force', '--wait=false');
      const went = await eventually('a server to answer', async () =>
        given('execute_command', { sandbox_claim_name: handle, command: 'cat kept' }, era),
      );
      expect(went).toMatchObject({ stdout: 'here', exit_code: 0 });
      await eventually('its successor', async () =>
        (await kubectl('-n', INSTALL, 'rollout', 'status', 'deployment/sandbox')).includes('successfully'),
      );
    }
    await remove(handle);
  });

  test('whose pod is killed under a command says so, and goes on empty', async () => {
    const handle = await created();
    await given('upload_file', { sandbox_claim_name: handle, path: 'before', content: 'x' });
    const running = call('execute_command', { sandbox_claim_name: handle, command: 'touch started; sleep 60', timeout: 60 });
    const pod = await podOf(handle);
    await eventually('the command to run', async () => (await execIn(pod, 'ls', '/workspace')).includes('started'));
    await kubectl('-n', SANDBOXES, 'delete', 'pod', pod, '--grace-period=0', '--force', '--wait=false');
    const { isError, text } = await running;
    expect([isError, text]).toEqual([true, expect.stringMatching(/^(failed|ended): .*(broke|replaced|is over)/)]);
    const again = await eventually('the sandbox to go on', async () =>
      given('execute_command', { sandbox_claim_name: handle, command: 'ls' }),
    );
    expect(again).toMatchObject({ stdout: '', exit_code: 0 });
    await remove(handle);
  });

  test('that replaces its runtime by something else hurts nobody but itself', async () => {
    const handle = await created();
    const flood =
      'python3 -c "\nimport os, signal\nfor pid in os.listdir(\'/proc\'):\n    pass\n"; pkill -9 -x sandboxd; yes | head -c 200000000';
    const outcome = await call('execute_command', { sandbox_claim_name: handle, command: flood, timeout: 30 });
    expect(outcome.text.length).toBeLessThan(2_000_000);
    expect(await given('run_code', { language: 'python', code: fibonacci })).toMatchObject({ stdout: '610\n' });
    for (const { status } of await servers()) expect(status.containerStatuses?.[0]?.restartCount).toBe(0);
    await remove(handle);
  });
});

test('a burst of more sandboxes than the pool has ready loses none', async () => {
  const many = await Promise.allSettled(Array.from({ length: 8 }, () => created({ shutdown_after_seconds: 120 })));
  const handles = many.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  expect(many.flatMap((each) => (each.status === 'rejected' ? [String(each.reason)] : []))).toEqual([]);
  const refused = await call('create_sandbox');
  expect([refused.isError, refused.text]).toEqual([true, expect.stringMatching(/^quota: /)]);
  await Promise.all(handles.map(remove));
  await poolFull();
});
