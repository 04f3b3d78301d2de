import { Construct } from 'constructs';
import { addObject, File, type PartProps } from './manifest.ts';
import { addAdmissionPolicy } from './admission-policy.ts';
import { LEASE, made, type Part } from './names.ts';
import { seedSecret } from './registry.ts';
import type { Template } from './template.ts';

const part = 'operator';

/** Finds the Services that declarations name. */
const probing = [
  { apiGroups: [''], resources: ['services'], verbs: ['list', 'watch'] },
  { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list'] },
];
/** What it does in each namespace whose declarations it takes. */
const watching = [
  { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch', 'patch'] },
  ...probing,
  { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
];

/** What the operator may do: in its own namespace, in chosen ones, or, if that is asked for, in all. */
export class Rbac extends Construct {
  constructor(scope: Construct, { template }: PartProps) {
    super(scope, 'rbac');
    const { namespace } = template;
    const { operator } = template.values;
    const all = template.has(operator.allNamespaces);
    const own = new File(this, 'operator/role');
    grant(own, template, { name: 'operator', namespace, rules: ownRules(template) });
    const chosen = new File(this, 'operator/role-own-declarations', { when: template.not(all) });
    grant(chosen, template, { name: 'operator-declarations', namespace, rules: watching });
    const others = new File(this, 'operator/role-chosen-namespaces', { when: template.not(all) });
    others.repeated = template.repeat(operator.namespaces, (item) =>
      grant(others, template, { name: outsideName(template), namespace: item, rules: watching }),
    );
    const probed = new File(this, 'operator/role-probed-namespaces', { when: template.not(all) });
    probed.repeated = template.repeat(operator.probeAllow.namespaces, (item) =>
      grant(probed, template, { name: `${outsideName(template)}-probing`, namespace: item, rules: probing }),
    );
    addClusterRole(new File(this, 'operator/cluster-role', { when: all }), template);
  }
}

/** What belongs to no namespace of the installation is named after it, since a cluster may have several. */
export function outsideName({ namespace }: Template): string {
  return `toolyard-operator-${namespace}`;
}

function addClusterRole(file: File, template: Template): void {
  const name = outsideName(template);
  addObject(file, { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', name, part, body: { rules: watching } });
  addObject(file, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    name,
    part,
    body: bindingTo(template, { kind: 'ClusterRole', name, part }),
  });
  addAdmissionPolicy(file, template);
}

/** Its Lease, and the Secrets that it makes. Creating cannot be limited to names. */
function ownRules(template: Template): readonly object[] {
  const { tls, ...others } = made;
  const ours = [...Object.values(others), ...Object.values(tls)];
  const readable = [...ours.filter((name) => name !== made.seed), seedSecret(template)];
  return [
    { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create'] },
    { apiGroups: ['coordination.k8s.io'], resources: ['leases'], resourceNames: [LEASE], verbs: ['get', 'update'] },
    { apiGroups: [''], resources: ['secrets'], verbs: ['create'] },
    { apiGroups: [''], resources: ['secrets'], resourceNames: readable, verbs: ['get'] },
    { apiGroups: [''], resources: ['secrets'], resourceNames: ours, verbs: ['update'] },
    { apiGroups: [''], resources: ['configmaps'], verbs: ['create'] },
    { apiGroups: [''], resources: ['configmaps'], resourceNames: [made.authority], verbs: ['get', 'update'] },
  ];
}

export interface Grant {
  /** whose account @default the operator's */
  readonly part?: Part;
  readonly name: string;
  readonly namespace: string;
  readonly rules: readonly object[];
}

/** A Role, and its binding to a part of the installation. */
export function grant(file: File, template: Template, { part = 'operator', name, namespace, rules }: Grant): void {
  addObject(file, { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', name, namespace, part, body: { rules } });
  addObject(file, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    name,
    namespace,
    part,
    body: bindingTo(template, { kind: 'Role', name, part }),
  });
}

interface RoleOf {
  readonly kind: 'Role' | 'ClusterRole';
  readonly name: string;
  readonly part: Part;
}

function bindingTo({ namespace }: Template, { kind, name, part }: RoleOf): object {
  return {
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name },
    subjects: [{ kind: 'ServiceAccount', name: part, namespace }],
  };
}
