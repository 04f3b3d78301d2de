import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { KubeClient } from '../../../../lib/kube/client.ts';
import type { SandboxClaim } from '../../../../lib/kube/objects.ts';
import { parseJson } from '../../../../lib/json.ts';

type Status = NonNullable<SandboxClaim['status']>;

interface Change {
  readonly version: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: SandboxClaim;
}

/** What an API server refuses with. */
class Refusal extends Error {
  readonly code: number;
  readonly reason: string;

  constructor(code: number, reason: string, message: string) {
    super(message);
    this.code = code;
    this.reason = reason;
  }
}

export interface FakeClusterOptions {
  /** plays the agent-sandbox controller: called for each new claim */
  readonly onClaim?: (claim: SandboxClaim, cluster: FakeCluster) => void;
  readonly onDelete?: (claim: SandboxClaim) => void;
}

/** Longer ones would go off at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const namespace = 'toolyard-sandboxes';
const claimsPath = `/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/${namespace}/sandboxclaims`;

/**
 * The part of an API server that the sandbox server uses, with SandboxClaims as agent-sandbox would treat them. That it does as the real
 * ones do is what the shared suite is run against both for.
 */
export class FakeCluster {
  readonly #server: Server;
  readonly #options: FakeClusterOptions;
  readonly #claims = new Map<string, SandboxClaim>();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  readonly #watchers = new Set<{ readonly res: ServerResponse; readonly name: string | undefined }>();
  #history: Change[] = [];
  #version = 100;
  #oldest = 0;
  /** other objects, by path; what is not here is not found */
  readonly objects = new Map<string, object>();
  /** verbs on claims that are refused */
  denied: readonly string[] = [];
  /** refuses what comes next, whatever it is */
  refusal: Refusal | undefined;
  /** agent-sandbox's definitions are there */
  installed = true;
  namespaceExists = true;
  /** nobody hears of new claims */
  refuseReady = false;
  /** METHOD path of every request about claims */
  requests: string[] = [];

  private constructor(options: FakeClusterOptions) {
    this.#options = options;
    this.#server = createServer((req, res) => void this.#serve(req, res));
    this.objects.set(collectionPath('sandboxwarmpools', 'default'), {
      metadata: { name: 'default' },
      spec: { replicas: 2, sandboxTemplateRef: { name: 'default' } },
      status: { replicas: 2, readyReplicas: 2 },
    });
  }

  static async start(options: FakeClusterOptions = {}): Promise<FakeCluster> {
    const cluster = new FakeCluster(options);
    cluster.#server.listen(0, '127.0.0.1');
    await once(cluster.#server, 'listening');
    return cluster;
  }

  client(): KubeClient {
    const url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return new KubeClient({ access: { url, tls: {}, headers: async () => ({}) } });
  }

  claim(name: string): SandboxClaim | undefined {
    return this.#claims.get(name);
  }

  refuse(code: number, reason: string, message: string): void {
    this.refusal = new Refusal(code, reason, message);
  }

  /** What the controller says of a claim. */
  setStatus(name: string, status: Status): void {
    const claim = this.#claims.get(name);
    if (claim !== undefined) this.#store('MODIFIED', { ...claim, status });
  }

  change(name: string, change: (claim: SandboxClaim) => SandboxClaim): void {
    const claim = this.#claims.get(name);
    if (claim !== undefined) this.#store('MODIFIED', change(claim));
  }

  remove(name: string): void {
    const claim = this.#claims.get(name);
    if (claim === undefined) return;
    this.#claims.delete(name);
    clearTimeout(this.#timers.get(name));
    this.#record('DELETED', claim);
    this.#options.onDelete?.(claim);
  }

  /** Watches from before now are told to begin anew. */
  forget(): void {
    this.#history = [];
    this.#oldest = this.#version;
    this.cutWatches();
  }

  cutWatches(): void {
    for (const { res } of this.#watchers) res.destroy();
    this.#watchers.clear();
  }

  async close(): Promise<void> {
    for (const name of this.#claims.keys()) this.remove(name);
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of req) body += String(chunk);
    const { pathname, searchParams } = new URL(req.url ?? '/', 'http://x');
    try {
      const answer = this.#answer(req.method ?? '', pathname, searchParams, parseJson(body));
      if (answer === 'watch') return this.#watch(searchParams, res);
      res.setHeader('content-type', 'application/json');
      res.end(JSON.stringify(answer));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const { code, reason, message } = error;
      res.statusCode = code;
      res.end(JSON.stringify({ kind: 'Status', code, reason, message }));
    }
  }

  #answer(method: string, path: string, query: URLSearchParams, body: unknown): object | 'watch' {
    if (path.endsWith('/selfsubjectaccessreviews')) return this.#review(body);
    if (!this.installed) throw new Refusal(404, 'NotFound', 'the server could not find the requested resource');
    if (!path.startsWith(claimsPath)) return this.#object(path);
    this.requests.push(`${method} ${path}`);
    const { refusal } = this;
    this.refusal = undefined;
    if (refusal !== undefined) throw refusal;
    const name = path.slice(claimsPath.length + 1);
    if (name !== '') return this.#one(method, name, body);
    if (method === 'POST') return this.#create(body as SandboxClaim, query);
    if (query.get('watch') === '1') return 'watch';
    return this.#list(query);
  }

  #review(body: unknown): object {
    const { verb } = (body as { spec: { resourceAttributes: { verb: string } } }).spec.resourceAttributes;
    return { ...(body as object), status: { allowed: !this.denied.includes(verb) } };
  }

  #object(path: string): object {
    const object = this.objects.get(path);
    if (object === undefined) throw new Refusal(404, 'NotFound', `${path.split('/').at(-2)} "${path.split('/').at(-1)}" not found`);
    return object;
  }

  #list(query: URLSearchParams): object {
    const [key = '', value] = (query.get('labelSelector') ?? '').split('=');
    const items = [...this.#claims.values()].filter(({ metadata }) => key === '' || metadata.labels?.[key] === value);
    return { items, metadata: { resourceVersion: String(this.#version) } };
  }

  #create(claim: SandboxClaim, query: URLSearchParams): SandboxClaim {
    if (!this.namespaceExists) throw new Refusal(404, 'NotFound', `namespaces "${namespace}" not found`);
    const { name } = claim.metadata;
    if (this.#claims.has(name)) throw new Refusal(409, 'AlreadyExists', `sandboxclaims "${name}" already exists`);
    if (query.get('dryRun') === 'All') return claim;
    const creationTimestamp = new Date(Math.floor(Date.now() / 1000) * 1000).toISOString();
    const made = { ...claim, metadata: { ...claim.metadata, namespace, uid: crypto.randomUUID(), creationTimestamp } };
    const stored = this.#store('ADDED', made);
    // the controller hears of it after whoever made it
    if (!this.refuseReady) setImmediate(() => this.#options.onClaim?.(stored, this));
    return stored;
  }

  #one(method: string, name: string, body: unknown): SandboxClaim | object {
    const claim = this.#claims.get(name);
    if (claim === undefined) throw new Refusal(404, 'NotFound', `sandboxclaims.extensions.agents.x-k8s.io "${name}" not found`);
    if (method === 'GET') return claim;
    const { metadata, preconditions, spec } = body as Partial<SandboxClaim> & { preconditions?: { uid?: string } };
    const expected = { ...metadata, ...preconditions };
    const other = (key: 'uid' | 'resourceVersion') => expected[key] !== undefined && expected[key] !== claim.metadata[key];
    if (other('uid') || other('resourceVersion')) throw new Refusal(409, 'Conflict', `the object ${name} has been modified`);
    if (method === 'DELETE') {
      this.remove(name);
      return { kind: 'Status', status: 'Success' };
    }
    const annotations = { ...claim.metadata.annotations, ...metadata?.annotations };
    const lifecycle = { ...claim.spec.lifecycle, ...spec?.lifecycle };
    return this.#store('MODIFIED', { ...claim, metadata: { ...claim.metadata, annotations }, spec: { ...claim.spec, lifecycle } });
  }

  #store(type: 'ADDED' | 'MODIFIED', claim: SandboxClaim): SandboxClaim {
    this.#version += 1;
    const stored = { ...claim, metadata: { ...claim.metadata, resourceVersion: String(this.#version) } };
    const { name } = stored.metadata;
    this.#claims.set(name, stored);
    this.#record(type, stored);
    clearTimeout(this.#timers.get(name));
    const ends = Date.parse(stored.spec.lifecycle?.shutdownTime ?? '') - Date.now();
    if (Number.isFinite(ends))
      this.#timers.set(name, setTimeout(() => this.remove(name), Math.min(Math.max(0, ends), LONGEST_TIMER_MS)).unref());
    return stored;
  }

  #record(type: Change['type'], object: SandboxClaim): void {
    if (type === 'DELETED') this.#version += 1;
    const change = { version: this.#version, type, object };
    this.#history.push(change);
    for (const { res, name } of this.#watchers) tell(res, name, change);
  }

  #watch(query: URLSearchParams, res: ServerResponse): void {
    res.writeHead(200, { 'content-type': 'application/json' });
    res.flushHeaders();
    const since = Number(query.get('resourceVersion'));
    if (since < this.#oldest) {
      return void res.end(eventLine('ERROR', { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' }));
    }
    const name = query.get('fieldSelector')?.replace('metadata.name=', '');
    for (const change of this.#history) if (change.version > since) tell(res, name, change);
    const watcher = { res, name };
    this.#watchers.add(watcher);
    res.on('close', () => this.#watchers.delete(watcher));
  }
}

export function collectionPath(plural: string, name: string): string {
  return `/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/${namespace}/${plural}/${name}`;
}

/** As agent-sandbox says it when a claim has its sandbox: name, addresses and Ready at once. */
export function readyStatus(address: string, sandbox = 'default-abcde'): Status {
  return { sandbox: { name: sandbox, podIPs: [address] }, conditions: [condition('True', 'DependenciesReady', 'Pod is Ready')] };
}

export function condition(status: 'True' | 'False', reason: string, message: string): NonNullable<Status['conditions']>[number] {
  return { type: 'Ready', status, reason, message, lastTransitionTime: new Date(0).toISOString() };
}

function tell(res: ServerResponse, name: string | undefined, { type, object }: Change): void {
  if (name === undefined || object.metadata.name === name) res.write(eventLine(type, object));
}

function eventLine(type: string, object: object): string {
  return `${JSON.stringify({ type, object })}\n`;
}
