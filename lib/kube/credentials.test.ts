import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { kubeconfigAccess, podAccess } from './credentials.ts';

let root: string;
const env = { KUBERNETES_SERVICE_HOST: '10.96.0.1', KUBERNETES_SERVICE_PORT: '443' };

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'toolyard-access-'));
});

afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

test("in a Pod the ServiceAccount's token is read again after a while, and at once when it was refused", async () => {
  await writeFile(join(root, 'ca.crt'), 'a certificate');
  await writeFile(join(root, 'token'), 'one\n');
  let now = 0;
  const access = await podAccess(env, root, () => now);
  expect(access).toMatchObject({ url: 'https://10.96.0.1:443', tls: { ca: 'a certificate' } });
  expect(await access?.headers(false)).toEqual({ authorization: 'Bearer one' });
  await writeFile(join(root, 'token'), 'two');
  expect(await access?.headers(false)).toEqual({ authorization: 'Bearer one' });
  expect(await access?.headers(true)).toEqual({ authorization: 'Bearer two' });
  await writeFile(join(root, 'token'), 'three');
  now = 30_000;
  expect(await access?.headers(false)).toEqual({ authorization: 'Bearer three' });
});

test('outside a Pod there is none, and a Pod without a token is told what to do', async () => {
  expect(await podAccess({}, root)).toBeUndefined();
  await expect(podAccess(env, root)).rejects.toThrow('automountServiceAccountToken');
  await writeFile(join(root, 'ca.crt'), '');
  await writeFile(join(root, 'token'), '');
  expect((await podAccess({ ...env, KUBERNETES_SERVICE_HOST: 'fd00::1' }, root))?.url).toBe('https://[fd00::1]:443');
});

test('a kubeconfig gives address, certificates and token of a context, and one that is not there is named', async () => {
  const file = join(root, 'config');
  const cluster = { server: 'https://127.0.0.1:6443/', 'certificate-authority-data': Buffer.from('a certificate').toString('base64') };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user: { token: 'mine' } }],
    contexts: [{ name: 'here', context: { cluster: 'c', user: 'u', namespace: 'team' } }],
    'current-context': 'here',
  };
  await writeFile(file, JSON.stringify(config));
  const access = await kubeconfigAccess({ file });
  expect(access).toMatchObject({ url: 'https://127.0.0.1:6443', tls: { ca: 'a certificate' }, namespace: 'team' });
  expect(await access.headers(false)).toEqual({ authorization: 'Bearer mine' });
  await expect(kubeconfigAccess({ file, context: 'there' })).rejects.toThrow('has no context there; it has here');
});
