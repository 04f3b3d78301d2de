import { createLog } from '../../../lib/log.ts';
import { KubernetesBackend, type KubernetesSettings } from '../../../mcp-servers/sandbox/kubernetes/backend.ts';
import { collectionPath, FakeCluster, namespace, readyStatus } from '../../../mcp-servers/sandbox/kubernetes/testing/fake-cluster.ts';
import { suiteSettings } from '../suite.ts';
import { Pod, podPorts } from './pods.ts';

/** A cluster of which only the API is played: each claim gets a pod with the real runtime. */
export class World {
  readonly cluster: FakeCluster;
  /** by claim */
  readonly pods: Map<string, Pod>;
  readonly #backends: KubernetesBackend[] = [];

  private constructor(cluster: FakeCluster, pods: Map<string, Pod>) {
    this.cluster = cluster;
    this.pods = pods;
  }

  static async start(): Promise<World> {
    const pods = new Map<string, Pod>();
    const cluster = await FakeCluster.start({
      onClaim: ({ metadata: { name } }) => void bind(name, pods, cluster),
      onDelete: ({ metadata: { name } }) => void pods.get(name)?.kill(),
    });
    cluster.objects.set(collectionPath('sandboxtemplates', 'default'), template);
    return new World(cluster, pods);
  }

  /** One replica of the server's backend. */
  replica(settings: Partial<KubernetesSettings> = {}): KubernetesBackend {
    const own = { namespace, warmpool: 'default', maxAgeMs: 3_600_000, maxIdleMs: 600_000, ports: podPorts };
    const backend = new KubernetesBackend({ ...suiteSettings, ...own, ...settings }, this.cluster.client(), createLog('test', 'silent'));
    this.#backends.push(backend);
    return backend;
  }

  pod(handle: string): Pod {
    const pod = this.pods.get(handle);
    if (pod === undefined) throw new Error(`no pod of ${handle}`);
    return pod;
  }

  /** As the controller does with a pod that is gone: a new one, with another address. */
  async replacePod(handle: string): Promise<void> {
    await this.pod(handle).kill();
    await bind(handle, this.pods, this.cluster);
  }

  async close(): Promise<void> {
    await Promise.all(this.#backends.map((backend) => backend.close()));
    await this.cluster.close();
    await Promise.all([...this.pods.values()].map((pod) => pod.kill()));
  }
}

async function bind(name: string, pods: Map<string, Pod>, cluster: FakeCluster): Promise<void> {
  const pod = await Pod.start();
  pods.set(name, pod);
  cluster.setStatus(name, readyStatus(pod.address));
  if (cluster.claim(name) === undefined) await pod.kill();
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
