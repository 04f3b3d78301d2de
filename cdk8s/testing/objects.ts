/** Manifests, as far as the tests look into them. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly labels: Labels };
  readonly data?: Readonly<Record<string, string>>;
}

export type Labels = Readonly<Record<string, string>>;
interface Selector {
  readonly matchLabels: Labels;
}

export interface Workload extends Manifest {
  readonly spec: {
    readonly replicas?: number;
    readonly selector: Selector;
    readonly template: { readonly metadata: { readonly labels: Labels }; readonly spec: Pod };
    readonly volumeClaimTemplates?: readonly Manifest[];
  };
}

export interface Pod {
  readonly serviceAccountName: string;
  readonly automountServiceAccountToken: boolean;
  readonly containers: readonly Container[];
  readonly volumes: readonly Volume[];
  readonly topologySpreadConstraints: readonly { readonly labelSelector: Selector }[];
}

export interface Container {
  readonly image: string;
  readonly args?: readonly string[];
  readonly env: readonly Variable[];
  readonly ports: readonly { readonly name: string }[];
  readonly resources: { readonly requests: Labels; readonly limits: Labels };
  readonly volumeMounts: readonly { readonly name: string }[];
}

interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly secretKeyRef?: { readonly name: string } };
}

interface Volume {
  readonly name: string;
  readonly emptyDir?: { readonly sizeLimit?: string; readonly medium?: string };
  readonly secret?: { readonly secretName: string };
  readonly configMap?: { readonly name: string };
}

export interface Service extends Manifest {
  readonly spec: { readonly selector: Labels; readonly ports: readonly { readonly targetPort: string }[] };
}

export interface Budget extends Manifest {
  readonly spec: { readonly selector: Selector };
}

export interface Autoscaler extends Manifest {
  readonly spec: { readonly scaleTargetRef: { readonly name: string }; readonly minReplicas: number };
}

export interface Policy extends Manifest {
  readonly spec: {
    readonly podSelector: Partial<Selector>;
    readonly policyTypes: readonly string[];
    readonly ingress?: readonly { readonly from?: readonly object[] }[];
    readonly egress?: readonly { readonly to?: readonly object[]; readonly ports?: readonly object[] }[];
  };
}

export interface Role extends Manifest {
  readonly rules: readonly {
    readonly resources: readonly string[];
    readonly verbs: readonly string[];
    readonly resourceNames?: readonly string[];
  }[];
}

export interface Binding extends Manifest {
  readonly roleRef: { readonly kind: string; readonly name: string };
  readonly subjects: readonly object[];
}

export interface Certificate extends Manifest {
  readonly spec: { readonly secretName: string };
}

export interface Account extends Manifest {
  readonly automountServiceAccountToken: boolean;
}

export interface SandboxTemplate extends Manifest {
  readonly spec: { readonly networkPolicyManagement: string; readonly podTemplate: { readonly spec: Pod } };
}

/** By kind. */
export interface Kinds {
  readonly Deployment: Workload;
  readonly StatefulSet: Workload;
  readonly Service: Service;
  readonly PodDisruptionBudget: Budget;
  readonly HorizontalPodAutoscaler: Autoscaler;
  readonly NetworkPolicy: Policy;
  readonly Role: Role;
  readonly ClusterRole: Role;
  readonly RoleBinding: Binding;
  readonly ClusterRoleBinding: Binding;
  readonly ServiceAccount: Account;
  readonly Certificate: Certificate;
  readonly ConfigMap: Manifest;
  readonly Namespace: Manifest;
  readonly SandboxTemplate: SandboxTemplate;
}
