import { objectPath, paths, type ConfigMap } from '../../lib/kube/objects.ts';
import { KubeClient } from '../../lib/kube/client.ts';
import { reflectorContract } from '../../operator/kube/testing/reflector-contract.ts';
import { ApiServer } from './api-server.ts';
import { Link } from './link.ts';

reflectorContract(async () => {
  const api = await ApiServer.start();
  const link = await Link.start(api.port);
  const admin = api.client();
  let lists = 0;
  const client = new KubeClient({
    access: api.access('admin', link.port),
    onCall: ({ verb, code }) => {
      if (verb === 'list' && code === '200') lists += 1;
    },
  });
  const configMaps = paths.configMaps('default');
  return {
    client,
    put: async (name, labels, value) => {
      const metadata = { name, namespace: 'default', labels };
      const object: ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { value } };
      await admin.apply(objectPath(configMaps, name), object, { fieldManager: 'test', force: true });
    },
    remove: (name) => admin.delete(objectPath(configMaps, name)),
    cut: async () => link.cut(),
    whileAway: async (work) => {
      link.shut();
      await work();
      // a new process has no events from before its start, and what etcd compacted is nowhere else
      await api.compact();
      await api.kill();
      await api.up();
      link.reopen();
    },
    // two pages make a list here
    lists: async () => Math.ceil(lists / 2),
    close: async () => {
      await client.close();
      await admin.close();
      await link.close();
      await api.close();
    },
  };
});
