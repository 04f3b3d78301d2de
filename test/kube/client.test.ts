import { afterAll, beforeAll, expect, test } from 'vitest';
import type { KubeClient } from '../../lib/kube/client.ts';
import { objectPath, paths, type ConfigMap } from '../../lib/kube/objects.ts';
import { ApiServer } from './api-server.ts';

let server: ApiServer;
let client: KubeClient;
const configMaps = paths.configMaps('default');

beforeAll(async () => {
  server = await ApiServer.start(['nobody']);
  client = server.client();
});

afterAll(async () => {
  await client.close();
  await server.close();
});

function configMap(name: string, fields: Partial<ConfigMap> = {}): ConfigMap {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default' }, ...fields };
}

test('what goes wrong has a code', async () => {
  const made = await client.create(configMaps, configMap('one'));
  await expect(client.create(configMaps, configMap('one'))).rejects.toMatchObject({ code: 'exists' });
  await expect(client.get(objectPath(configMaps, 'absent'))).rejects.toMatchObject({ code: 'not-found' });
  expect(await client.find(objectPath(configMaps, 'absent'))).toBeUndefined();
  await client.replace(objectPath(configMaps, 'one'), { ...made, data: { a: 'b' } });
  await expect(client.replace(objectPath(configMaps, 'one'), made)).rejects.toMatchObject({ code: 'conflict' });
  await expect(client.create(configMaps, configMap('Not A Name'))).rejects.toMatchObject({ code: 'invalid', status: 422 });
  const nobody = server.client('nobody');
  await expect(nobody.list(configMaps)).rejects.toMatchObject({ code: 'forbidden' });
  await nobody.close();
  const stranger = server.client('stranger');
  await expect(stranger.list(configMaps)).rejects.toMatchObject({ code: 'unauthorized' });
  await stranger.close();
});

test('an apply with a uid makes no object that is gone, and none that took its name', async () => {
  const { metadata } = await client.create(configMaps, configMap('gone'));
  const path = objectPath(configMaps, 'gone');
  const fields = configMap('gone', { metadata: { ...configMap('gone').metadata, uid: metadata.uid ?? '', annotations: { a: 'b' } } });
  await client.delete(path);
  await expect(client.apply(path, fields, { fieldManager: 'x' })).rejects.toMatchObject({ code: 'conflict' });
  expect(await client.find(path)).toBeUndefined();
  await client.create(configMaps, configMap('gone'));
  await expect(client.apply(path, fields, { fieldManager: 'x' })).rejects.toMatchObject({ code: 'invalid' });
});

test('a field of another manager is a conflict', async () => {
  await client.create(configMaps, configMap('shared'));
  const path = objectPath(configMaps, 'shared');
  const fields = (value: string) => configMap('shared', { metadata: { name: 'shared', namespace: 'default', annotations: { a: value } } });
  await client.apply(path, fields('1'), { fieldManager: 'one' });
  await expect(client.apply(path, fields('2'), { fieldManager: 'two' })).rejects.toMatchObject({ code: 'conflict' });
});
