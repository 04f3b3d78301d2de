import { afterAll, describe, expect, test } from 'vitest';
import { createLog } from '../../../lib/log.ts';
import { KubernetesBackend } from '../../../mcp-servers/sandbox/kubernetes/backend.ts';
import { collectionPath, FakeCluster, namespace, readyStatus } from '../../../mcp-servers/sandbox/kubernetes/testing/fake-cluster.ts';
import { sandboxBackendSuite, suiteLimits, suiteSettings } from '../suite.ts';
import { missingForPods, Pod, podPorts } from './pods.ts';

const missing = missingForPods();
if (missing === undefined) defineAll();
else {
  process.stderr.write(`\n!!! ${missing}: THE KUBERNETES BACKEND IS NOT TESTED AGAINST sandboxd\n\n`);
  test('sandboxd is on this machine', (context) => {
    if (process.env['CI'] !== 'true') context.skip(missing);
    expect.fail(missing);
  });
}

function defineAll(): void {
  const pods = new Map<string, Pod>();
  let cluster: FakeCluster;

  async function open(): Promise<KubernetesBackend> {
    cluster = await FakeCluster.start({
      onClaim: async ({ metadata: { name } }) => {
        const pod = await Pod.start();
        pods.set(name, pod);
        cluster.setStatus(name, readyStatus(pod.address));
        if (cluster.claim(name) === undefined) await pod.kill();
      },
      onDelete: ({ metadata: { name } }) => void pods.get(name)?.kill(),
    });
    cluster.objects.set(collectionPath('sandboxtemplates', 'default'), template);
    const settings = { ...suiteSettings, namespace, warmpool: 'default', maxAgeMs: 3_600_000, maxIdleMs: 600_000, ports: podPorts };
    return new KubernetesBackend(settings, cluster.client(), createLog('test', 'silent'));
  }
  afterAll(async () => {
    await cluster.close();
    await Promise.all([...pods.values()].map((pod) => pod.kill()));
  });

  describe('the kubernetes backend with sandboxd', () => {
    const limits = { memoryBytes: suiteLimits.memoryBytes, diskBytes: suiteLimits.diskBytes, cpus: suiteLimits.cpus };
    sandboxBackendSuite(open, { isolated: false, files: 'workspace', limits });
  });
}

const template = {
  metadata: { name: 'default' },
  spec: {
    podTemplate: {
      spec: {
        runtimeClassName: 'gvisor',
        containers: [
          {
            image: 'toolyard-sandbox',
            resources: { limits: { memory: '256Mi', cpu: '1' } },
            securityContext: { runAsNonRoot: true },
            volumeMounts: [{ name: 'workspace', mountPath: '/workspace' }],
          },
        ],
        volumes: [{ name: 'workspace', emptyDir: { sizeLimit: '32Mi' } }],
      },
    },
    networkPolicy: { ingress: [], egress: [] },
  },
};
