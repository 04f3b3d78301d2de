import { RegistryClient } from '../../../lib/registry-api/client.ts';
import type { ServerRecord } from '../../../lib/registry-api/server-json.ts';
import type { Condition, DeclarationStatus } from '../../../operator/records/status.ts';
import { version } from '../../../lib/version.ts';
import type { Errand, Outcome } from '../pods/errand.ts';
import { api, apply, eventually, type KubeObject, type Patience, type Where } from './cluster.ts';

export const INSTALL = 'toolyard';
export const SANDBOXES = 'toolyard-sandboxes';
/** Namespaces of two teams, both of which the operator watches. */
export const TEAM_A = 'team-a';
export const TEAM_B = 'team-b';
export const REGISTRY = `http://registry.${INSTALL}.svc:8080`;
/** Image of the tests' own programs. */
export const PODS_IMAGE = 'local.test/pods:1';
export { version };

interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

export interface Declared {
  /** of the ConfigMap */
  readonly name: string;
  /** @default TEAM_A */
  readonly namespace?: string;
  /** of the record @default com.example.a/NAME */
  readonly record?: string;
  /** @default 1.0.0 */
  readonly version?: string;
  readonly description?: string;
  /** put into the document, over what is there */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** with `toolyard.dev/` before each; endpoint is set unless it is given as '' */
  readonly settings?: Readonly<Record<string, string>>;
  /** in place of the document */
  readonly text?: string;
}

/** A ConfigMap that declares a server, which answers at the namespace's whoami Service. */
export function declaration(declared: Declared): ConfigMap {
  const { name, namespace = TEAM_A, text, settings = {} } = declared;
  const given = { endpoint: `http://whoami.${namespace}.svc:8000/mcp`, ...settings };
  const annotations = Object.fromEntries(
    Object.entries(given)
      .filter(([, value]) => value !== '')
      .map(([key, value]) => [`toolyard.dev/${key}`, value]),
  );
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace, labels: { 'toolyard.dev/kind': 'server.json' }, annotations },
    data: { 'server.json': text ?? JSON.stringify(documentOf(declared)) },
  };
}

function documentOf({ name, namespace = TEAM_A, record = recordOf(name), version = '1.0.0', description, fields }: Declared) {
  return {
    $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
    name: record,
    description: description ?? 'Says which pod answers',
    version,
    // the registry takes each address from one name only
    remotes: [{ type: 'streamable-http', url: `https://${record.replaceAll(/[./]/g, '-')}.${namespace}.example.com/mcp` }],
    ...fields,
  };
}

export const recordOf = (name: string): string => `com.example.a/${name}`;
export const at = ({ name, namespace = TEAM_A }: Pick<Declared, 'name' | 'namespace'>): Where => ({ kind: 'ConfigMap', namespace, name });

/** Creates the declaration, or changes what is declared. */
export async function declare(declared: Declared): Promise<void> {
  const object = declaration(declared);
  const there = await api.find(at(declared));
  if (there === undefined) await api.create(object);
  else await api.patch(at(declared), { data: object.data, metadata: { annotations: object.metadata.annotations } });
}

export const undeclare = (declared: Pick<Declared, 'name' | 'namespace'>): Promise<void> => api.remove(at(declared));

/** What the operator wrote about a declaration; undefined as long as it has written nothing. */
export async function statusOf(declared: Pick<Declared, 'name' | 'namespace'>): Promise<DeclarationStatus | undefined> {
  const { metadata } = await api.get(at(declared));
  const text = metadata.annotations?.['toolyard.dev/status'];
  return text === undefined ? undefined : (JSON.parse(text) as DeclarationStatus);
}

type Facts = Partial<Record<Condition['type'], { status: Condition['status']; reason: string; message: string }>>;

export async function conditionsOf(declared: Pick<Declared, 'name' | 'namespace'>): Promise<Facts> {
  const status = await statusOf(declared);
  return Object.fromEntries((status?.conditions ?? []).map((condition) => [condition.type, condition])) as Facts;
}

/** Waits until a condition has that reason, and returns its message. */
export function reason(
  declared: Pick<Declared, 'name' | 'namespace'>,
  type: Condition['type'],
  wanted: string,
  patience?: Patience,
): Promise<string> {
  const what = `${declared.name}: ${type} because of ${wanted}`;
  const look = async () => {
    const found = (await conditionsOf(declared))[type];
    if (found?.reason === wanted) return found.message;
    throw new Error(JSON.stringify(found));
  };
  return eventually(what, look, patience);
}

export const eventsOf = async ({ name, namespace = TEAM_A }: Pick<Declared, 'name' | 'namespace'>): Promise<readonly Happening[]> => {
  const events = (await api.list({ kind: 'Event', namespace })) as unknown as readonly RawEvent[];
  return events
    .filter(({ involvedObject, regarding }) => (involvedObject ?? regarding)?.name === name)
    .map(({ reason, message, note, type }) => ({ reason, type, message: message ?? note ?? '' }));
};

interface RawEvent extends KubeObject {
  readonly reason: string;
  readonly type: string;
  readonly message?: string;
  readonly note?: string;
  readonly involvedObject?: { readonly name: string };
  readonly regarding?: { readonly name: string };
}

export interface Happening {
  readonly reason: string;
  readonly type: string;
  readonly message: string;
}

/** Removes every declaration of the teams, and waits until their records are gone. */
export async function clear(): Promise<void> {
  const maps = (await Promise.all([TEAM_A, TEAM_B].map((team) => api.list({ kind: 'ConfigMap', namespace: team })))).flat();
  const declared = maps.filter(({ metadata }) => Object.keys(metadata.annotations ?? {}).some((key) => key.startsWith('toolyard.dev/')));
  await Promise.all(declared.map(({ metadata: { name, namespace } }) => api.remove({ kind: 'ConfigMap', namespace, name })));
  await eventually(
    'no records of the teams',
    async () => {
      const records = await (await registry()).listAll();
      return !records.some(({ server }) => server.name.startsWith('com.example.'));
    },
    { timeoutMs: 240_000 },
  );
}

interface Service extends KubeObject {
  readonly spec: { readonly clusterIP: string };
}
export interface Pod extends KubeObject {
  readonly status: {
    readonly podIP?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses?: readonly { readonly restartCount: number }[];
  };
}

let registryUrl: string | undefined;

/** The registry, read as any client reads it. */
export async function registry(): Promise<RegistryClient> {
  if (registryUrl === undefined) {
    const { spec } = await api.get<Service>({ kind: 'Service', namespace: INSTALL, name: 'registry' });
    registryUrl = `http://${spec.clusterIP}:8080`;
  }
  return new RegistryClient({ url: registryUrl, timeoutMs: 10_000 });
}

/** Another installation has a registry at another address. */
export function forget(): void {
  registryUrl = undefined;
}

/** The latest record of a name that is there and not deleted. */
export async function latest(name: string): Promise<ServerRecord | undefined> {
  return (await registry()).getVersion(name, 'latest');
}

/** Waits until the latest record of a name is as wanted. */
export function published(
  name: string,
  wanted: (record: ServerRecord) => boolean = () => true,
  patience?: Patience,
): Promise<ServerRecord> {
  const look = async () => {
    const record = await latest(name);
    if (record !== undefined && wanted(record)) return record;
    throw new Error(JSON.stringify(record));
  };
  return eventually(`the record ${name}`, look, patience);
}

export function gone(name: string, patience?: Patience): Promise<true> {
  return eventually(`no record ${name}`, async () => (await latest(name)) === undefined && (true as const), patience);
}

export const namespace = (name: string, labels: Readonly<Record<string, string>> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels: { 'pod-security.kubernetes.io/enforce': 'restricted', ...labels } },
});

export interface Program {
  readonly name: string;
  readonly namespace: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** a ConfigMap to mount at /files */
  readonly files?: string;
  readonly replicas?: number;
}

/** A Deployment of one of the tests' own programs, and a Service of the same name. */
export function program({ name, namespace, args, env = {}, files, replicas = 1 }: Program): readonly KubeObject[] {
  const labels = { app: name };
  const container = {
    name: 'main',
    image: PODS_IMAGE,
    args,
    env: Object.entries(env).map(([name, value]) => ({ name, value })),
    ports: [{ containerPort: 8000 }],
    readinessProbe: { tcpSocket: { port: 8000 }, periodSeconds: 1 },
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    },
    ...(files !== undefined && { volumeMounts: [{ name: 'files', mountPath: '/files' }] }),
  };
  const spec = {
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 1,
    containers: [container],
    ...(files !== undefined && { volumes: [{ name: 'files', configMap: { name: files } }] }),
  };
  return [
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name, namespace },
      spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, namespace },
      spec: { selector: labels, ports: [{ name: 'http', port: 8000 }] },
    },
  ];
}

/** The MCP server that the declarations of a namespace stand for. */
export const whoami = (where: string): readonly KubeObject[] =>
  program({ name: 'whoami', namespace: where, args: ['server.mjs'], env: serverEnv(`whoami.${where}.svc`) });

export const serverEnv = (host: string): Readonly<Record<string, string>> => ({
  HOST: '0.0.0.0',
  PORT: '8000',
  METRICS_PORT: 'off',
  PUBLIC_HOSTS: host,
});

/** A pod that does errands. */
export interface ClientPod {
  run(errand: Errand): Promise<Outcome>;
}

/** Starts a client pod in a namespace that is there, trusting the authority in its ConfigMap `trust`. */
export async function clientPod(where: string, trust?: string): Promise<ClientPod> {
  const trusting = trust === undefined ? {} : { files: trust, env: { NODE_EXTRA_CA_CERTS: '/files/ca.crt' } };
  await apply(...program({ name: 'client', namespace: where, args: ['client.mjs'], ...trusting }));
  const ip = await eventually(`the client pod in ${where}`, async () => {
    const pods = await api.list<Pod>({ kind: 'Pod', namespace: where, selector: 'app=client' });
    return pods.find(isReady)?.status.podIP;
  });
  return {
    run: async (errand) => {
      const answer = await fetch(`http://${ip}:8000`, {
        method: 'POST',
        body: JSON.stringify(errand),
        signal: AbortSignal.timeout(90_000),
      });
      return (await answer.json()) as Outcome;
    },
  };
}

export const isReady = ({ status }: Pod): boolean =>
  status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true;
