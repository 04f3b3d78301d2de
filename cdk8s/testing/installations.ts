import type { ValuesInput } from '../values.ts';

/** Values that between them make every object and take every branch; each a valid installation. */
export const installations: Readonly<Record<string, ValuesInput>> = {
  defaults: {},
  'embedded registry, another namespace listening on IPv6': {
    registry: { kind: 'embedded', storageClassName: 'fast', size: '2Gi' },
    listenHost: '::',
    image: { tag: '9.9.9@sha256:0000000000000000000000000000000000000000000000000000000000000000', pullSecrets: [{ name: 'pull' }] },
  },
  'external registry, own certificates': {
    registry: { kind: 'external', url: 'https://registry.example.com', seedSecret: 'seed-of-ours' },
    fetch: { tlsSecret: 'fetch-tls', tokensSecret: 'tokens', allowOrigins: ['http://wiki.corp', 'http://a.corp:8080'], ignoreRobots: true },
    extraCA: { configMap: 'company-ca', key: 'bundle.pem' },
    catalog: { enabled: false },
  },
  'every namespace, Gateway API, metrics': {
    operator: { allNamespaces: true, namePolicy: { 'team-a': ['com.example.a/*'], '*': ['org.example/<*>&'] }, immutableVersions: true },
    exposure: { kind: 'gateway', host: 'tools.example.com', fromNamespace: 'gateways', gateway: { name: 'public', namespace: 'gateways' } },
    metrics: {
      fromNamespaces: ['monitoring', 'grafana'],
      serviceMonitor: { enabled: true, labels: { release: 'prometheus' }, interval: '10s' },
    },
  },
  'chosen namespaces, Ingress, a database of its own': {
    operator: {
      namespaces: ['team-a', 'team-b'],
      probeAllow: { cidrs: ['10.1.0.0/16'], hosts: ['mcp.corp'], namespaces: ['shared'] },
      probeIntervalSeconds: 5,
    },
    exposure: {
      kind: 'ingress',
      host: 'tools.example.com',
      fromNamespace: 'ingress',
      ingress: { className: 'nginx', tlsSecret: 'public-tls', annotations: { 'example.com/timeout': '60' } },
    },
    registry: { databaseUrlSecret: 'database-url', replicas: 3, validatePackages: true },
    networkPolicies: {
      dns: { cidrs: ['169.254.20.10/32'], ports: [53, 5353], peers: [] },
      apiServer: { cidrs: ['10.9.0.1/32', '10.9.0.2/32'], ports: [6443] },
      clusterCidrs: { ipv4: ['8.8.0.0/16'], ipv6: ['2a00::/32'] },
      registryEgress: [{ to: [{ ipBlock: { cidr: '10.5.0.0/24' } }], ports: [{ protocol: 'TCP', port: 5432 }] }],
      fetchEgress: [{ to: [{ ipBlock: { cidr: '10.6.0.0/24' } }] }],
      operatorEgress: [{ to: [{ ipBlock: { cidr: '10.7.0.0/24' } }] }],
    },
  },
  'cert-manager, autoscaling, own passwords': {
    certificates: { issuer: 'cert-manager' },
    fetch: { autoscaling: { enabled: true, minReplicas: 3, maxReplicas: 4, cpuPercent: 50 }, maxWorkers: 4 },
    postgresql: { passwordSecret: 'password-of-ours', user: 1234, image: 'postgres:18-trixie' },
  },
  "cert-manager with an issuer of the user's, one pod each, no policies": {
    certificates: { issuer: 'cert-manager', issuerRef: { kind: 'ClusterIssuer', name: 'company' } },
    operator: { replicas: 1 },
    fetch: { replicas: 1 },
    networkPolicies: { enabled: false },
  },
  'every setting of pods': {
    operator: podSettings(),
    fetch: podSettings(),
    registry: podSettings(),
    postgresql: podSettings(),
    sandbox: { enabled: true, ...podSettings(), pool: poolSettings() },
    logLevel: 'debug',
    install: 'blue',
    clusterDomain: 'cluster.example',
  },
  'no fetch server': { fetch: { enabled: false } },
  'the sandbox': { sandbox: { enabled: true } },
  'the sandbox without fetch, its runtime class, cert-manager, a public address': {
    sandbox: {
      enabled: true,
      autoscaling: { enabled: true },
      runtimeClass: { name: 'runsc', create: true },
      pool: { replicas: 0, imageTag: '1.2.3', workspaceSize: '1Gi' },
      quota: { claims: 5, pods: 1_000_000, memory: '3Gi' },
    },
    sandboxNamespace: 'guests',
    fetch: { enabled: false },
    certificates: { issuer: 'cert-manager' },
    exposure: { kind: 'gateway', host: 'tools.example.com', fromNamespace: 'gateways', gateway: { name: 'public', namespace: 'gateways' } },
    networkPolicies: {
      apiServer: { cidrs: ['10.9.0.1/32'] },
      sandboxEgress: [{ to: [{ ipBlock: { cidr: '10.8.0.0/24' } }] }],
    },
    metrics: { fromNamespaces: ['monitoring'], serviceMonitor: { enabled: true } },
  },
  'the sandbox with keys and limits of the user, no policies': {
    sandbox: {
      enabled: true,
      replicas: 1,
      tlsSecret: 'sandbox-tls',
      tokensSecret: 'tokens',
      handleKeySecret: 'handle-key',
      perCaller: 2,
      inAll: 100,
      idleSeconds: 60,
      maxAgeSeconds: 600,
    },
    image: { pullSecrets: [{ name: 'pull' }] },
    extraCA: { configMap: 'company-ca' },
    networkPolicies: { enabled: false },
  },
};

function poolSettings() {
  const { extraEnv: _, ...settings } = podSettings();
  return settings;
}

function podSettings() {
  return {
    nodeSelector: { 'kubernetes.io/os': 'linux' },
    tolerations: [{ key: 'tools', operator: 'Exists' }],
    affinity: { nodeAffinity: {} },
    priorityClassName: 'high',
    podAnnotations: { 'example.com/note': 'yes', 'example.com/braces': '{{ not for Helm }}' },
    podLabels: { team: 'tools' },
    extraEnv: [{ name: 'TZ', value: 'UTC' }, { name: 'EMPTY' }],
    resources: { requests: { cpu: '1', memory: '512Mi' }, limits: { cpu: '1', memory: '512Mi', 'ephemeral-storage': '1Gi' } },
  };
}
