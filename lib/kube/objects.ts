/** Who set which fields of an object. */
export interface ManagedFields {
  readonly manager?: string;
  readonly operation?: 'Apply' | 'Update';
  readonly fieldsV1?: unknown;
}

export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  /** RFC 3339 */
  readonly creationTimestamp?: string;
  /** RFC 3339; the object is being deleted */
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly managedFields?: readonly ManagedFields[];
}

/** What every object of the API has; the rest is its kind's own. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

export interface KubeList<T extends KubeObject> {
  readonly items: readonly T[];
  readonly metadata: { readonly resourceVersion?: string; readonly continue?: string };
}

export interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
  readonly binaryData?: Readonly<Record<string, string>>;
}

export interface Secret extends KubeObject {
  readonly type?: string;
  /** values in base64 */
  readonly data?: Readonly<Record<string, string>>;
}

export interface Service extends KubeObject {
  readonly spec?: {
    readonly type?: string;
    readonly selector?: Readonly<Record<string, string>>;
    readonly clusterIP?: string;
    readonly clusterIPs?: readonly string[];
  };
}

export interface EndpointSlice extends KubeObject {
  readonly endpoints?: readonly { readonly addresses?: readonly string[]; readonly conditions?: { readonly ready?: boolean } }[];
}

/** agent-sandbox's, extensions.agents.x-k8s.io/v1beta1: what this needs of its versions 0.5.6 and 1.0. Times are RFC 3339. */
export interface SandboxClaim extends KubeObject {
  readonly spec: {
    readonly warmPoolRef: { readonly name: string };
    readonly lifecycle?: {
      readonly shutdownTime?: string;
      /** @default Retain */
      readonly shutdownPolicy?: 'Delete' | 'DeleteForeground' | 'Retain';
      readonly ttlSecondsAfterFinished?: number;
    };
  };
  readonly status?: {
    readonly sandbox?: { readonly name?: string; readonly podIPs?: readonly string[] };
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: 'True' | 'False' | 'Unknown';
      readonly reason: string;
      readonly message: string;
      readonly lastTransitionTime: string;
    }[];
  };
}

/** What every SandboxClaim says of its kind. */
export const sandboxClaim = { apiVersion: 'extensions.agents.x-k8s.io/v1beta1', kind: 'SandboxClaim' } as const;

/** Paths of the collections that toolyard uses; of all namespaces when none is named. */
export const paths = {
  configMaps: (namespace?: string) => core('configmaps', namespace),
  services: (namespace?: string) => core('services', namespace),
  secrets: (namespace: string) => core('secrets', namespace),
  endpointSlices: (namespace: string) => `/apis/discovery.k8s.io/v1/namespaces/${segment(namespace)}/endpointslices`,
  leases: (namespace: string) => `/apis/coordination.k8s.io/v1/namespaces/${segment(namespace)}/leases`,
  sandboxClaims: (namespace: string) => agentSandbox('extensions.', namespace, 'sandboxclaims'),
  sandboxWarmPools: (namespace: string) => agentSandbox('extensions.', namespace, 'sandboxwarmpools'),
  sandboxTemplates: (namespace: string) => agentSandbox('extensions.', namespace, 'sandboxtemplates'),
  sandboxes: (namespace: string) => agentSandbox('', namespace, 'sandboxes'),
  events: (namespace: string) => `/apis/events.k8s.io/v1/namespaces/${segment(namespace)}/events`,
} as const;

function agentSandbox(group: 'extensions.' | '', namespace: string, plural: string): string {
  return `/apis/${group}agents.x-k8s.io/v1beta1/namespaces/${segment(namespace)}/${plural}`;
}

/** One object of a collection. */
export function objectPath(collection: string, name: string): string {
  return `${collection}/${segment(name)}`;
}

/** Names come from annotations too: they must not lead to another path. */
function segment(name: string): string {
  if (name === '.' || name === '..') throw new TypeError(`"${name}" is no name of an object`);
  return encodeURIComponent(name);
}

function core(resource: string, namespace: string | undefined): string {
  return namespace === undefined ? `/api/v1/${resource}` : `/api/v1/namespaces/${segment(namespace)}/${resource}`;
}

/** `namespace/name`, as sources and queues are keyed. */
export function keyOf({ metadata: { namespace = '', name } }: KubeObject): string {
  return `${namespace}/${name}`;
}
