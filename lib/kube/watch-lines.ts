import { Bytes } from '../bytes.ts';
import { errorOf, KubeError, type ApiStatus } from './errors.ts';
import type { KubeObject } from './objects.ts';

/** One change of a collection, or a BOOKMARK, of whose object only the resourceVersion counts. */
export interface WatchEvent<T extends KubeObject> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: T;
}

/** An object that etcd takes is smaller; beside it stands what the API server adds. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;
const NEWLINE = 0x0a;

const changes: ReadonlySet<string> = new Set(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK']);

/** Cuts a watch's stream into events, wherever its chunks end. */
export class WatchLines<T extends KubeObject> {
  readonly #action: string;
  #line = new Bytes();

  constructor(action: string) {
    this.#action = action;
  }

  /** The events that end in this chunk. @throws KubeError for an ERROR event, and for what is no event */
  *take(chunk: Buffer): Generator<WatchEvent<T>> {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
      this.#line.add(chunk.subarray(from, end));
      const line = this.#line.all.toString('utf8');
      this.#line = new Bytes();
      from = end + 1;
      if (line.trim() !== '') yield this.#event(line);
    }
    this.#line.add(chunk.subarray(from));
    if (this.#line.length > MAX_LINE_BYTES)
      throw new KubeError('protocol', `${this.#action}: an event has more than ${MAX_LINE_BYTES} bytes`);
  }

  #event(line: string): WatchEvent<T> {
    let event: { type?: unknown; object?: unknown };
    try {
      event = JSON.parse(line) as typeof event;
    } catch (cause) {
      throw new KubeError('protocol', `${this.#action}: an event is not JSON`, { cause });
    }
    const { type, object } = event;
    if (type === 'ERROR') {
      const status = (object ?? {}) as ApiStatus;
      throw errorOf(this.#action, status.code ?? 500, status);
    }
    if (typeof type !== 'string' || !changes.has(type)) throw new KubeError('protocol', `${this.#action}: an event of an unknown type`);
    return event as WatchEvent<T>;
  }
}
