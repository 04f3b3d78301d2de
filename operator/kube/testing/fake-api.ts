import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ConfigMap } from '../../../lib/kube/objects.ts';

interface Change {
  readonly version: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: ConfigMap;
}

interface Watcher {
  readonly res: ServerResponse;
  readonly selector: string | undefined;
}

/**
 * One collection of ConfigMaps as an API server serves it: pages, watches with bookmarks, selectors, positions that are too old. That it does
 * as the real one does is what the contract of reflectors is run against both for.
 */
export class FakeApi {
  readonly #server: Server;
  readonly #objects = new Map<string, ConfigMap>();
  readonly #watchers = new Set<Watcher>();
  #history: Change[] = [];
  #version = 100;
  /** positions before this are too old */
  #oldest = 0;
  /** lists that were begun, and watches */
  lists = 0;
  watches = 0;
  /** what the next watches say at once, instead of anything else */
  errors: readonly object[] = [];
  /** watches begin, and say nothing ever after, not even their end */
  silent = false;

  private constructor() {
    this.#server = createServer((req, res) => this.#serve(req, res));
  }

  static async start(): Promise<FakeApi> {
    const api = new FakeApi();
    api.#server.listen(0, '127.0.0.1');
    await once(api.#server, 'listening');
    return api;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  put(name: string, labels: Readonly<Record<string, string>>, value: string): void {
    const before = this.#objects.get(name);
    this.#version += 1;
    const metadata = {
      name,
      namespace: 'default',
      uid: before?.metadata.uid ?? `uid-${this.#version}`,
      labels,
      resourceVersion: String(this.#version),
    };
    const object: ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { value } };
    this.#objects.set(name, object);
    this.#record({ version: this.#version, type: before === undefined ? 'ADDED' : 'MODIFIED', object }, before);
  }

  remove(name: string): void {
    const before = this.#objects.get(name);
    if (before === undefined) return;
    this.#objects.delete(name);
    this.#version += 1;
    const object = { ...before, metadata: { ...before.metadata, resourceVersion: String(this.#version) } };
    this.#record({ version: this.#version, type: 'DELETED', object }, before);
  }

  /** Ends every connection. */
  cut(): void {
    this.#server.closeAllConnections();
    this.#watchers.clear();
  }

  /** Forgets what happened before now: whoever was away has to list again. */
  forget(): void {
    this.#history = [];
    this.#oldest = this.#version;
  }

  async close(): Promise<void> {
    this.#server.close();
    this.cut();
    await once(this.#server, 'close');
  }

  #record(change: Change, before: ConfigMap | undefined): void {
    this.#history.push(change);
    for (const watcher of this.#watchers) tell(watcher, change, before);
  }

  #serve(req: IncomingMessage, res: ServerResponse): void {
    const query = new URL(req.url ?? '/', 'http://x').searchParams;
    if (query.get('watch') === '1') return this.#watch(query, res);
    return this.#list(query, res);
  }

  #list(query: URLSearchParams, res: ServerResponse): void {
    const from = Number(query.get('continue') ?? 0);
    if (from === 0) this.lists += 1;
    const limit = Number(query.get('limit') ?? 500);
    const all = [...this.#objects.values()].filter((object) => fits(object, query.get('labelSelector') ?? undefined));
    const items = all.slice(from, from + limit);
    const rest = from + limit < all.length ? { continue: String(from + limit) } : {};
    res.setHeader('content-type', 'application/json');
    res.end(JSON.stringify({ kind: 'ConfigMapList', metadata: { resourceVersion: String(this.#version), ...rest }, items }));
  }

  #watch(query: URLSearchParams, res: ServerResponse): void {
    this.watches += 1;
    res.writeHead(200, { 'content-type': 'application/json' });
    res.flushHeaders();
    const [error, ...others] = this.errors;
    this.errors = others;
    const since = Number(query.get('resourceVersion'));
    const tooOld = { kind: 'Status', code: 410, reason: 'Expired', message: `too old resource version: ${since} (${this.#oldest})` };
    if (error !== undefined || since < this.#oldest) return void res.end(eventLine('ERROR', error ?? tooOld));
    if (this.silent) return;
    const watcher = { res, selector: query.get('labelSelector') ?? undefined };
    for (const change of this.#history) if (change.version > since) tell(watcher, change, undefined);
    this.#watchers.add(watcher);
    res.on('close', () => this.#watchers.delete(watcher));
  }
}

/** With a selector, a change into it is an addition, and one out of it a deletion. */
function tell({ res, selector }: Watcher, { type, object, version }: Change, before: ConfigMap | undefined): void {
  const [was, is] = [before !== undefined && fits(before, selector), type !== 'DELETED' && fits(object, selector)];
  if (is) res.write(eventLine(was ? 'MODIFIED' : 'ADDED', object));
  else if (was || type === 'DELETED' || before === undefined) res.write(eventLine('DELETED', object));
  else res.write(eventLine('BOOKMARK', { kind: 'ConfigMap', metadata: { resourceVersion: String(version) } }));
}

function fits({ metadata: { labels = {} } }: ConfigMap, selector: string | undefined): boolean {
  if (selector === undefined) return true;
  const [key = '', value] = selector.split('=');
  return labels[key] === value;
}

function eventLine(type: string, object: object): string {
  return `${JSON.stringify({ type, object })}\n`;
}
