import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { AGENT_SANDBOX } from './names.ts';
import { finished } from './output.ts';
import { installations } from './testing/installations.ts';
import type { Container, Kinds, Labels, Manifest, Pod, Workload } from './testing/objects.ts';
import type { ValuesInput } from './values.ts';

const NAMESPACE = 'tools';
const CLUSTER = ['ClusterRole', 'ClusterRoleBinding', 'ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding'];
const WITHOUT_NAMESPACE = new Set(['Namespace', 'RuntimeClass', ...CLUSTER]);
/** What talks to the API server. */
const WITH_TOKEN = ['operator', 'sandbox'];

function objectsOf(values: ValuesInput): readonly Manifest[] {
  return finished(values, NAMESPACE).flatMap(({ objects }) => objects as readonly Manifest[]);
}

function kindIn<K extends keyof Kinds>(objects: readonly Manifest[], ...kinds: readonly K[]): readonly Kinds[K][] {
  return objects.filter(({ kind }) => (kinds as readonly string[]).includes(kind)) as readonly Manifest[] as readonly Kinds[K][];
}

describe.each(Object.entries(installations))('%s', (_name, values) => {
  const objects = objectsOf(values);
  const of = <K extends keyof Kinds>(...kinds: readonly K[]) => kindIn(objects, ...kinds);
  const workloads = of('Deployment', 'StatefulSet');
  const own = <T extends Manifest>(manifests: readonly T[]) => manifests.filter(({ metadata }) => metadata.namespace === NAMESPACE);
  const named = workloads.map(({ metadata, spec }): [string, Workload['spec'], Pod, Container] => {
    const [container] = spec.template.spec.containers;
    if (container === undefined) throw new TypeError(`${metadata.name} has no container`);
    return [metadata.name, spec, spec.template.spec, container];
  });

  test('an object is there once', () => {
    const ids = objects.map(({ apiVersion, kind, metadata }) => `${apiVersion}/${kind}/${metadata.namespace ?? ''}/${metadata.name}`);
    expect(ids).toEqual([...new Set(ids)]);
  });

  test('every object belongs to toolyard, and to a namespace unless it is the cluster’s', () => {
    const astray = objects.filter(
      ({ kind, metadata: { labels, namespace } }) =>
        labels['app.kubernetes.io/part-of'] !== 'toolyard' || (namespace === undefined) !== WITHOUT_NAMESPACE.has(kind),
    );
    expect(astray).toEqual([]);
  });

  test.each(named)('%s runs as the Pod Security standard restricted wants it, on a read-only root', (_part, _spec, pod, container) => {
    expect(pod).toMatchObject({ securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } } });
    expect(pod.containers).toHaveLength(1);
    expect(container).toMatchObject({
      securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
    });
    const kinds = pod.volumes.flatMap((volume) => Object.keys(volume)).filter((key) => key !== 'name');
    expect(['emptyDir', 'secret', 'configMap']).toEqual(expect.arrayContaining(kinds));
    for (const forbidden of ['hostNetwork', 'hostPID', 'hostIPC']) expect(pod).not.toHaveProperty(forbidden);
  });

  test.each(named)('%s has requests and limits, and its scratch space is bounded', (_part, _spec, pod, { resources }) => {
    for (const amounts of [resources.requests, resources.limits])
      expect(Object.keys(amounts)).toEqual(expect.arrayContaining(['cpu', 'memory']));
    const unbounded = pod.volumes.filter(({ emptyDir }) => emptyDir !== undefined && !/^\d+Mi$/.test(emptyDir.sizeLimit ?? ''));
    expect(unbounded).toEqual([]);
  });

  test.each(named)('%s is probed, spread, and runs under an account of its own, with a token only if it needs one', (...args) => {
    const [part, spec, pod, container] = args;
    expect(Object.keys(container)).toEqual(expect.arrayContaining(['startupProbe', 'livenessProbe', 'readinessProbe']));
    for (const { labelSelector } of pod.topologySpreadConstraints) expect(labelSelector).toEqual(spec.selector);
    expect(pod.topologySpreadConstraints).not.toEqual([]);
    expect(pod.serviceAccountName).toBe(part);
    expect(of('ServiceAccount').filter(({ metadata }) => metadata.name === part)).toMatchObject([{ automountServiceAccountToken: false }]);
    expect(pod.automountServiceAccountToken).toBe(WITH_TOKEN.includes(part));
  });

  test.each(named)('%s runs an image of a certain version', (_part, _spec, _pod, { image }) => {
    expect(image).toMatch(/:(?!latest)[\w.-]+(?:@sha256:[0-9a-f]{64})?$/);
  });

  test.each(named)('every mount of %s is of a volume that is there, and every volume is mounted', (_part, spec, pod, { volumeMounts }) => {
    const claims = (spec.volumeClaimTemplates ?? []).map(({ metadata }) => metadata.name);
    const volumes = [...pod.volumes.map(({ name }) => name), ...claims];
    expect(volumes).toEqual([...new Set(volumes)]);
    expect(new Set(volumeMounts.map(({ name }) => name))).toEqual(new Set(volumes));
  });

  test.each(named)('no variable of %s is set twice or to nothing', (_part, _spec, _pod, { env }) => {
    const names = env.map(({ name }) => name);
    expect(names).toEqual([...new Set(names)]);
    // EMPTY is of the test's own values
    const empty = env.filter(({ name, value, valueFrom }) => name !== 'EMPTY' && (value ?? '') === '' && valueFrom === undefined);
    expect(empty).toEqual([]);
  });

  test('every selector selects pods that are there', () => {
    const selectors = [
      ...of('Service').map(({ spec }) => spec.selector),
      ...of('PodDisruptionBudget').map(({ spec }) => spec.selector.matchLabels),
      ...own(of('NetworkPolicy')).map(({ spec }) => spec.podSelector.matchLabels ?? {}),
    ];
    expect(selectors.filter((selector) => podsMatching(workloads, selector).length === 0)).toEqual([]);
    for (const { spec } of workloads) expect(podsMatching(workloads, spec.selector.matchLabels)).toEqual([spec.template.spec]);
  });

  test('every port of a Service is one of its pods’', () => {
    for (const { spec } of of('Service')) {
      const names = podsMatching(workloads, spec.selector).flatMap(({ containers }) =>
        containers.flatMap(({ ports }) => ports.map(({ name }) => name)),
      );
      expect(names).toEqual(expect.arrayContaining(spec.ports.map(({ targetPort }) => targetPort)));
    }
  });

  test('a disruption budget is there where there are several pods, and only there', () => {
    const least = ({ metadata, spec }: Workload) =>
      spec.replicas ??
      of('HorizontalPodAutoscaler').find(({ spec: { scaleTargetRef } }) => scaleTargetRef.name === metadata.name)?.spec.minReplicas ??
      0;
    const several = namesOf(workloads.filter((workload) => least(workload) > 1));
    expect(namesOf(of('PodDisruptionBudget'))).toEqual(several);
  });

  test('an autoscaler and a number of pods exclude each other', () => {
    const scaled = of('HorizontalPodAutoscaler').map(({ spec }) => spec.scaleTargetRef.name);
    expect(namesOf(workloads.filter(({ spec }) => spec.replicas === undefined))).toEqual(scaled);
  });

  test('unless policies are off, everything is denied first, and each part has rules of its own', () => {
    const wanted = values.networkPolicies?.enabled === false ? [] : ['toolyard-default-deny', ...namesOf(workloads)];
    expect(namesOf(own(of('NetworkPolicy')))).toEqual(wanted.toSorted());
    expect(of('NetworkPolicy').filter(({ spec }) => spec.policyTypes.join() !== 'Ingress,Egress')).toEqual([]);
  });

  test('no rule of a policy lets in everybody, or out to everywhere at every port', () => {
    const isOpen = (peers: readonly object[] | undefined) => peers === undefined || peers.length === 0;
    for (const { spec } of of('NetworkPolicy')) {
      expect((spec.ingress ?? []).filter(({ from }) => isOpen(from))).toEqual([]);
      expect((spec.egress ?? []).filter(({ to, ports }) => isOpen(to) && isOpen(ports))).toEqual([]);
    }
  });

  test('rights never cover everything or delete anything, and Secrets are read by name only', () => {
    const rules = of('Role', 'ClusterRole').flatMap((role) => role.rules);
    const words = rules.flatMap(({ resources, verbs }) => [...resources, ...verbs]);
    for (const word of ['*', 'deletecollection', 'escalate', 'bind', 'impersonate']) expect(words).not.toContain(word);
    const deletable = rules.filter(({ verbs }) => verbs.includes('delete')).flatMap(({ resources }) => resources);
    expect(deletable.filter((resource) => resource !== 'sandboxclaims')).toEqual([]);
    const ofSecrets = rules.filter(({ resources }) => resources.includes('secrets'));
    expect(ofSecrets.filter(({ verbs, resourceNames = [] }) => resourceNames.length === 0 && verbs.join() !== 'create')).toEqual([]);
  });

  test('rights in the whole cluster come with the policy that limits them, and only when they are asked for', () => {
    const cluster = objects.map(({ kind }) => kind).filter((kind) => CLUSTER.includes(kind));
    expect(cluster.toSorted()).toEqual(values.operator?.allNamespaces === true ? CLUSTER : []);
  });

  test('every binding is of a role that is there, to the part whose it is', () => {
    const roles = of('Role', 'ClusterRole').map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''} ${metadata.name}`);
    const bound = of('RoleBinding', 'ClusterRoleBinding').map(
      ({ roleRef, metadata }) => `${roleRef.kind} ${metadata.namespace ?? ''} ${roleRef.name}`,
    );
    expect(bound).toEqual(roles);
    for (const { metadata, subjects } of of('RoleBinding', 'ClusterRoleBinding')) {
      const name = metadata.labels['app.kubernetes.io/name'] ?? '';
      expect(subjects).toEqual([{ kind: 'ServiceAccount', name, namespace: NAMESPACE }]);
      expect(WITH_TOKEN).toContain(name);
    }
  });

  test('every Secret that a pod mounts or reads is the user’s, made by the operator, or made by cert-manager', () => {
    const made = generatedBy(workloads);
    const issued = of('Certificate').map(({ spec }) => spec.secretName);
    const { registry, fetch, postgresql, sandbox } = values;
    const ofServers = [fetch, sandbox].flatMap((server) => [server?.tlsSecret, server?.tokensSecret]);
    const given = [registry?.seedSecret, registry?.databaseUrlSecret, postgresql?.passwordSecret, sandbox?.handleKeySecret, ...ofServers];
    const used = workloads.flatMap(({ spec }) => secretsOf(spec.template.spec));
    expect([...made, ...issued, ...given]).toEqual(expect.arrayContaining(used));
    const all = [...made, ...issued];
    expect(all).toEqual([...new Set(all)]);
  });

  test('the address that is advertised is the installation’s', () => {
    const declared = of('ConfigMap').filter(({ metadata }) => metadata.labels['toolyard.dev/kind'] === 'server.json');
    const urls = declared.flatMap(({ data }) =>
      (JSON.parse(data?.['server.json'] ?? '') as { remotes: readonly { url: string }[] }).remotes.map(({ url }) => url),
    );
    const host = values.exposure?.host;
    const servers = (['fetch', 'sandbox'] as const).filter((part) => values[part]?.enabled ?? part === 'fetch');
    const wanted = servers.map((part) =>
      host === undefined ? `https://${part}.${NAMESPACE}.svc:8443/mcp` : `https://${host}/${part}/mcp`,
    );
    expect(urls).toEqual(values.catalog?.enabled === false ? [] : wanted);
  });
});

const withSandbox = Object.entries(installations).filter(([, values]) => values.sandbox?.enabled === true);
describe.each(withSandbox)('sandboxes: %s', (_name, values) => {
  const objects = objectsOf(values);
  const of = <K extends keyof Kinds>(...kinds: readonly K[]) => kindIn(objects, ...kinds);
  const namespace = values.sandboxNamespace ?? 'toolyard-sandboxes';
  const inside = <T extends Manifest>(manifests: readonly T[]) => manifests.filter(({ metadata }) => metadata.namespace === namespace);

  test('their namespace is there, insists on the standard restricted, and has none of the installation’s own pods', () => {
    const found = of('Namespace').find(({ metadata }) => metadata.name === namespace);
    expect(found?.metadata.labels).toMatchObject({ 'pod-security.kubernetes.io/enforce': 'restricted' });
    expect(inside(of('Deployment', 'StatefulSet', 'Service', 'ServiceAccount'))).toEqual([]);
  });

  test('they run as restricted wants it, on a read-only root, without a token, in the runtime class that was chosen', () => {
    const { podTemplate } = only(of('SandboxTemplate')).spec;
    const { spec: pod } = podTemplate;
    const [container, ...more] = pod.containers;
    expect(more).toEqual([]);
    expect(pod).toMatchObject({
      runtimeClassName: values.sandbox?.runtimeClass?.name ?? 'gvisor',
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      dnsPolicy: 'Default',
      securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
    });
    expect(container).toMatchObject({
      securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
    });
    for (const amounts of [container?.resources.requests, container?.resources.limits])
      expect(Object.keys(amounts ?? {})).toEqual(expect.arrayContaining(['cpu', 'memory']));
    expect(pod.volumes.map(({ name, emptyDir }) => [name, emptyDir?.medium, typeof emptyDir?.sizeLimit])).toEqual([
      ['workspace', 'Memory', 'string'],
      ['tmp', 'Memory', 'string'],
    ]);
  });

  test('they reach nothing, and only the sandbox server reaches them, whatever the other policies are', () => {
    expect(only(of('SandboxTemplate')).spec.networkPolicyManagement).toBe('Unmanaged');
    const { spec } = only(inside(of('NetworkPolicy')));
    expect(spec).toEqual({
      podSelector: {},
      policyTypes: ['Ingress', 'Egress'],
      ingress: [
        {
          from: [
            {
              namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': NAMESPACE } },
              podSelector: { matchLabels: { 'app.kubernetes.io/name': 'sandbox', 'app.kubernetes.io/part-of': 'toolyard' } },
            },
          ],
          ports: [
            { protocol: 'TCP', port: 9090 },
            { protocol: 'TCP', port: 8080 },
          ],
        },
      ],
    });
  });

  test('nobody may touch their pods or Secrets there', () => {
    const resources = inside(of('Role')).flatMap(({ rules }) => rules.flatMap((rule) => rule.resources));
    expect([...new Set(resources)].toSorted()).toEqual(['sandboxclaims', 'sandboxes', 'sandboxtemplates', 'sandboxwarmpools']);
  });
});

test('the image of sandboxes has the runtime of the release that they are made with', () => {
  const dockerfile = readFileSync(join(import.meta.dirname, '..', 'Dockerfile.sandbox'), 'utf8');
  expect(dockerfile).toContain(`FROM registry.k8s.io/agent-sandbox/sandboxd:v${AGENT_SANDBOX} AS runtime\n`);
});

test.each([{}, { registry: { kind: 'embedded' } }] satisfies readonly ValuesInput[])(
  'the heaps of a process and its workers leave a third of the memory limit to code and buffers: %j',
  (values) => {
    const containers = kindIn(objectsOf(values), 'Deployment', 'StatefulSet').flatMap(({ spec }) => spec.template.spec.containers);
    const own = containers.filter(({ image }) => image.startsWith('IMAGE_REGISTRY/'));
    const number = ({ env }: Container, name: string) =>
      Number(/\d+$/.exec(env.find((variable) => variable.name === name)?.value ?? '0')?.[0]);
    for (const container of own) {
      const workers = number(container, 'FETCH_MAX_WORKERS') * number(container, 'FETCH_WORKER_MEMORY_MIB');
      const limit = Number(container.resources.limits['memory']?.replace('Mi', ''));
      expect(number(container, 'NODE_OPTIONS')).toBeGreaterThan(0);
      expect(number(container, 'NODE_OPTIONS') + workers).toBeLessThanOrEqual((limit * 2) / 3);
    }
  },
);

test('the installations of these tests make every kind of object that there is', () => {
  const kinds = new Set(Object.values(installations).flatMap((values) => objectsOf(values).map(({ kind }) => kind)));
  expect([...kinds].toSorted()).toMatchInlineSnapshot(`
    [
      "Certificate",
      "ClusterRole",
      "ClusterRoleBinding",
      "ConfigMap",
      "Deployment",
      "HTTPRoute",
      "HorizontalPodAutoscaler",
      "Ingress",
      "Issuer",
      "Namespace",
      "NetworkPolicy",
      "PodDisruptionBudget",
      "ResourceQuota",
      "Role",
      "RoleBinding",
      "RuntimeClass",
      "SandboxTemplate",
      "SandboxWarmPool",
      "Service",
      "ServiceAccount",
      "ServiceMonitor",
      "StatefulSet",
      "ValidatingAdmissionPolicy",
      "ValidatingAdmissionPolicyBinding",
    ]
  `);
});

function only<T>(items: readonly T[]): T {
  expect(items).toHaveLength(1);
  return items[0] as T;
}

function namesOf(manifests: readonly Manifest[]): readonly string[] {
  return manifests.map(({ metadata }) => metadata.name).toSorted();
}

function podsMatching(workloads: readonly Workload[], selector: Labels): readonly Pod[] {
  const matches = (labels: Labels) => Object.entries(selector).every(([key, value]) => labels[key] === value);
  return workloads.filter(({ spec }) => matches(spec.template.metadata.labels)).map(({ spec }) => spec.template.spec);
}

function generatedBy(workloads: readonly Workload[]): readonly string[] {
  const variables = workloads.flatMap(({ spec }) => spec.template.spec.containers.flatMap(({ env }) => env));
  const generate = variables.find(({ name }) => name === 'GENERATE')?.value ?? '';
  return (JSON.parse(generate) as readonly { secret: string }[]).map(({ secret }) => secret);
}

function secretsOf({ volumes, containers }: Pod): readonly string[] {
  const mounted = volumes.map(({ secret }) => secret?.secretName);
  const read = containers.flatMap(({ env }) => env.map(({ valueFrom }) => valueFrom?.secretKeyRef?.name));
  return [...mounted, ...read].filter((name) => name !== undefined);
}
