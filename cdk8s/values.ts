import { z } from 'zod';
import { version } from '../lib/version.ts';

/** Stands in plain YAML where the address of a registry of images belongs; kustomize and Helm replace it. */
export const IMAGE_REGISTRY = 'IMAGE_REGISTRY';

type Shape = Readonly<Record<string, z.ZodType>>;

/** Several values under one name, each with a default of its own. */
function group<S extends Shape>(shape: S, description: string) {
  return z
    .strictObject(shape)
    .prefault({} as never)
    .describe(description);
}

interface TextOptions {
  /** @default '' */
  readonly initial?: string;
  /** what else than the empty string is taken @default anything */
  readonly pattern?: RegExp;
  /** said where a chart needs the value and it is empty @default it may be empty */
  readonly required?: string;
}

function text(description: string, { initial = '', pattern, required }: TextOptions = {}) {
  const schema = pattern === undefined ? z.string() : z.string().regex(new RegExp(`^$|${pattern.source}`));
  return schema.default(initial).meta({ description, ...(required !== undefined && { whenMissing: required }) });
}

const whole = (initial: number, min: number, description: string) => z.int().min(min).default(initial).describe(description);
const flag = (initial: boolean, description: string) => z.boolean().default(initial).describe(description);
const strings = (description: string) => z.array(z.string().min(1)).default([]).describe(description);
const map = (description: string) => z.record(z.string(), z.string()).default({}).describe(description);
/** What goes into an object as it is, in Kubernetes' own form. */
const block = (description: string) => z.record(z.string(), z.unknown()).default({}).describe(description);
const blocks = (description: string) => z.array(z.record(z.string(), z.unknown())).default([]).describe(description);

const HOST = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}$/;
const OBJECT_NAME = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/;
const NAMESPACE = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

const secret = (description: string) => text(description, { pattern: OBJECT_NAME });
const namespaces = (description: string) => z.array(z.string().regex(NAMESPACE)).default([]).describe(description);
const cidrs = (description: string) =>
  z
    .array(z.string().regex(/^[0-9a-f.:]+\/\d{1,3}$/i))
    .default([])
    .describe(description);

const quantity = z.union([z.string(), z.number()]);
type Amounts = Readonly<Record<string, string | number>>;

function resources(requests: Amounts, limits: Amounts) {
  const amounts = z.record(z.string(), quantity);
  return z
    .strictObject({ requests: amounts, limits: amounts })
    .default({ requests: { ...requests }, limits: { ...limits } })
    .meta({ block: true, description: 'requests and limits of its container' });
}

/** What people set on the pods of any part. */
const scheduling = {
  nodeSelector: map('labels that its nodes must have'),
  tolerations: blocks('taints that its pods tolerate'),
  affinity: block('affinity of its pods'),
  priorityClassName: text('priority class of its pods'),
  podAnnotations: map('annotations of its pods'),
  podLabels: map('further labels of its pods'),
  extraEnv: blocks("further environment variables of its container, in the form of a container's env; see docs/configuration.md"),
};

const HEAP = 'heap of its Node process, MiB; well under the memory limit, since buffers and code come on top';

const storage = (size: string) => ({
  size: text('size of its volume', { initial: size }),
  storageClassName: text("storage class of its volume; empty takes the cluster's default"),
});

const operator = group(
  {
    replicas: whole(2, 1, 'one works, the others stand by'),
    namespaces: namespaces(
      'further namespaces whose ConfigMaps are declarations; they must exist. Its own namespace always counts. A Role is made in each',
    ),
    allNamespaces: flag(
      false,
      'take declarations from every namespace: makes a ClusterRole, and a ValidatingAdmissionPolicy that keeps the operator to the labels and annotations of declarations',
    ),
    namePolicy: z
      .record(z.string(), z.array(z.string().min(1)))
      .default({})
      .describe('names of records that each namespace may declare, * for namespaces that are not listed: {team-a: ["com.example.a/*"]}'),
    probeIntervalSeconds: whole(30, 1, 'time between two handshakes with a server that answers'),
    immutableVersions: flag(false, 'refuse to change a published version'),
    probeAllow: group(
      {
        cidrs: cidrs('private address blocks that may be probed'),
        hosts: strings('host names that may be probed whatever their addresses; where those are private, name them in cidrs too'),
        namespaces: namespaces('namespaces whose Services any namespace may declare'),
      },
      'addresses that may be probed besides public ones and Services of the declaring namespace',
    ),
    heapMiB: whole(192, 64, HEAP),
    resources: resources({ cpu: '50m', memory: '192Mi' }, { cpu: '1', memory: '384Mi' }),
    ...scheduling,
  },
  'the operator',
);

/** What each MCP server has; its /tmp is small, its pods are all alike. */
const serverValues = (made: string) => ({
  replicas: whole(2, 1, 'number of pods; without effect while autoscaling is on'),
  autoscaling: group(
    {
      enabled: flag(false, 'let a HorizontalPodAutoscaler set the number of pods'),
      minReplicas: whole(2, 1, 'fewest pods'),
      maxReplicas: whole(10, 1, 'most pods'),
      cpuPercent: whole(70, 1, 'use of the requested CPU that it aims at, percent'),
    },
    'number of pods by load',
  ),
  tlsSecret: secret(`Secret with its certificate, type kubernetes.io/tls; empty: ${made} is made`),
  tokensSecret: secret(
    'Secret whose key tokens.json names who may call (AUTH=tokens); empty admits everybody whom the network lets through',
  ),
});

const fetch = group(
  {
    enabled: flag(true, 'run the fetch server, and declare it'),
    ...serverValues('toolyard-fetch-tls'),
    allowOrigins: strings(
      'origins that may be fetched from though their addresses are private: http://wiki.corp; their addresses belong into networkPolicies.fetchEgress',
    ),
    ignoreRobots: flag(false, "fetch also what a site's robots.txt disallows"),
    maxWorkers: whole(2, 1, 'pages converted at once, each in a process of its own'),
    workerMemoryMiB: whole(256, 32, 'heap of such a process, MiB; maxWorkers times as much has to fit the memory limit besides the server'),
    heapMiB: whole(256, 64, HEAP),
    resources: resources({ cpu: '100m', memory: '384Mi' }, { cpu: '2', memory: '1280Mi' }),
    ...scheduling,
  },
  'the fetch server',
);

const { extraEnv: _, ...podScheduling } = scheduling;

const sandbox = group(
  {
    enabled: flag(false, 'run the sandbox server with a warm pool, and declare it; agent-sandbox and the runtime class have to be there'),
    ...serverValues('toolyard-sandbox-tls'),
    handleKeySecret: secret(
      'Secret with the key that names of sandboxes are derived from, 64 hexadecimal digits under the key key; empty: toolyard-sandbox-key is made',
    ),
    perCaller: whole(8, 1, 'sandboxes that one caller may have at once; without tokensSecret all callers are one'),
    inAll: whole(32, 1, 'sandboxes that there may be at once'),
    idleSeconds: whole(3600, 1, 'longest time a caller may let a sandbox go unused'),
    maxAgeSeconds: whole(14_400, 1, 'longest time a sandbox may live, however much it is used'),
    runtimeClass: group(
      {
        name: text('runtime class of sandboxes', { initial: 'gvisor', pattern: OBJECT_NAME }),
        create: flag(false, 'make the RuntimeClass too, with the handler runsc; the nodes must have that in any case'),
      },
      'what holds sandboxes',
    ),
    pool: group(
      {
        replicas: whole(3, 0, 'sandboxes kept ready for the next caller'),
        imageTag: text('tag of the image toolyard-sandbox beside toolyard in image.registry, also with a digest', { initial: version }),
        workspaceSize: text('size of /workspace, part of the memory limit', { initial: '128Mi' }),
        tmpSize: text('size of /tmp, part of the memory limit', { initial: '128Mi' }),
        resources: resources({ cpu: '25m', memory: '96Mi' }, { cpu: '1', memory: '512Mi' }),
        ...podScheduling,
      },
      'the pods that sandboxes are; image.pullSecrets have to be in sandboxNamespace too',
    ),
    quota: group(
      {
        claims: whole(40, 1, 'claims; a little over inAll, for those that are being deleted'),
        pods: whole(60, 1, 'pods: claimed ones, the pool, and those that are being deleted'),
        memory: text('memory limits of all pods together', { initial: '30Gi' }),
      },
      'most that there may be in sandboxNamespace, whoever asks: its ResourceQuota',
    ),
    heapMiB: whole(192, 64, HEAP),
    resources: resources({ cpu: '100m', memory: '192Mi' }, { cpu: '1', memory: '384Mi' }),
    ...scheduling,
  },
  'the sandbox server',
);

const registry = group(
  {
    kind: z
      .enum(['official', 'embedded', 'external'])
      .default('official')
      .describe(
        'official: the official MCP registry with PostgreSQL; embedded: one process with SQLite; external: the one at registry.url',
      ),
    url: text('address of an external registry, without /v0.1', {
      pattern: /^https?:\/\/\S+$/,
      required: 'registry.url is needed when registry.kind is external: the address of the registry, without /v0.1',
    }),
    seedSecret: secret(
      "Secret with the registry's signing seed, 64 hexadecimal digits under the key seed; empty: toolyard-registry is made. An external registry's has to be given",
    ),
    image: text('the official registry', { initial: 'ghcr.io/modelcontextprotocol/registry:1.8.8' }),
    replicas: whole(1, 1, 'pods of the official registry'),
    maxConnections: whole(20, 1, "connections to PostgreSQL of each pod; PostgreSQL's own limit is 100 unless set otherwise"),
    validatePackages: flag(false, 'the official registry asks npm, PyPI and others whether a declared package exists: needs the internet'),
    databaseUrlSecret: secret('Secret with the address of a PostgreSQL of your own under the key url; empty: one is run here'),
    ...storage('1Gi'),
    heapMiB: whole(192, 64, `embedded registry: ${HEAP}`),
    resources: resources({ cpu: '50m', memory: '192Mi' }, { cpu: '1', memory: '384Mi' }),
    ...scheduling,
  },
  'the registry; size and storageClassName are for the embedded one',
);

const postgresql = group(
  {
    image: text('PostgreSQL 15 or newer on Debian', { initial: 'docker.io/library/postgres:17-bookworm' }),
    user: whole(999, 1, 'user id that it runs as, and group of its volume'),
    passwordSecret: secret(
      'Secret with its password under the key password, without characters that URLs escape; empty: toolyard-database is made',
    ),
    ...storage('8Gi'),
    resources: resources({ cpu: '100m', memory: '256Mi' }, { cpu: '1', memory: '512Mi' }),
    ...scheduling,
  },
  "the official registry's database, unless registry.databaseUrlSecret is set",
);

const networkPolicies = group(
  {
    enabled: flag(
      true,
      'make NetworkPolicies: everything that is not listed in docs/kubernetes.md is denied. That of sandboxes is always made',
    ),
    dns: group(
      {
        peers: z
          .array(z.record(z.string(), z.unknown()))
          .default([
            {
              namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } },
              podSelector: { matchLabels: { 'k8s-app': 'kube-dns' } },
            },
          ])
          .describe('its pods, as peers of a NetworkPolicy'),
        cidrs: cidrs('its addresses, where it is not in such pods: 169.254.20.10/32 for NodeLocal DNSCache'),
        ports: z.array(z.int().min(1).max(65_535)).min(1).default([53]).describe('its ports'),
      },
      'where names are resolved',
    ),
    apiServer: group(
      {
        cidrs: cidrs("the API server's addresses, as kubectl get endpointslices -n default shows them; empty: any address on these ports"),
        ports: z.array(z.int().min(1).max(65_535)).min(1).default([443, 6443]).describe('its ports'),
      },
      'where operator and sandbox server reach the API server',
    ),
    clusterCidrs: group(
      {
        ipv4: cidrs("the cluster's own IPv4 blocks, as far as they are public addresses"),
        ipv6: cidrs("the cluster's own IPv6 blocks, as far as they lie in 2000::/3"),
      },
      'addresses that fetch must not reach and the operator need not',
    ),
    fetchEgress: blocks('further egress rules of the fetch server'),
    sandboxEgress: blocks('further egress rules of the sandbox server; sandboxes themselves reach nothing'),
    operatorEgress: blocks('further egress rules of the operator'),
    registryEgress: blocks('further egress rules of the registry, for a database of your own'),
  },
  'what may reach what',
);

const exposure = group(
  {
    kind: z
      .enum(['none', 'gateway', 'ingress'])
      .default('none')
      .describe('reach registry and servers from outside: by an HTTPRoute, or by an Ingress'),
    host: text(
      'public host name; the registry is at https://HOST/v0.1, servers at https://HOST/fetch/mcp and https://HOST/sandbox/mcp, and records say so',
      {
        pattern: HOST,
        required: 'exposure.host is needed when exposure.kind is not none: the public host name',
      },
    ),
    fromNamespace: text('namespace of the pods that pass requests on: the gateway or the ingress controller', {
      pattern: NAMESPACE,
      required: 'exposure.fromNamespace is needed when exposure.kind is not none: the namespace of the gateway or the ingress controller',
    }),
    gateway: group(
      {
        name: text('the Gateway', { required: 'exposure.gateway.name is needed when exposure.kind is gateway' }),
        namespace: text('its namespace', { required: 'exposure.gateway.namespace is needed when exposure.kind is gateway' }),
      },
      'kind gateway: the Gateway of Gateway API that the HTTPRoutes attach to; it ends TLS',
    ),
    ingress: group(
      {
        className: text('class of the Ingress', { required: 'exposure.ingress.className is needed when exposure.kind is ingress' }),
        annotations: map('its annotations'),
        tlsSecret: text('Secret with the certificate of the host', {
          required: 'exposure.ingress.tlsSecret is needed when exposure.kind is ingress: records advertise https addresses only',
        }),
      },
      'kind ingress',
    ),
  },
  'addresses outside of the cluster',
);

/** Everything that can be set about an installation; also the shape of the Helm chart's values. */
export const valuesSchema = z.strictObject({
  image: group(
    {
      registry: text('registry and path before /toolyard of the image that you built and pushed: registry.example.com/team', {
        required: 'image.registry is needed: where you pushed the image toolyard, such as registry.example.com/team',
      }),
      tag: text('its tag, also with a digest: 0.1.0@sha256:…', { initial: version }),
      pullPolicy: z.enum(['IfNotPresent', 'Always', 'Never']).default('IfNotPresent').describe('when nodes pull images'),
      pullSecrets: z
        .array(z.strictObject({ name: z.string() }))
        .default([])
        .describe('Secrets to pull images with: [{name: …}]'),
    },
    'the image of operator, servers and embedded registry',
  ),
  install: z
    .string()
    .regex(NAMESPACE)
    .refine((name) => name !== 'true')
    .default('toolyard')
    .describe('name of this installation, written into each record; must differ where several share a registry'),
  logLevel: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace']).default('info').describe('least serious log entries to write'),
  listenHost: z.enum(['0.0.0.0', '::']).default('0.0.0.0').describe('address that the parts listen on; :: where pods have IPv6 addresses'),
  clusterDomain: text('domain of the cluster', { initial: 'cluster.local' }),
  operator,
  fetch,
  registry,
  postgresql,
  sandbox,
  sandboxNamespace: z
    .string()
    .regex(NAMESPACE)
    .default('toolyard-sandboxes')
    .describe('namespace of sandboxes and their claims, for nothing else; it must exist, and not be that of the installation'),
  catalog: group({ enabled: flag(true, 'declare the servers that run here, so that they are in the registry') }, 'declarations that ship'),
  certificates: group(
    {
      issuer: z
        .enum(['operator', 'cert-manager'])
        .default('operator')
        .describe('who makes certificates: the operator with an authority of its own, or cert-manager, which has to be there'),
      issuerRef: block('cert-manager: an Issuer or ClusterIssuer of yours; empty makes an authority for this installation'),
    },
    'certificates inside the cluster',
  ),
  extraCA: group(
    {
      configMap: secret(
        'ConfigMap with certificates that operator and fetch trust besides those of the system; with an external registry or servers of yours',
      ),
      key: text('its key', { initial: 'ca.crt' }),
    },
    'further certificate authorities',
  ),
  networkPolicies,
  metrics: group(
    {
      fromNamespaces: namespaces('namespaces whose pods may read metrics; none by default'),
      serviceMonitor: group(
        {
          enabled: flag(false, "make ServiceMonitors, for the Prometheus operator's CRDs, which have to be there"),
          interval: text('time between two readings', { initial: '30s' }),
          labels: map('labels by which your Prometheus finds them'),
        },
        'for the Prometheus operator',
      ),
    },
    'metrics',
  ),
  exposure,
  global: block('values of a chart that has this one as its part; not used here'),
});

export type Values = z.output<typeof valuesSchema>;
export type ValuesInput = z.input<typeof valuesSchema>;
/** What the values of each part have in common. */
export type PartValues = Pick<Values['operator'], 'resources' | keyof typeof scheduling>;

/**
 * Completes values with the defaults.
 * @throws ZodError naming every fault with its path
 */
export function readValues(given: ValuesInput = {}): Values {
  return valuesSchema.parse(given);
}
