import type { KubeClient } from '../../lib/kube/client.ts';
import type { KubeObject } from '../../lib/kube/objects.ts';

const RBAC = 'rbac.authorization.k8s.io';

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

/** In every namespace whose ConfigMaps are declarations, as operator/README.md lists them. */
const everywhere: readonly Rule[] = [
  { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch', 'patch'] },
  { apiGroups: [''], resources: ['services'], verbs: ['list', 'watch'] },
  { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list'] },
  { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
];

/** In every one of CLAIMS_NAMESPACES. */
const claims: readonly Rule[] = [
  { apiGroups: ['extensions.agents.x-k8s.io'], resources: ['sandboxclaims'], verbs: ['list', 'watch', 'patch', 'delete'] },
  { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
];

/** In INSTALL_NAMESPACE, with the names of its settings. */
export function installRules(lease: string, secrets: readonly string[], configMaps: readonly string[]): readonly Rule[] {
  return [
    { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create'] },
    { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'update'], resourceNames: [lease] },
    { apiGroups: [''], resources: ['secrets', 'configmaps'], verbs: ['create'] },
    { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'update'], resourceNames: secrets },
    { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'update'], resourceNames: configMaps },
    { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
  ];
}

/** Gives a user the operator's rights and no others. @param namespaces undefined for all */
export async function grant(
  client: KubeClient,
  user: string,
  where: { install: string; namespaces?: readonly string[]; rules: readonly Rule[] },
): Promise<void> {
  await role(client, user, where.install, where.rules);
  if (where.namespaces === undefined) return role(client, user, undefined, everywhere);
  for (const namespace of where.namespaces) await role(client, user, namespace, everywhere);
}

/** Lets a user look after the claims of a namespace. */
export function grantClaims(client: KubeClient, user: string, namespace: string): Promise<void> {
  return role(client, user, namespace, claims);
}

/** What a namespace does to have a Secret used for probes. */
export function grantSecret(client: KubeClient, user: string, namespace: string, name: string): Promise<void> {
  return role(client, user, namespace, [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'], resourceNames: [name] }]);
}

const names: ReadonlyMap<readonly Rule[], string> = new Map([
  [everywhere, 'declarations'],
  [claims, 'claims'],
]);

async function role(client: KubeClient, user: string, namespace: string | undefined, rules: readonly Rule[]): Promise<void> {
  const kind = namespace === undefined ? 'ClusterRole' : 'Role';
  const base = `/apis/${RBAC}/v1${namespace === undefined ? '' : `/namespaces/${namespace}`}`;
  const metadata = { name: `toolyard-${names.get(rules) ?? 'install'}`, ...(namespace !== undefined && { namespace }) };
  const apiVersion = `${RBAC}/v1`;
  await client.create<KubeObject & { rules: readonly Rule[] }>(`${base}/${kind.toLowerCase()}s`, { apiVersion, kind, metadata, rules });
  const binding = {
    apiVersion,
    kind: `${kind}Binding`,
    metadata,
    roleRef: { apiGroup: RBAC, kind, name: metadata.name },
    subjects: [{ apiGroup: RBAC, kind: 'User', name: user }],
  };
  await client.create(`${base}/${kind.toLowerCase()}bindings`, binding);
}
