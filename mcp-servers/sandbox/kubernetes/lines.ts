import { LRUCache } from 'lru-cache';
import type { SandboxClaim } from '../../../lib/kube/objects.ts';
import type { Runtime } from './runtime.ts';

/** A connection to the runtime of one sandbox, as one claim had it at one address. */
export interface Line {
  readonly uid: string | undefined;
  readonly address: string;
  readonly runtime: Runtime;
  /** the runtime answered once */
  connected: boolean;
  /** aborted when the sandbox is known to be over: its calls need not wait for the network to notice */
  readonly over: AbortController;
}

/** Open connections kept, whoever uses them; beyond that the longest unused ones are closed and opened again when needed. */
const MAX_LINES = 1_000;
const UNUSED_MS = 15 * 60_000;

/** Connections to sandboxes, so that only the first call of each pays for one. */
export class Lines {
  readonly #open: (address: string) => Runtime;
  readonly #lines = new LRUCache<string, Line>({
    max: MAX_LINES,
    ttl: UNUSED_MS,
    ttlAutopurge: false,
    updateAgeOnGet: true,
    dispose: (line) => line.runtime.close(),
  });

  constructor(open: (address: string) => Runtime) {
    this.#open = open;
  }

  /** The one to this address; one to another address, or of another claim of that name, is closed. */
  to(claim: SandboxClaim, address: string): Line {
    const { name, uid } = claim.metadata;
    const known = this.#lines.get(name);
    if (known?.address === address && known.uid === uid) return known;
    const line: Line = { uid, address, runtime: this.#open(address), connected: false, over: new AbortController() };
    this.#lines.set(name, line);
    return line;
  }

  /** There is one, and it has not broken. */
  alive(handle: string): boolean {
    return this.#lines.peek(handle)?.runtime.alive ?? false;
  }

  addressOf(handle: string): string | undefined {
    return this.#lines.peek(handle)?.address;
  }

  /** @param reason what its calls under way end with; undefined: they notice by themselves */
  drop(handle: string, reason?: Error): void {
    const line = this.#lines.peek(handle);
    if (reason !== undefined) line?.over.abort(reason);
    this.#lines.delete(handle);
  }

  close(): void {
    this.#lines.clear();
  }
}
