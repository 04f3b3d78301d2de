import { setTimeout as delay } from 'node:timers/promises';
import { Agent, type Dispatcher } from 'undici';
import { gather } from '../bytes.ts';
import { version } from '../version.ts';
import type { Access } from './credentials.ts';
import { errorOf, isKubeError, KubeError, type ApiStatus } from './errors.ts';
import type { KubeList, KubeObject } from './objects.ts';
import { WatchLines, type WatchEvent } from './watch-lines.ts';

export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete';

export interface KubeClientOptions {
  readonly access: Access;
  /** for one call but a watch, ms; @default 10,000 */
  readonly timeoutMs?: number;
  /** told of each call when its answer begins, or fails */
  readonly onCall?: (call: CallNote) => void;
}

/** What became of a call. */
export interface CallNote {
  readonly verb: Verb;
  readonly path: string;
  /** the HTTP status, or what went wrong */
  readonly code: string;
  /** the server's time as its answer says it, RFC 9110, whole seconds */
  readonly date?: string | undefined;
}

export interface CallOptions {
  /** ends the call with the signal's own reason */
  readonly signal?: AbortSignal | undefined;
  /** instead of the client's own, ms */
  readonly timeoutMs?: number;
}

export interface Selection {
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

export interface WatchOptions extends Selection, CallOptions {
  readonly resourceVersion: string;
  /** after this the server ends the watch by itself, s */
  readonly timeoutSeconds: number;
}

/** What must be so still. */
export interface DeleteOptions extends CallOptions {
  /** `conflict` when the object of that name is another one by now, or changed */
  readonly preconditions?: { readonly uid?: string | undefined; readonly resourceVersion?: string | undefined };
}

/** Who sets the fields of a server-side apply. */
export interface ApplyOptions extends CallOptions {
  readonly fieldManager: string;
  /** take over fields of other managers; @default false */
  readonly force?: boolean;
}

const TIMEOUT_MS = 10_000;
/** Objects per page of a list: what client-go asks for too. */
const PAGE_SIZE = 500;
/** 500 objects of the largest size that etcd takes. */
const MAX_ANSWER_BYTES = 1024 * 1024 * 1024;
const CONNECT_TIMEOUT_MS = 5_000;

interface Call {
  readonly verb: Verb;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
  readonly contentType?: string;
}

/** A client of the Kubernetes API for the few calls that the operator makes. All methods throw KubeError, or the caller's own abort reason. */
export class KubeClient {
  readonly #options: KubeClientOptions;
  readonly #agent: Agent;
  readonly #base: string;
  readonly #origin: string;

  constructor(options: KubeClientOptions) {
    this.#options = options;
    const { origin, pathname } = new URL(options.access.url);
    this.#origin = origin;
    this.#base = pathname === '/' ? '' : pathname;
    this.#agent = new Agent({ connect: { ...options.access.tls, timeout: CONNECT_TIMEOUT_MS }, allowH2: false });
  }

  get url(): string {
    return this.#options.access.url;
  }

  async get<T extends KubeObject>(path: string, options: CallOptions = {}): Promise<T> {
    return (await this.#json({ verb: 'get', method: 'GET', path }, options)) as T;
  }

  /** @returns undefined when there is none of that name */
  async find<T extends KubeObject>(path: string, options: CallOptions = {}): Promise<T | undefined> {
    try {
      return await this.get<T>(path, options);
    } catch (error) {
      if (isKubeError(error, 'not-found')) return undefined;
      throw error;
    }
  }

  /** Pages of a collection, all of one moment. `gone` when that moment is too long ago to go on. */
  async *pages<T extends KubeObject>(path: string, selection: Selection = {}, options: CallOptions = {}): AsyncGenerator<KubeList<T>> {
    let next: string | undefined;
    do {
      const query = { ...selection, limit: String(PAGE_SIZE), continue: next };
      const page = (await this.#json({ verb: 'list', method: 'GET', path, query }, options)) as KubeList<T>;
      yield page;
      next = page.metadata.continue === '' ? undefined : page.metadata.continue;
    } while (next !== undefined);
  }

  async list<T extends KubeObject>(path: string, selection: Selection = {}, options: CallOptions = {}): Promise<readonly T[]> {
    const items: T[] = [];
    for await (const page of this.pages<T>(path, selection, options)) items.push(...page.items);
    return items;
  }

  async create<T extends KubeObject>(path: string, object: T, options: CallOptions = {}): Promise<T> {
    return (await this.#json({ verb: 'create', method: 'POST', path, body: object }, options)) as T;
  }

  /** Writes an object as a whole; `conflict` when its resourceVersion is not the present one. */
  async replace<T extends KubeObject>(path: string, object: T, options: CallOptions = {}): Promise<T> {
    return (await this.#json({ verb: 'update', method: 'PUT', path, body: object }, options)) as T;
  }

  /** JSON merge patch (RFC 7386). */
  async merge<T extends KubeObject>(path: string, patch: unknown, options: CallOptions = {}): Promise<T> {
    const call: Call = { verb: 'patch', method: 'PATCH', path, body: patch, contentType: 'application/merge-patch+json' };
    return (await this.#json(call, options)) as T;
  }

  /** Server-side apply. With a uid in its metadata an object that is gone is not made anew: that is a `conflict`. */
  async apply<T extends KubeObject>(path: string, object: T, { fieldManager, force = false, ...options }: ApplyOptions): Promise<T> {
    const query = { fieldManager, force: String(force) };
    const call: Call = { verb: 'patch', method: 'PATCH', path, query, body: object, contentType: 'application/apply-patch+yaml' };
    return (await this.#json(call, options)) as T;
  }

  async delete(path: string, { preconditions, ...options }: DeleteOptions = {}): Promise<void> {
    const body = preconditions && { apiVersion: 'v1', kind: 'DeleteOptions', preconditions };
    await this.#json({ verb: 'delete', method: 'DELETE', path, body }, options);
  }

  /**
   * Events after a resourceVersion, until the server ends the stream; resolves when the stream has begun. Its ERROR events are thrown: 410 comes inside a stream that began with
   * 200. The stream may be silent for as long as it lasts: its end is the caller's to watch.
   */
  async watch<T extends KubeObject>(path: string, options: WatchOptions): Promise<AsyncGenerator<WatchEvent<T>>> {
    const { labelSelector, fieldSelector, resourceVersion, timeoutSeconds, signal } = options;
    const query = {
      watch: '1',
      allowWatchBookmarks: 'true',
      resourceVersion,
      timeoutSeconds: String(timeoutSeconds),
      labelSelector,
      fieldSelector,
    };
    const call: Call = { verb: 'watch', method: 'GET', path, query };
    const { body } = await this.#send(call, { signal, bodyTimeout: 0 });
    return eventsIn<T>(call, body, signal);
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  async #json(call: Call, { signal, timeoutMs = this.#options.timeoutMs ?? TIMEOUT_MS }: CallOptions): Promise<unknown> {
    const deadline = AbortSignal.timeout(timeoutMs);
    const ends = signal === undefined ? deadline : AbortSignal.any([signal, deadline]);
    try {
      const { body } = await this.#send(call, { signal: ends, bodyTimeout: timeoutMs });
      return await parsed(call, body);
    } catch (error) {
      if (signal?.aborted !== true && deadline.aborted) {
        throw new KubeError('timeout', `${actionOf(call)}: no answer within ${timeoutMs / 1000} s; it is tried again`, { cause: error });
      }
      throw failure(call, error, signal);
    }
  }

  /** @returns a good answer */
  async #send(call: Call, options: { signal: AbortSignal | undefined; bodyTimeout: number }): Promise<Dispatcher.ResponseData> {
    try {
      const first = await this.#request(call, { ...options, renew: false });
      if (first.statusCode !== 401) return await this.#accepted(call, first);
      // a token that was replaced since it was read
      await first.body.dump();
      return await this.#accepted(call, await this.#request(call, { ...options, renew: true }));
    } catch (error) {
      const known = failure(call, error, options.signal);
      if (known instanceof KubeError && known.status === undefined) this.#note(call, known.code);
      throw known;
    }
  }

  async #accepted(call: Call, answer: Dispatcher.ResponseData): Promise<Dispatcher.ResponseData> {
    const { date } = answer.headers;
    this.#note(call, String(answer.statusCode), typeof date === 'string' ? date : undefined);
    if (answer.statusCode < 300) return answer;
    const retryAfter = answer.headers['retry-after'];
    throw errorOf(actionOf(call), answer.statusCode, await statusOf(answer.body), typeof retryAfter === 'string' ? retryAfter : undefined);
  }

  async #request(
    { method, path, query = {}, body, contentType = 'application/json' }: Call,
    { signal, bodyTimeout, renew }: { signal: AbortSignal | undefined; bodyTimeout: number; renew: boolean },
  ): Promise<Dispatcher.ResponseData> {
    const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
    const search = given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
    const authorization = await this.#options.access.headers(renew);
    return this.#agent.request({
      origin: this.#origin,
      path: `${this.#base}${path}${search}`,
      method,
      headers: {
        ...authorization,
        accept: 'application/json',
        'user-agent': `toolyard/${version}`,
        ...(body !== undefined && { 'content-type': contentType }),
      },
      body: body === undefined ? null : JSON.stringify(body),
      headersTimeout: this.#options.timeoutMs ?? TIMEOUT_MS,
      bodyTimeout,
      ...(signal !== undefined && { signal }),
    });
  }

  #note({ verb, path }: Call, code: string, date?: string): void {
    this.#options.onCall?.({ verb, path, code, date });
  }
}

async function* eventsIn<T extends KubeObject>(
  call: Call,
  body: Dispatcher.ResponseData['body'],
  signal: AbortSignal | undefined,
): AsyncGenerator<WatchEvent<T>> {
  const lines = new WatchLines<T>(actionOf(call));
  try {
    for await (const chunk of body) yield* lines.take(chunk as Buffer);
  } catch (error) {
    throw failure(call, error, signal);
  }
}

function actionOf({ verb, path }: Call): string {
  return `${verb} ${path}`;
}

async function parsed(call: Call, body: Dispatcher.ResponseData['body']): Promise<unknown> {
  const read = await gather(body, MAX_ANSWER_BYTES);
  if (read === undefined) throw new KubeError('protocol', `${actionOf(call)}: its answer has more than ${MAX_ANSWER_BYTES} bytes`);
  try {
    return JSON.parse(read.toString('utf8'));
  } catch (cause) {
    throw new KubeError('protocol', `${actionOf(call)}: its answer is not JSON: does an API server answer there?`, { cause });
  }
}

async function statusOf(body: Dispatcher.ResponseData['body']): Promise<ApiStatus> {
  const text = await body.text();
  try {
    const status = JSON.parse(text) as ApiStatus;
    return status.kind === 'Status' ? status : {};
  } catch {
    return { message: text.slice(0, 200).trim() };
  }
}

/** What a caller gets: its own reason, a KubeError as it is, or `unavailable` for whatever happened to the connection. */
function failure(call: Call, error: unknown, signal: AbortSignal | undefined): unknown {
  if (signal?.aborted === true) return signal.reason;
  if (error instanceof KubeError) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  const timedOut = code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT' || code === 'UND_ERR_CONNECT_TIMEOUT';
  return new KubeError(timedOut ? 'timeout' : 'unavailable', `${actionOf(call)}: ${message || code || 'the connection broke'}`, {
    cause: error,
  });
}

/** Tries again what failed for reasons that pass by themselves. @throws what the last try threw */
export async function retried<T>(tries: number, call: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  for (let left = tries - 1; ; left -= 1) {
    try {
      return await call();
    } catch (error) {
      if (left === 0 || !isKubeError(error, 'unavailable', 'timeout', 'busy')) throw error;
      await delay(Math.min(error.retryAfterMs ?? 200, 5_000), undefined, { ...(signal !== undefined && { signal }) });
    }
  }
}
