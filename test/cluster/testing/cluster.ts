import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import type { ObjectMeta } from '../../../lib/kube/objects.ts';
import { run } from '../run.ts';

/** Where `make cluster` keeps everything. */
export const state = process.env['TOOLYARD_CLUSTER'] ?? '/var/tmp/toolyard-cluster';
/** Of an administrator, for use inside the cluster's network. */
export const kubeconfig = join(state, 'pki', 'admin.conf');
/** The checkout. */
export const home = join(import.meta.dirname, '..', '..', '..');

export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

/** The API server's refusal. */
export class ApiRefusal extends Error {
  override readonly name = 'ApiRefusal';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const collections: Readonly<Record<string, string>> = {
  ConfigMap: 'configmaps',
  Event: 'events',
  Endpoints: 'endpoints',
  Namespace: 'namespaces',
  Pod: 'pods',
  Secret: 'secrets',
  Service: 'services',
  ServiceAccount: 'serviceaccounts',
  Deployment: 'deployments',
  StatefulSet: 'statefulsets',
  Lease: 'leases',
  Role: 'roles',
  RoleBinding: 'rolebindings',
  NetworkPolicy: 'networkpolicies',
  PersistentVolume: 'persistentvolumes',
  PersistentVolumeClaim: 'persistentvolumeclaims',
  ResourceQuota: 'resourcequotas',
  Sandbox: 'sandboxes',
  SandboxClaim: 'sandboxclaims',
  SandboxTemplate: 'sandboxtemplates',
  SandboxWarmPool: 'sandboxwarmpools',
};

const groups: Readonly<Record<string, string>> = {
  Deployment: 'apps/v1',
  StatefulSet: 'apps/v1',
  Lease: 'coordination.k8s.io/v1',
  Role: 'rbac.authorization.k8s.io/v1',
  RoleBinding: 'rbac.authorization.k8s.io/v1',
  NetworkPolicy: 'networking.k8s.io/v1',
  Sandbox: 'agents.x-k8s.io/v1beta1',
  SandboxClaim: 'extensions.agents.x-k8s.io/v1beta1',
  SandboxTemplate: 'extensions.agents.x-k8s.io/v1beta1',
  SandboxWarmPool: 'extensions.agents.x-k8s.io/v1beta1',
};

/** What kind, in which namespace, of what name; without a name the whole collection. */
export interface Where {
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  /** as in `app=x` */
  readonly selector?: string;
}

function pathOf({ kind, namespace, name, selector }: Where): string {
  const group = groups[kind] ?? 'v1';
  const collection = collections[kind];
  if (collection === undefined) throw new Error(`no path is known for ${kind}`);
  const parts = [group === 'v1' ? 'api' : 'apis', group];
  if (namespace !== undefined) parts.push('namespaces', namespace);
  parts.push(collection);
  if (name !== undefined) parts.push(name);
  return `/${parts.join('/')}${selector === undefined ? '' : `?labelSelector=${encodeURIComponent(selector)}`}`;
}

const pki = (name: string): Buffer => readFileSync(join(state, 'pki', name));
const server = 'https://10.200.0.1:6443';
let connection: Agent | undefined;
const dispatcher = (): Agent =>
  (connection ??= new Agent({ connect: { ca: pki('ca.crt'), cert: pki('admin.crt'), key: pki('admin.key') }, connections: 16 }));

/** @throws ApiRefusal */
async function ask<T>(method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: unknown): Promise<T> {
  const headers = { 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' };
  const answer = await request(`${server}${path}`, {
    method,
    headers,
    dispatcher: dispatcher(),
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await answer.body.text();
  if (answer.statusCode >= 400) throw new ApiRefusal(answer.statusCode, `${method} ${path}: ${answer.statusCode} ${text}`);
  return JSON.parse(text) as T;
}

const whereOf = ({ kind, metadata: { namespace, name } }: KubeObject): Where => ({ kind, namespace, name });

/** The API server, as an administrator. */
export const api = {
  raw: (path: string) => ask<Record<string, unknown>>('GET', path),
  get: <T extends KubeObject = KubeObject>(where: Where) => ask<T>('GET', pathOf(where)),
  /** undefined when there is none */
  async find<T extends KubeObject = KubeObject>(where: Where): Promise<T | undefined> {
    try {
      return await api.get<T>(where);
    } catch (error) {
      if (error instanceof ApiRefusal && error.status === 404) return undefined;
      throw error;
    }
  },
  async list<T extends KubeObject = KubeObject>(where: Where): Promise<readonly T[]> {
    const { items } = await ask<{ items: T[] }>('GET', pathOf(where));
    return items;
  },
  create: (object: KubeObject) => ask<KubeObject>('POST', pathOf({ ...whereOf(object), name: undefined }), object),
  replace: (object: KubeObject) => ask<KubeObject>('PUT', pathOf(whereOf(object)), object),
  patch: (where: Where, change: unknown) => ask<KubeObject>('PATCH', pathOf(where), change),
  async remove(where: Where): Promise<void> {
    try {
      await ask('DELETE', pathOf(where));
    } catch (error) {
      if (!(error instanceof ApiRefusal) || error.status !== 404) throw error;
    }
  },
};

/** kubectl as users run it. @throws Error with what it said */
export const kubectl = (...args: readonly string[]): Promise<string> => run('kubectl', ['--kubeconfig', kubeconfig, ...args]);

/** Objects in one `kubectl apply`, after the other. */
export const apply = (...objects: readonly KubeObject[]): Promise<string> =>
  run('kubectl', ['--kubeconfig', kubeconfig, 'apply', '-f', '-'], {
    input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }),
  });

/** A target of the Makefile, as users run it. @throws Error with what it said */
export const make = (...targets: readonly string[]): Promise<string> =>
  run('make', ['-C', home, '--no-print-directory', ...targets], { env: { KUBECONFIG: kubeconfig } });

/** `cluster stop`, `cluster start`: one of the cluster's processes. */
export const control = (...args: readonly string[]): Promise<string> => run(join(import.meta.dirname, '..', 'cluster'), args);

export interface Patience {
  /** @default 120,000: the machine may be slow, and busy with others */
  readonly timeoutMs?: number;
  /** @default 200 */
  readonly everyMs?: number;
}

/**
 * Looks again and again until there is something to see.
 * @throws Error naming what was waited for, with what was seen, or the error of, the last look
 */
export async function eventually<T>(what: string, look: () => Promise<T | undefined | false>, patience: Patience = {}): Promise<T> {
  const { timeoutMs = 120_000, everyMs = 200 } = patience;
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    let seen: unknown;
    try {
      const result = await look();
      if (result !== undefined && result !== false) return result;
      seen = result;
    } catch (error) {
      seen = error;
    }
    if (performance.now() > deadline) throw new Error(`${what}: not within ${timeoutMs} ms; last: ${String(seen)}`, { cause: seen });
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
