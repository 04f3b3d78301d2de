import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../../lib/log.ts';
import type { KubeClient, Selection } from '../../lib/kube/client.ts';
import { KubeError } from '../../lib/kube/errors.ts';
import { keyOf, type KubeObject } from '../../lib/kube/objects.ts';
import type { WatchEvent } from '../../lib/kube/watch-lines.ts';

export interface ReflectorOptions<T extends KubeObject, Kept> {
  readonly client: Pick<KubeClient, 'pages' | 'watch'>;
  /** of the collection */
  readonly path: string;
  readonly selection?: Selection;
  /** what of an object is kept in memory; the same input must give an equal result */
  readonly keep: (object: T) => Kept;
  /** keys whose objects came, changed or went; also called, with none, when reading ends or begins to work */
  readonly onChange: (keys: ReadonlySet<string>) => void;
  readonly log: Log;
  /** told why a collection is listed, or a watch is begun anew */
  readonly onRestart?: (what: 'list' | 'watch', why: string) => void;
  /** how long a watch may last, and may be overdue then, ms; @default 4 to 5 minutes, and 15 s */
  readonly watchMs?: { readonly least: number; readonly most: number; readonly silence: number };
  /** ms, steady */
  readonly now?: () => number;
  readonly random?: () => number;
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/**
 * The server ends a watch after this; spread, so that those that began together do not end together. One that is still there some time after
 * its end has lost its connection without noticing.
 */
const WATCH_MS = { least: 240_000, most: 300_000, silence: 15_000 };
const FIRST_WAIT_MS = 200;
const LONGEST_WAIT_MS = 5_000;
/** A watch that ends sooner did not work. */
const SHORT_WATCH_MS = 1_000;

/** The objects of a collection that fit, kept equal to the API server's by one list and a watch that goes on from it. */
export class Reflector<T extends KubeObject, Kept> {
  readonly #options: ReflectorOptions<T, Kept>;
  readonly #now: () => number;
  readonly #random: () => number;
  readonly #wait: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly #end = new AbortController();
  readonly #items = new Map<string, Kept>();
  /** where to go on; undefined: list first */
  #resourceVersion: string | undefined;
  #synced = false;
  #trouble: string | undefined;
  #failures = 0;
  #running: Promise<void> | undefined;
  readonly #tried = Promise.withResolvers<void>();

  constructor(options: ReflectorOptions<T, Kept>) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#random = options.random ?? Math.random;
    this.#wait = options.wait ?? ((ms, signal) => delay(ms, undefined, { signal }));
  }

  /** By `namespace/name`. */
  get items(): ReadonlyMap<string, Kept> {
    return this.#items;
  }

  /** whether the collection was read in full once: then nothing that is missing here was there at that time */
  get synced(): boolean {
    return this.#synced;
  }

  /** why nothing new is learned at the moment */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  /** Resolves when the first list succeeded or failed. */
  async start(): Promise<void> {
    this.#running ??= this.#run().finally(() => this.#tried.resolve());
    await this.#tried.promise;
  }

  async close(): Promise<void> {
    this.#end.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#end;
    while (!signal.aborted) {
      try {
        if (this.#resourceVersion === undefined) await this.#list();
        const startedAt = this.#now();
        await this.#watch();
        if (this.#now() - startedAt < SHORT_WATCH_MS) await this.#pause(undefined);
        else this.#failures = 0;
      } catch (error) {
        if (signal.aborted) break;
        await this.#recover(error);
      }
    }
  }

  async #list(): Promise<void> {
    const { client, path, selection, keep, log } = this.#options;
    const listed = new Map<string, Kept>();
    let resourceVersion: string | undefined;
    for await (const page of client.pages<T>(path, selection, { signal: this.#end.signal })) {
      for (const object of page.items) listed.set(keyOf(object), keep(object));
      resourceVersion = page.metadata.resourceVersion;
    }
    if (resourceVersion === undefined || resourceVersion === '') throw new KubeError('protocol', `list ${path}: it has no resourceVersion`);
    const changed = new Set<string>();
    for (const key of this.#items.keys()) {
      if (listed.has(key)) continue;
      this.#items.delete(key);
      changed.add(key);
    }
    for (const [key, kept] of listed) {
      if (isSame(kept, this.#items.get(key))) continue;
      this.#items.set(key, kept);
      changed.add(key);
    }
    this.#resourceVersion = resourceVersion;
    const first = !this.#synced;
    this.#synced = true;
    if (first) log.info({ path, objects: listed.size }, 'the collection was read in full');
    this.#works(changed, first);
    this.#tried.resolve();
  }

  async #watch(): Promise<void> {
    const { client, path, selection = {}, watchMs: { least, most, silence: overdueMs } = WATCH_MS } = this.#options;
    const timeoutMs = least + this.#random() * (most - least);
    const timeoutSeconds = Math.ceil(timeoutMs / 1000);
    const silence = new AbortController();
    const timer = setTimeout(() => silence.abort(new KubeError('timeout', `watch ${path}: silent after its end`)), timeoutMs + overdueMs);
    const signal = AbortSignal.any([this.#end.signal, silence.signal]);
    try {
      const resourceVersion = this.#resourceVersion ?? '';
      const events = await client.watch<T>(path, { ...selection, resourceVersion, timeoutSeconds, signal });
      this.#works(new Set(), false);
      for await (const event of events) this.#take(event);
    } finally {
      clearTimeout(timer);
    }
  }

  #take({ type, object }: WatchEvent<T>): void {
    const { resourceVersion } = object.metadata;
    const key = keyOf(object);
    const changed = new Set<string>();
    if (type === 'DELETED') {
      if (this.#items.delete(key)) changed.add(key);
    } else if (type !== 'BOOKMARK') {
      const kept = this.#options.keep(object);
      if (!isSame(kept, this.#items.get(key))) {
        this.#items.set(key, kept);
        changed.add(key);
      }
    }
    if (resourceVersion !== undefined && resourceVersion !== '') this.#resourceVersion = resourceVersion;
    this.#failures = 0;
    this.#works(changed, false);
  }

  #works(changed: ReadonlySet<string>, tell: boolean): void {
    const recovered = this.#trouble !== undefined;
    this.#trouble = undefined;
    if (recovered) this.#options.log.info({ path: this.#options.path }, 'the API server answers again');
    if (changed.size > 0 || recovered || tell) this.#options.onChange(changed);
  }

  async #recover(thrown: unknown): Promise<void> {
    const { path, onRestart, log } = this.#options;
    if (!(thrown instanceof KubeError)) log.error({ err: thrown, path }, 'reading a collection broke; it is read again');
    const error = thrown instanceof KubeError ? thrown : new KubeError('protocol', String(thrown));
    const relist = mustRelist(error, this.#failures);
    if (relist) this.#resourceVersion = undefined;
    onRestart?.(relist ? 'list' : 'watch', error.code);
    // that happens to whoever was away for long
    if (error.code !== 'gone') this.#noteTrouble(error.message);
    await this.#pause(error.retryAfterMs);
  }

  #noteTrouble(message: string): void {
    if (this.#trouble === message) return;
    const { path, log, onChange } = this.#options;
    if (this.#trouble === undefined) log.warn({ path, reason: message }, 'the API server does not tell of changes; it is asked again');
    this.#trouble = message;
    onChange(new Set());
  }

  async #pause(asked: number | undefined): Promise<void> {
    const longest = Math.min(FIRST_WAIT_MS * 2 ** this.#failures, LONGEST_WAIT_MS);
    this.#failures = Math.min(this.#failures + 1, 10);
    const ms = Math.max(longest * (0.5 + this.#random() / 2), asked ?? 0);
    this.#tried.resolve();
    await this.#wait(ms, this.#end.signal).catch(() => {});
  }
}

function isSame(a: unknown, b: unknown): boolean {
  return b !== undefined && JSON.stringify(a) === JSON.stringify(b);
}

/** An API server that starts, or is busy, says so for a while; one that never says anything else may be asked the wrong thing. */
const PATIENCE = 3;

/** A lost connection goes on where it was, as does one that was not let in; after any answer that refuses to go on, all is listed again. */
function mustRelist({ code, status }: KubeError, failures: number): boolean {
  if (status === undefined) return code === 'protocol';
  if (code === 'busy' || code === 'unauthorized' || code === 'forbidden') return false;
  return (code !== 'unavailable' && code !== 'timeout') || failures >= PATIENCE;
}
