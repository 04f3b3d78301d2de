import type { Log } from '../../lib/log.ts';
import type { KubeClient } from '../../lib/kube/client.ts';
import { isKubeError } from '../../lib/kube/errors.ts';
import type { Events, Regarding } from '../kube/events.ts';
import { objectPath, paths, type ConfigMap } from '../../lib/kube/objects.ts';
import { WorkQueue } from '../kube/queue.ts';
import { FIELD_MANAGER, declaredBy, type DeclaredConfigMap } from './configmap.ts';
import type { ConfigMapSource } from './configmaps.ts';
import { eventBetween, planShowing, statusIn, toolsChanged, type Showing } from './status-shown.ts';
import type { DeclarationStatus, OperatorView, StatusSink } from './status.ts';
import { messageOf } from '../../lib/error-message.ts';

export interface ConfigMapStatusOptions {
  readonly client: Pick<KubeClient, 'apply' | 'find'>;
  readonly source: Pick<ConfigMapSource, 'find' | 'onConfigMaps'>;
  readonly events: Pick<Events, 'tell'>;
  /** what an Event about the operator itself is attached to */
  readonly self: Regarding;
  readonly log: Log;
  /** whether this process is the one that works */
  readonly mayWrite: () => boolean;
  readonly onWrite?: (outcome: 'done' | 'conflict' | 'failed') => void;
  /** wait after the first change of many; @default 250 */
  readonly settleMs?: number;
  /** Unix ms */
  readonly now?: () => number;
}

/** A new declaration goes through several states in a fraction of a second; the last of them is written. */
const SETTLE_MS = 250;
const WRITES_AT_A_TIME = 4;
/** A server that builds its tools anew each time must not fill the Events. */
const TOOL_CHANGE_EVERY_MS = 10 * 60_000;

/** What was written last, and what the ConfigMap looked like before: until that is seen to change, it is not written again. */
interface Written {
  readonly over: DeclaredConfigMap;
  readonly status: DeclarationStatus;
  readonly text: string;
}

/** Shows each declaration's status in its own ConfigMap, when it changed and at no other time, and tells the change in an Event. */
export class ConfigMapStatus implements StatusSink {
  readonly #options: ConfigMapStatusOptions;
  readonly #now: () => number;
  readonly #queue: WorkQueue;
  #statuses: ReadonlyMap<string, DeclarationStatus> = new Map();
  readonly #written = new Map<string, Written>();
  /** last known, by source: to tell a ConfigMap that lost its label from one that is gone */
  readonly #uids = new Map<string, string>();
  /** uid to fields that others own, as told */
  readonly #foreign = new Map<string, string>();
  readonly #toolsToldAt = new Map<string, number>();
  #dirty = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #suspicious = false;
  #closed = false;

  constructor(options: ConfigMapStatusOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#queue = new WorkQueue({
      work: (source, signal) => this.#show(source, signal),
      concurrency: WRITES_AT_A_TIME,
      onFailure: (source, error, waitMs) => {
        options.onWrite?.('failed');
        options.log.warn(
          { source, reason: messageOf(error), waitMs: Math.round(waitMs) },
          'a status could not be written; it is tried again',
        );
      },
    });
    options.source.onConfigMaps((sources) => this.#later(sources));
  }

  async write({ declarations, selfSuspicion }: OperatorView): Promise<void> {
    const before = this.#statuses;
    this.#statuses = new Map(declarations.map((status) => [status.source, status]));
    this.#later(declarations.filter((status) => before.get(status.source) !== status).map(({ source }) => source));
    this.#suspect(selfSuspicion === true);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#queue.close();
  }

  #later(sources: Iterable<string>): void {
    for (const source of sources) this.#dirty.add(source);
    if (this.#dirty.size === 0 || this.#closed) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const due = this.#dirty;
      this.#dirty = new Set();
      for (const source of due) if (this.#needsWork(source)) this.#queue.add(source);
    }, this.#options.settleMs ?? SETTLE_MS);
  }

  #needsWork(source: string): boolean {
    const there = this.#options.source.find(source);
    if (there === undefined) return this.#uids.has(source);
    this.#uids.set(source, there.uid);
    const status = this.#statuses.get(source);
    return status !== undefined && this.#plan(status, there) !== undefined;
  }

  /** @returns undefined when there is nothing to write */
  #plan(status: DeclarationStatus, there: DeclaredConfigMap): Showing | undefined {
    const plan = planShowing(status, there);
    this.#noteForeign(there, plan);
    const written = this.#written.get(status.source);
    if (written?.over === there) return written.text === textOf(plan) ? undefined : plan;
    return plan.due ? plan : undefined;
  }

  async #show(source: string, signal: AbortSignal): Promise<void> {
    const there = this.#options.source.find(source);
    if (there === undefined) return this.#clear(source, signal);
    const status = this.#statuses.get(source);
    const plan = status === undefined ? undefined : this.#plan(status, there);
    if (status === undefined || plan === undefined) return;
    const last = this.#written.get(source);
    const before = last?.over === there ? last.status : statusIn(source, there.status);
    const done = await this.#try(there, plan, signal);
    if (signal.aborted) return;
    if (done) this.#tell(there, before, status);
    this.#written.set(source, { over: there, status, text: textOf(plan) });
  }

  /** @returns false when the ConfigMap is gone, another one has its name, or somebody took a field: each of them shows in the ConfigMap itself */
  async #try({ raw: { source }, uid }: DeclaredConfigMap, plan: Showing, signal: AbortSignal): Promise<boolean> {
    const { onWrite, log } = this.#options;
    try {
      await this.#apply(source, uid, plan, signal);
      onWrite?.('done');
      return true;
    } catch (error) {
      if (signal.aborted || !isKubeError(error, 'conflict', 'not-found', 'invalid')) throw error;
      onWrite?.('conflict');
      log.info({ source, reason: error.message }, 'a status was not written: the ConfigMap is not as it was');
      return false;
    }
  }

  async #apply(
    source: string,
    uid: string,
    { annotations, labels }: Pick<Showing, 'annotations' | 'labels'>,
    signal: AbortSignal,
  ): Promise<void> {
    if (!this.#options.mayWrite()) throw new Error('nothing is written: this process may no longer be the one that works');
    const [namespace = '', name = ''] = source.split('/');
    // with the uid, a ConfigMap that was deleted meanwhile is not made anew
    const metadata = { name, namespace, uid, ...filled({ annotations, labels }) };
    const fields: ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata };
    await this.#options.client.apply(objectPath(paths.configMaps(namespace), name), fields, { fieldManager: FIELD_MANAGER, signal });
  }

  /** A ConfigMap that lost its label is no declaration any more: it should not go on saying what became of it. */
  async #clear(source: string, signal: AbortSignal): Promise<void> {
    const uid = this.#uids.get(source);
    if (uid === undefined) return;
    const [namespace = '', name = ''] = source.split('/');
    const found = await this.#options.client.find<ConfigMap>(objectPath(paths.configMaps(namespace), name), { signal });
    const left = found === undefined ? undefined : declaredBy(found);
    if (left?.uid === uid && left.status.value !== undefined && left.status.foreign === undefined) {
      await this.#apply(source, uid, { annotations: {}, labels: {} }, signal).catch((error: unknown) => {
        if (!isKubeError(error, 'conflict', 'not-found')) throw error;
      });
    }
    for (const memory of [this.#uids, this.#written, this.#toolsToldAt]) memory.delete(source);
    this.#foreign.delete(uid);
  }

  #tell(there: DeclaredConfigMap, before: DeclarationStatus | undefined, after: DeclarationStatus): void {
    const news = eventBetween(before, after) ?? this.#toolNews(before, after);
    if (news !== undefined) this.#options.events.tell(regarding(there), news);
  }

  #toolNews(before: DeclarationStatus | undefined, after: DeclarationStatus) {
    const news = toolsChanged(before, after);
    const now = this.#now();
    if (news === undefined || now < (this.#toolsToldAt.get(after.source) ?? -Infinity) + TOOL_CHANGE_EVERY_MS) return undefined;
    this.#toolsToldAt.set(after.source, now);
    return news;
  }

  #noteForeign(there: DeclaredConfigMap, { foreign }: Showing): void {
    const told = foreign.join(', ');
    if ((this.#foreign.get(there.uid) ?? '') === told) return;
    this.#foreign.set(there.uid, told);
    if (told === '') return;
    const message = `not written, since other field managers own it: ${told}. Remove it from their manifests and from the ConfigMap`;
    this.#options.log.warn({ source: there.raw.source, fields: foreign }, 'a status is left alone: other field managers own it');
    this.#options.events.tell(regarding(there), { type: 'Warning', reason: 'StatusNotOurs', message });
  }

  #suspect(selfSuspicion: boolean): void {
    if (selfSuspicion === this.#suspicious) return;
    this.#suspicious = selfSuspicion;
    const { events, self } = this.#options;
    if (selfSuspicion) {
      const message = 'most servers stopped answering at once: the fault is probably here, so no record is deprecated';
      events.tell(self, { type: 'Warning', reason: 'SelfSuspicion', message });
    } else {
      events.tell(self, {
        type: 'Normal',
        reason: 'SelfSuspicionOver',
        message: 'servers answer again, or stopped for reasons of their own',
      });
    }
  }
}

/** Whoever applies an empty map owns the whole of it. */
function filled<T extends Readonly<Record<string, object>>>(maps: T): Partial<T> {
  return Object.fromEntries(Object.entries(maps).filter(([, map]) => Object.keys(map).length > 0)) as Partial<T>;
}

function textOf({ annotations, labels }: Showing): string {
  return JSON.stringify([annotations, labels]);
}

function regarding({ raw, uid }: DeclaredConfigMap): Regarding {
  return { apiVersion: 'v1', kind: 'ConfigMap', namespace: raw.namespace, name: raw.source.slice(raw.namespace.length + 1), uid };
}
