import { messageOf } from '../../lib/error-message.ts';
import type { KubeClient } from '../../lib/kube/client.ts';
import { isKubeError } from '../../lib/kube/errors.ts';
import { paths, sandboxClaim, type SandboxClaim } from '../../lib/kube/objects.ts';
import type { Log } from '../../lib/log.ts';
import type { Events } from '../kube/events.ts';
import { WorkQueue } from '../kube/queue.ts';
import { Reflector } from '../kube/reflector.ts';
import { perform } from './apply.ts';
import { claimFacts, type ClaimFacts } from './claim.ts';
import { newsOf } from './describe.ts';
import { Launches } from './launches.ts';
import type { ClaimMetrics } from './metrics.ts';
import { isWrite, planNamespace, type Action, type Write } from './plan.ts';
import { stateOf, type ClaimPolicy, type ClaimState } from './policy.ts';

export interface ClaimKeeperOptions {
  readonly client: Pick<KubeClient, 'pages' | 'watch' | 'merge' | 'delete'>;
  /** whose claims are looked after */
  readonly namespaces: readonly string[];
  readonly policy: ClaimPolicy;
  readonly events: Pick<Events, 'tell'>;
  readonly metrics: ClaimMetrics;
  readonly log: Log;
  /** whether this process is the one that works */
  readonly mayWrite: () => boolean;
  /** the API server's time, Unix ms */
  readonly now: () => number;
  /** told why a collection is listed, or a watch is begun anew */
  readonly onRestart?: (path: string, what: 'list' | 'watch', why: string) => void;
}

/** What was planned, and from what. */
interface Planned {
  readonly claim: ClaimFacts;
  readonly action: Action;
}

/** Many claims change together. */
const SETTLE_MS = 20;
/** What is due is looked for this often at least: clocks are set, and machines sleep. */
const LONGEST_PAUSE_MS = 60_000;
/** What was due a moment ago may be due by another clock. */
const SHORTEST_PAUSE_MS = 50;
/** Claims written at a time. */
const WRITES_AT_A_TIME = 8;
/** What agent-sandbox's users see of it, when its definitions are not there. */
const NOT_INSTALLED = 'agent-sandbox is not installed, or serves no v1beta1 of SandboxClaims';

/**
 * Sees to it that no claim of its namespaces lives for ever. Everything is planned from what the API server shows and what time it is: what is
 * remembered besides only keeps it from doing, telling or counting something twice.
 */
export class ClaimKeeper {
  readonly #options: ClaimKeeperOptions;
  readonly #queue: WorkQueue;
  readonly #reflectors: ReadonlyMap<string, Reflector<SandboxClaim, ClaimFacts>>;
  readonly #launches = new Launches();
  /** namespaces whose first list was looked at */
  readonly #met = new Set<string>();
  #planned: ReadonlyMap<string, Planned> = new Map();
  /** reasons that were told, by uid */
  readonly #told = new Map<string, Set<string>>();
  /** what the last try of a write failed with, by what was tried */
  readonly #refusals = new Map<Write['do'], string>();
  /** namespaces where the API server knows no claims */
  readonly #unknown = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #dueAt = Infinity;
  #closed = false;

  constructor(options: ClaimKeeperOptions) {
    this.#options = options;
    this.#reflectors = new Map(options.namespaces.map((namespace) => [namespace, this.#reflect(namespace)]));
    this.#queue = new WorkQueue({
      concurrency: WRITES_AT_A_TIME,
      work: (key, signal) => this.#work(key, signal),
      onFailure: (key, error, waitMs) => this.#noteFailure(key, error, waitMs),
    });
  }

  /** what keeps it from working, if anything, in words */
  get trouble(): string | undefined {
    const reading = [...this.#reflectors].flatMap(([namespace, { trouble, synced }]) => {
      if (trouble === undefined) return synced ? [] : [`SandboxClaims of ${namespace} were not read yet`];
      return [this.#unknown.has(namespace) ? `${NOT_INSTALLED} (${trouble})` : trouble];
    });
    const all = [...reading, ...this.#refusals.values()];
    return all.length === 0 ? undefined : all.join('; ');
  }

  /** claims that it looks after */
  get size(): number {
    return [...this.#reflectors.values()].reduce((sum, { items }) => sum + items.size, 0);
  }

  /** Begins to read; what cannot be read is tried again for ever. */
  start(): void {
    for (const reflector of this.#reflectors.values()) void reflector.start();
  }

  /** Aborts what is in flight. Claims stay as they are. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await Promise.all([this.#queue.close(), ...[...this.#reflectors.values()].map((reflector) => reflector.close())]);
    this.#options.metrics.shows(new Map(), false);
  }

  #reflect(namespace: string): Reflector<SandboxClaim, ClaimFacts> {
    const { client, log, onRestart } = this.#options;
    const path = paths.sandboxClaims(namespace);
    return new Reflector<SandboxClaim, ClaimFacts>({
      client,
      path,
      keep: claimFacts,
      onChange: (keys) => this.#changed(namespace, keys),
      log,
      onRestart: (what, why) => {
        if (why === 'not-found') this.#unknown.add(namespace);
        else this.#unknown.delete(namespace);
        onRestart?.(path, what, why);
      },
    });
  }

  #changed(namespace: string, keys: ReadonlySet<string>): void {
    const { items, synced } = this.#reflectors.get(namespace) ?? { items: new Map<string, ClaimFacts>(), synced: false };
    const at = { time: this.#options.now(), first: !this.#met.has(namespace) };
    if (synced) this.#met.add(namespace);
    for (const key of keys) {
      const launch = this.#launches.look(key, items.get(key), at);
      if (launch !== undefined) this.#options.metrics.launched(launch.launch, launch.seconds);
    }
    this.#planIn(SETTLE_MS);
  }

  /** Plans everything in this time, or sooner when that was said before; ms. */
  #planIn(ms: number): void {
    const at = performance.now() + ms;
    if (this.#closed || at >= this.#dueAt) return;
    clearTimeout(this.#timer);
    this.#dueAt = at;
    this.#timer = setTimeout(() => this.#round(), ms);
  }

  #round(): void {
    this.#dueAt = Infinity;
    const { policy, metrics } = this.#options;
    const now = this.#options.now();
    const planned = new Map<string, Planned>();
    const counts = new Map<ClaimState, number>();
    for (const { items } of this.#reflectors.values()) {
      const claims = [...items.values()];
      const actions = planNamespace(claims, policy, now);
      for (const claim of claims) {
        planned.set(claim.key, { claim, action: actions.get(claim.key) ?? { do: 'nothing' } });
        const state = stateOf(claim, now);
        counts.set(state, (counts.get(state) ?? 0) + 1);
      }
    }
    metrics.shows(counts, this.trouble === undefined);
    this.#take(planned);
    this.#planIn(pauseUntilDue(planned.values(), now));
  }

  /** Queues what is new to do: what failed is tried again by the queue, ever later. */
  #take(planned: ReadonlyMap<string, Planned>): void {
    const before = this.#planned;
    this.#planned = planned;
    for (const [key, plan] of planned) {
      if (isWrite(plan.action) && !isSame(plan, before.get(key))) this.#queue.add(key);
    }
    const pending = new Set(Array.from(planned.values(), ({ action }) => action.do));
    for (const what of this.#refusals.keys()) if (!pending.has(what)) this.#refusals.delete(what);
    const present = new Set(Array.from(planned.values(), ({ claim }) => claim.uid));
    for (const uid of this.#told.keys()) if (!present.has(uid)) this.#told.delete(uid);
  }

  async #work(key: string, signal: AbortSignal): Promise<void> {
    const { client, policy, events, metrics, log, mayWrite } = this.#options;
    const { claim, action } = this.#planned.get(key) ?? {};
    if (claim === undefined || action === undefined || !isWrite(action)) return;
    if (!mayWrite()) throw new Error('nothing is written: this process may no longer be the one that works');
    const done = await perform(claim, action, { client, signal });
    this.#refusals.delete(action.do);
    if (!done) return;
    metrics.wrote(action);
    const news = newsOf(claim, action, policy);
    log.info({ claim: key, reason: news.reason }, news.message);
    if (this.#isNews(claim, news.reason)) events.tell(regarding(claim), news);
  }

  #isNews({ uid }: ClaimFacts, reason: string): boolean {
    const told = this.#told.get(uid) ?? new Set();
    this.#told.set(uid, told);
    return !told.has(reason) && told.add(reason).size > 0;
  }

  #noteFailure(key: string, error: unknown, waitMs: number): void {
    // somebody changed it: it is planned anew from what it is now
    if (isKubeError(error, 'conflict') || !this.#options.mayWrite()) return;
    const done = this.#planned.get(key)?.action.do;
    const reason = messageOf(error);
    if (done !== 'shorten' && done !== 'delete') return;
    if (!this.#refusals.has(done)) this.#options.log.warn({ claim: key, reason, waitMs }, `${done} of claims fails; it is tried again`);
    this.#refusals.set(done, reason);
    this.#planIn(SETTLE_MS);
  }
}

function pauseUntilDue(planned: Iterable<Planned>, now: number): number {
  let dueAt = now + LONGEST_PAUSE_MS;
  for (const { action } of planned) if (action.do === 'wait') dueAt = Math.min(dueAt, action.until);
  return Math.max(dueAt - now, SHORTEST_PAUSE_MS);
}

/** The same write to the same state of the same claim. */
function isSame({ claim, action }: Planned, before: Planned | undefined): boolean {
  return before !== undefined && before.claim.resourceVersion === claim.resourceVersion && before.action.do === action.do;
}

function regarding({ namespace, name, uid }: ClaimFacts): Parameters<Events['tell']>[0] {
  return { ...sandboxClaim, namespace, name, uid };
}
