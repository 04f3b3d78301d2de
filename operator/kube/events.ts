import { createHash } from 'node:crypto';
import PQueue from 'p-queue';
import type { Log } from '../../lib/log.ts';
import { retried, type KubeClient } from '../../lib/kube/client.ts';
import { isKubeError } from '../../lib/kube/errors.ts';
import { objectPath, paths, type KubeObject } from '../../lib/kube/objects.ts';
import { messageOf } from '../../lib/error-message.ts';

/** The object that an Event is about. */
export interface Regarding {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid?: string;
}

/** Something worth telling people who look at an object. */
export interface News {
  readonly type: 'Normal' | 'Warning';
  /** one word in CamelCase */
  readonly reason: string;
  readonly message: string;
}

export interface EventsOptions {
  readonly client: Pick<KubeClient, 'create' | 'merge'>;
  /** of this process */
  readonly instance: string;
  readonly log: Log;
  /** Unix ms */
  readonly now?: () => number;
}

/** events.k8s.io/v1 */
interface KubeEvent extends KubeObject {
  readonly eventTime: string;
  readonly reportingController: string;
  readonly reportingInstance: string;
  readonly action: string;
  readonly reason: string;
  readonly regarding: Regarding;
  readonly note: string;
  readonly type: string;
  readonly series?: { readonly count: number; readonly lastObservedTime: string };
}

/** The API takes 1,024 bytes. */
const MAX_NOTE_BYTES = 1000;
/** The same news again within this belongs to one series, ms. */
const SERIES_MS = 6 * 60_000;
const MOST_SERIES = 2_000;
/** The same news twice has to find what the first one left. */
const AT_A_TIME = 1;
/** Events are worth less than the memory for more of them. */
const MOST_WAITING = 2_000;
const TRIES = 3;

interface Series {
  readonly path: string;
  count: number;
  at: number;
}

/** Writes Events; the same news about the same object again only counts up. An Event that cannot be written is lost, and that is logged. */
export class Events {
  readonly #options: EventsOptions;
  readonly #now: () => number;
  readonly #queue = new PQueue({ concurrency: AT_A_TIME });
  readonly #end = new AbortController();
  /** in the order in which they were last seen */
  readonly #series = new Map<string, Series>();
  #lost = '';

  constructor(options: EventsOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  /** Returns at once. */
  tell(regarding: Regarding, news: News): void {
    if (this.#end.signal.aborted || this.#queue.size >= MOST_WAITING) return;
    void this.#queue.add(() => this.#write(regarding, news));
  }

  /** Forgets what waits. Resolves when nothing is being written. */
  async close(): Promise<void> {
    this.#end.abort(new Error('no more Events'));
    this.#queue.clear();
    await this.#queue.onIdle();
  }

  async #write(regarding: Regarding, news: News): Promise<void> {
    const key = JSON.stringify([regarding.kind, regarding.namespace, regarding.name, regarding.uid, news.type, news.reason, news.message]);
    try {
      const known = this.#series.get(key);
      const now = this.#now();
      if (known !== undefined && now - known.at < SERIES_MS && (await this.#countUp(known, now))) return this.#remember(key, known);
      const event = eventOf(regarding, news, { key, now, instance: this.#options.instance });
      const collection = paths.events(regarding.namespace);
      await this.#sent(() => this.#options.client.create(collection, event, { signal: this.#end.signal }));
      this.#remember(key, { path: objectPath(collection, event.metadata.name), count: 1, at: now });
      this.#lost = '';
    } catch (error) {
      if (!this.#end.signal.aborted) this.#noteLost(error);
    }
  }

  /** @returns false when the Event is gone by now: they live for an hour */
  async #countUp(series: Series, now: number): Promise<boolean> {
    const patch = { series: { count: series.count + 1, lastObservedTime: microTime(now) } };
    try {
      await this.#sent(() => this.#options.client.merge(series.path, patch, { signal: this.#end.signal }));
    } catch (error) {
      if (isKubeError(error, 'not-found')) return false;
      throw error;
    }
    series.count += 1;
    series.at = now;
    return true;
  }

  #sent<T>(send: () => Promise<T>): Promise<T> {
    return retried(TRIES, send, this.#end.signal);
  }

  #remember(key: string, series: Series): void {
    this.#series.delete(key);
    this.#series.set(key, series);
    const [oldest] = this.#series.keys();
    if (this.#series.size > MOST_SERIES && oldest !== undefined) this.#series.delete(oldest);
  }

  /** A right that is missing is told once. */
  #noteLost(error: unknown): void {
    const reason = messageOf(error);
    if (reason !== this.#lost) this.#options.log.warn({ reason }, 'an Event could not be written');
    this.#lost = reason;
  }
}

function eventOf(regarding: Regarding, { type, reason, message }: News, about: { key: string; now: number; instance: string }): KubeEvent {
  const { key, now, instance } = about;
  const digest = createHash('sha256').update(key).digest('hex').slice(0, 8);
  return {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: `${regarding.name.slice(0, 200)}.${digest}${now.toString(16)}`, namespace: regarding.namespace },
    eventTime: microTime(now),
    reportingController: 'toolyard.dev/operator',
    reportingInstance: instance.slice(0, 128),
    action: 'Reconcile',
    reason,
    regarding,
    note: cutBytes(message, MAX_NOTE_BYTES),
    type,
  };
}

/** RFC 3339 with microseconds, as the API writes these times. */
function microTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}

function cutBytes(text: string, most: number): string {
  if (Buffer.byteLength(text) <= most) return text;
  const cut = Buffer.from(text)
    .subarray(0, most - 3)
    .toString('utf8');
  // a character that was cut in two
  return `${cut.replace(/\uFFFD$/, '')}…`;
}
