import { describe, expect, test } from 'vitest';
import { finished } from './output.ts';
import { installations } from './testing/installations.ts';

interface Manifest {
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly labels?: Labels };
  readonly spec?: Any;
  readonly rules?: readonly Rule[];
  readonly data?: Readonly<Record<string, string>>;
  readonly subjects?: readonly { readonly name: string; readonly namespace: string }[];
  readonly roleRef?: { readonly kind: string; readonly name: string };
}
type Labels = Readonly<Record<string, string>>;
// what is asked of it is what the tests are about
// oxlint-disable-next-line typescript/no-explicit-any
type Any = any;

interface Rule {
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

const NAMESPACE = 'tools';
const CLUSTER_SCOPED = [
  'Namespace',
  'ClusterRole',
  'ClusterRoleBinding',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
] as const;

function objectsOf(values: (typeof installations)[string]): readonly Manifest[] {
  return finished(values, NAMESPACE).flatMap(({ objects }) => objects as readonly Manifest[]);
}

describe.each(Object.entries(installations))('%s', (_name, values) => {
  const objects = objectsOf(values);
  const of = (...kinds: readonly string[]) => objects.filter(({ kind }) => kinds.includes(kind));
  const workloads = of('Deployment', 'StatefulSet');
  const named = workloads.map((workload): [string, Manifest] => [workload.metadata.name, workload]);

  test('an object is there once', () => {
    const ids = objects.map(({ apiVersion, kind, metadata }) => `${apiVersion}/${kind}/${metadata.namespace ?? ''}/${metadata.name}`);
    expect(ids).toEqual([...new Set(ids)]);
  });

  test('every object belongs to toolyard, and to a namespace unless it is the cluster’s', () => {
    for (const { kind, metadata } of objects) {
      expect(metadata.labels, metadata.name).toMatchObject({ 'app.kubernetes.io/part-of': 'toolyard' });
      expect(metadata.namespace === undefined, `${kind} ${metadata.name}`).toBe((CLUSTER_SCOPED as readonly string[]).includes(kind));
    }
  });

  test.each(named)('%s runs as the Pod Security standard restricted wants it, on a read-only root', (_part, { spec }) => {
    const pod = spec.template.spec;
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    expect(pod.hostNetwork ?? pod.hostPID ?? pod.hostIPC).toBeUndefined();
    for (const container of pod.containers) {
      expect(container.securityContext).toMatchObject({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(container.ports.every((port: Any) => port.hostPort === undefined)).toBe(true);
    }
    const kinds = pod.volumes.flatMap((volume: Any) => Object.keys(volume)).filter((key: string) => key !== 'name');
    expect(['emptyDir', 'secret', 'configMap']).toEqual(expect.arrayContaining(kinds));
  });

  test.each(named)('%s has requests and limits, and its scratch space is bounded', (_part, { spec }) => {
    const pod = spec.template.spec;
    for (const { resources } of pod.containers) {
      expect(Object.keys(resources.requests)).toEqual(['cpu', 'memory']);
      expect(Object.keys(resources.limits)).toEqual(expect.arrayContaining(['cpu', 'memory']));
    }
    for (const volume of pod.volumes) expect(volume.emptyDir?.sizeLimit ?? 'none needed').toMatch(/^\d+Mi$|none needed/);
  });

  test.each(named)('the heap of %s leaves a third of its memory limit to code, buffers and workers', (_part, { spec }) => {
    const [{ env, resources }] = spec.template.spec.containers;
    const heap = /--max-old-space-size=(\d+)/.exec(env.find(({ name }: Any) => name === 'NODE_OPTIONS')?.value ?? '')?.[1];
    const isOurs = spec.template.spec.containers[0].image.startsWith('IMAGE_REGISTRY/');
    expect(heap !== undefined).toBe(isOurs);
    const workers = ['FETCH_MAX_WORKERS', 'FETCH_WORKER_MEMORY_MIB'].map((name) =>
      Number(env.find((one: Any) => one.name === name)?.value ?? 0),
    );
    const asked = Number(heap ?? 0) + (workers[0] ?? 0) * (workers[1] ?? 0);
    const limit = Number(/^(\d+)Mi$/.exec(resources.limits.memory)?.[1]);
    // where a test sets more workers, or less memory, the user said so
    if (values.fetch?.maxWorkers === undefined && values.fetch?.resources === undefined) expect(asked).toBeLessThanOrEqual((limit * 2) / 3);
  });

  test.each(named)(
    '%s is probed, spread, and runs under an account of its own, with a token only if it is the operator',
    (part, { spec }) => {
      const pod = spec.template.spec;
      for (const container of pod.containers) {
        expect(Object.keys(container)).toEqual(expect.arrayContaining(['startupProbe', 'livenessProbe', 'readinessProbe']));
      }
      expect(pod.topologySpreadConstraints[0].labelSelector.matchLabels).toEqual(spec.selector.matchLabels);
      expect(pod.serviceAccountName).toBe(part);
      expect(of('ServiceAccount').filter(({ metadata }) => metadata.name === part)).toMatchObject([
        { automountServiceAccountToken: false },
      ]);
      expect(pod.automountServiceAccountToken).toBe(part === 'operator');
    },
  );

  test.each(named)('%s runs an image of a certain version', (_part, { spec }) => {
    for (const { image } of spec.template.spec.containers) expect(image).toMatch(/:(?!latest)[\w.-]+(?:@sha256:[0-9a-f]{64})?$/);
  });

  test.each(named)('every mount of %s is of a volume that is there, and every volume is mounted', (_part, { spec }) => {
    const claims = (spec.volumeClaimTemplates ?? []).map(({ metadata }: Any) => metadata.name as string);
    const volumes = [...spec.template.spec.volumes.map(({ name }: Any) => name as string), ...claims];
    const mounted = spec.template.spec.containers.flatMap(({ volumeMounts }: Any) => volumeMounts.map(({ name }: Any) => name as string));
    expect(new Set(mounted)).toEqual(new Set(volumes));
    expect(volumes).toEqual([...new Set(volumes)]);
  });

  test.each(named)('no variable of %s is set twice or empty', (_part, { spec }) => {
    const [{ env }] = spec.template.spec.containers;
    const names = env.map(({ name }: Any) => name as string);
    expect(names).toEqual([...new Set(names)]);
    for (const { name, value, valueFrom } of env) expect(value ?? valueFrom ?? (name === 'EMPTY' ? 'ours' : undefined), name).toBeTruthy();
  });

  test('every selector selects pods that are there, and every port that is named is theirs', () => {
    const selecting = [
      ...of('Service').map(({ metadata, spec }) => [metadata.name, spec.selector] as const),
      ...of('PodDisruptionBudget').map(({ metadata, spec }) => [metadata.name, spec.selector.matchLabels] as const),
      ...of('NetworkPolicy').map(({ metadata, spec }) => [metadata.name, spec.podSelector.matchLabels] as const),
    ];
    for (const [name, selector] of selecting) expect(podsMatching(workloads, selector), name).not.toEqual([]);
    for (const { spec, metadata } of of('Service')) {
      const pods = podsMatching(workloads, spec.selector);
      const names = pods.flatMap((pod) => pod.spec.containers.flatMap(({ ports }: Any) => ports.map(({ name }: Any) => name as string)));
      for (const { targetPort } of spec.ports) expect(names, metadata.name).toContain(targetPort);
    }
    for (const { spec, metadata } of workloads) expect(podsMatching(workloads, spec.selector.matchLabels), metadata.name).toHaveLength(1);
  });

  test('a disruption budget is only where there are several pods', () => {
    const budgets = of('PodDisruptionBudget').map(({ metadata }) => metadata.name);
    const several = workloads
      .filter(
        ({ metadata, spec }) =>
          (spec.replicas ?? of('HorizontalPodAutoscaler').find((hpa) => hpa.metadata.name === metadata.name)?.spec.minReplicas) > 1,
      )
      .map(({ metadata }) => metadata.name);
    expect(budgets.sort()).toEqual(several.sort());
  });

  test('an autoscaler and a number of pods exclude each other', () => {
    const scaled = of('HorizontalPodAutoscaler').map(({ spec }) => spec.scaleTargetRef.name as string);
    for (const { metadata, spec } of workloads) expect(spec.replicas === undefined, metadata.name).toBe(scaled.includes(metadata.name));
  });

  test('unless policies are off, everything is denied first, and each part has rules of its own', () => {
    const policies = of('NetworkPolicy').map(({ metadata }) => metadata.name);
    const parts = workloads.map(({ metadata }) => metadata.name);
    expect(policies.sort()).toEqual(values.networkPolicies?.enabled === false ? [] : ['toolyard-default-deny', ...parts].sort());
    for (const { spec } of of('NetworkPolicy')) expect(spec.policyTypes).toEqual(['Ingress', 'Egress']);
  });

  test('no rule of a policy lets in or out everything', () => {
    for (const { metadata, spec } of of('NetworkPolicy')) {
      for (const { from } of spec.ingress ?? []) expect(from, metadata.name).not.toEqual([]);
      for (const { to, ports } of spec.egress ?? []) expect((to ?? ports).length, metadata.name).toBeGreaterThan(0);
      expect((spec.ingress ?? []).every(({ from }: Any) => from !== undefined)).toBe(true);
    }
  });

  test('rights never cover everything, and Secrets are read by name only', () => {
    for (const { metadata, rules = [] } of of('Role', 'ClusterRole')) {
      for (const { resources, verbs, resourceNames } of rules) {
        expect([...resources, ...verbs], metadata.name).not.toContain('*');
        expect(verbs, metadata.name).not.toContain('delete');
        if (!resources.includes('secrets')) continue;
        expect(verbs.includes('create') ? verbs : resourceNames?.length, metadata.name).toSatisfy(
          (what: unknown) => typeof what === 'number' || (Array.isArray(what) && what.length === 1),
        );
      }
    }
  });

  test('rights in the whole cluster come with the policy that limits them, and only when they are asked for', () => {
    const cluster = of('ClusterRole', 'ClusterRoleBinding', 'ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding');
    expect(cluster).toHaveLength(values.operator?.allNamespaces === true ? 4 : 0);
  });

  test('every binding is of a role that is there, to the operator', () => {
    for (const { roleRef, subjects, metadata } of of('RoleBinding', 'ClusterRoleBinding')) {
      const roles = objects.filter(
        ({ kind, metadata: { name, namespace } }) => kind === roleRef?.kind && name === roleRef.name && namespace === metadata.namespace,
      );
      expect(roles, metadata.name).toHaveLength(1);
      expect(subjects).toEqual([{ kind: 'ServiceAccount', name: 'operator', namespace: NAMESPACE }]);
    }
  });

  test('every Secret that a pod mounts or reads is the user’s, made by the operator, or made by cert-manager', () => {
    const operator = workloads.find(({ metadata }) => metadata.name === 'operator');
    const generate = operator?.spec.template.spec.containers[0].env.find(({ name }: Any) => name === 'GENERATE').value as string;
    const made = (JSON.parse(generate) as readonly { secret: string }[]).map(({ secret }) => secret);
    const issued = of('Certificate').map(({ spec }) => spec.secretName as string);
    const given = [values.registry?.seedSecret, values.registry?.databaseUrlSecret, values.fetch?.tlsSecret, values.fetch?.tokensSecret];
    const known = [...made, ...issued, ...given, values.postgresql?.passwordSecret];
    for (const { spec } of workloads) expect(known).toEqual(expect.arrayContaining([...secretsOf(spec.template.spec)]));
    expect(made).toEqual([...new Set(made)]);
    expect(issued.some((secret) => made.includes(secret))).toBe(false);
  });

  test('an address is advertised that is the installation’s', () => {
    for (const { data } of of('ConfigMap').filter(({ metadata }) => metadata.labels?.['toolyard.dev/kind'] === 'server.json')) {
      const { remotes } = JSON.parse(data?.['server.json'] ?? '') as { remotes: readonly { url: string }[] };
      const host = values.exposure?.host;
      expect(remotes[0]?.url).toBe(host === undefined ? `https://fetch.${NAMESPACE}.svc:8443/mcp` : `https://${host}/fetch/mcp`);
    }
  });
});

test('the installations make every kind of object that there is', () => {
  const kinds = new Set(
    Object.values(installations)
      .flatMap(objectsOf)
      .map(({ kind }) => kind),
  );
  expect([...kinds].sort()).toMatchInlineSnapshot(`
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
      "Role",
      "RoleBinding",
      "Service",
      "ServiceAccount",
      "ServiceMonitor",
      "StatefulSet",
      "ValidatingAdmissionPolicy",
      "ValidatingAdmissionPolicyBinding",
    ]
  `);
});

function podsMatching(workloads: readonly Manifest[], selector: Labels): readonly Any[] {
  return workloads
    .map(({ spec }) => spec.template)
    .filter(({ metadata }) => Object.entries(selector).every(([key, value]) => metadata.labels[key] === value));
}

function secretsOf(pod: Any): readonly string[] {
  const mounted = pod.volumes.map(({ secret }: Any) => secret?.secretName as string | undefined);
  const read = pod.containers.flatMap(({ env }: Any) =>
    env.map(({ valueFrom }: Any) => valueFrom?.secretKeyRef?.name as string | undefined),
  );
  return [...mounted, ...read].filter((name): name is string => name !== undefined);
}
