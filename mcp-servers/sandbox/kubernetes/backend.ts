import { setTimeout as delay } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Readiness } from '../../../lib/http-host/host.ts';
import type { KubeClient } from '../../../lib/kube/client.ts';
import type { SandboxClaim } from '../../../lib/kube/objects.ts';
import type { Log } from '../../../lib/log.ts';
import {
  SandboxError,
  type BackendDescription,
  type Command,
  type CommandResult,
  type FileAccess,
  type FileListing,
  type SandboxBackend,
  type SandboxInfo,
  type SandboxOrder,
} from '../backend.ts';
import { InsideFault, sandboxErrorOf } from '../faults.ts';
import { ClaimsClient, gone } from './claims-client.ts';
import { infoOf, lifetimeOf, verdictOf } from './claims.ts';
import { runCommand, startErrno } from './commands.ts';
import { SandboxFiles } from './files.ts';
import { learnAbility, type Ability } from './ability.ts';
import { Lines, type Line } from './lines.ts';
import { RuntimeFault, type Runtime } from './runtime.ts';
import { Sandboxd, sandboxdPorts, type SandboxdPorts } from './sandboxd.ts';
import { Site } from './site.ts';
import { Starts } from './starts.ts';

export interface KubernetesSettings {
  readonly namespace: string;
  readonly warmpool: string;
  /** of stdout and of stderr of one command */
  readonly outputBytes: number;
  /** of one file up or down */
  readonly fileBytes: number;
  /** longest life and longest unused time of a sandbox, ms */
  readonly maxAgeMs: number;
  readonly maxIdleMs: number;
  /** @default sandboxdPorts */
  readonly ports?: SandboxdPorts;
}

/** Requests at once in one sandbox from one server: each costs the sandbox processes, and this server what it holds of it. */
const MAX_REQUESTS = 16;
/** So many claims are remembered, to say why one that has gone is over. */
const REMEMBERED = 2_000;
/** A claim read no longer ago than this is taken to be so still. */
const FRESH_MS = 1_000;
/** How long a sandbox that was just replaced may take to be there again, before a call gives up. */
const COME_BACK_MS = 30_000;
const RENEW_TRIES = 5;
/** Exit codes of programs that a runtime ended because it was to end itself: by SIGTERM, then by SIGKILL. */
const ENDED_BY_RUNTIME: ReadonlySet<number> = new Set([143, 137]);
/** Where a claim says which address its sandbox had when it was last used: another one since means another pod. */
const addressAnnotation = 'toolyard.dev/address';

/** A claim, and when it was read (ms of performance.now). */
interface Seen {
  readonly claim: SandboxClaim;
  readonly at: number;
  /** it is not there any more */
  readonly gone?: boolean;
}

/**
 * Sandboxes of agent-sandbox's warm pools: a claim each. They live in the cluster: this process may come and go, and any other that has the
 * same handle key uses them as well.
 */
export class KubernetesBackend implements SandboxBackend {
  readonly #settings: KubernetesSettings;
  readonly #client: KubeClient;
  readonly #log: Log;
  readonly #claims: ClaimsClient;
  readonly #site: Site;
  readonly #starts: Starts;
  readonly #lines: Lines;
  readonly #seen = new LRUCache<string, Seen>({ max: REMEMBERED });
  readonly #defaults: { readonly idleMs: number; readonly ageMs: number };
  /** calls under way, by sandbox */
  readonly #calls = new Map<string, number>();
  /** claims that are being read */
  readonly #reading = new Map<string, Promise<SandboxClaim | undefined>>();
  #ability: Ability | undefined;
  #learning: Promise<void> | undefined;

  constructor(settings: KubernetesSettings, client: KubeClient, log: Log) {
    const { namespace, warmpool, ports = sandboxdPorts, maxIdleMs, maxAgeMs } = settings;
    this.#settings = settings;
    this.#client = client;
    this.#log = log;
    this.#defaults = { idleMs: maxIdleMs, ageMs: maxAgeMs };
    this.#claims = new ClaimsClient(client, namespace);
    this.#site = new Site({ client, namespace, warmpool, log });
    this.#lines = new Lines((address) => new Sandboxd(address, ports));
    const moveIn = (claim: SandboxClaim, address: string, signal: AbortSignal) => this.#moveIn(claim, address, signal);
    this.#starts = new Starts({ claims: this.#claims, defaults: this.#defaults, moveIn, log });
  }

  ready(): Readiness {
    return this.#site.ready();
  }

  describe(): BackendDescription {
    const { outputBytes, fileBytes } = this.#settings;
    const facts = this.#site.facts;
    const { memoryBytes, diskBytes, cpus } = facts ?? {};
    const tree = this.#ability === undefined ? [] : [treeGuarantee(this.#ability.ownTree)];
    return {
      backend: 'kubernetes',
      isolation: facts?.isolation ?? 'unknown',
      languages: this.#ability?.languages ?? [],
      limits: { memoryBytes, diskBytes, cpus, processes: undefined, outputBytes, fileBytes },
      guarantees: [...(facts?.guarantees ?? []), ...tree],
    };
  }

  async create(order: SandboxOrder): Promise<SandboxInfo> {
    this.#assertPlace(order);
    const claim = await this.#starts.take(order);
    this.#remember(claim);
    this.#log.info({ handle: order.handle, owner: order.owner, sandbox: claim.status?.sandbox?.name }, 'sandbox claimed');
    return this.#info(claim);
  }

  async find(handle: string): Promise<SandboxInfo | undefined> {
    const claim = await this.#current(handle);
    if (claim !== undefined) return this.#info(claim);
    const starting = this.#starts.infos.find((info) => info.handle === handle);
    const seen = this.#seen.get(handle);
    if (starting !== undefined || seen === undefined) return starting;
    return { ...this.#info(seen.claim), state: 'ended', message: gone(seen.claim).why };
  }

  async list(): Promise<readonly SandboxInfo[]> {
    const infos = (await this.#claims.list()).map((claim) => this.#info(claim)).filter(({ state }) => state !== 'ended');
    const listed = new Set(infos.map(({ handle }) => handle));
    return [...infos, ...this.#starts.infos.filter(({ handle }) => !listed.has(handle))];
  }

  async renew(handle: string, shutdownAt: number): Promise<void> {
    let first: number | undefined;
    for (let tries = RENEW_TRIES; tries > 0; tries -= 1) {
      const claim = await this.#existing(handle);
      const { createdAt, shutdownAt: present } = lifetimeOf(claim, this.#defaults);
      first ??= present;
      // somebody else has put it off meanwhile
      if (present !== first && present >= shutdownAt) return;
      const end = Math.min(shutdownAt, createdAt + this.#settings.maxAgeMs);
      const renewed = await this.#claims.endAt(claim, end, addressOnFirstUse(claim));
      if (renewed !== undefined) return this.#remember(renewed);
      this.#forget(handle);
    }
    throw new SandboxError('busy', `sandbox ${handle} is being changed all the time; try again`);
  }

  async delete(handle: string): Promise<void> {
    if (await this.#starts.stop(handle, 'it was deleted')) return;
    const claim = await this.#existing(handle);
    await this.#claims.delete(claim);
    this.#seen.set(handle, { claim, at: performance.now(), gone: true });
    this.#lines.drop(handle, over(handle, 'it was deleted'));
    this.#log.info({ handle }, 'sandbox deleted');
  }

  async execute(handle: string, command: Command): Promise<CommandResult> {
    const { outputBytes } = this.#settings;
    const settings = { outputBytes, ownTree: this.#ability?.ownTree ?? true };
    return this.#use(handle, command, async (runtime, signal) => {
      const result = await runCommand(runtime, { ...command, signal }, settings);
      if (ENDED_BY_RUNTIME.has(result.exitCode) && !result.timedOut) await this.#assertSame(handle);
      return result;
    });
  }

  /** A runtime that is told to end ends its programs in order first: that is no result of theirs. @throws RuntimeFault */
  async #assertSame(handle: string): Promise<void> {
    const address = this.#lines.addressOf(handle);
    const claim = await this.#afterLoss(handle);
    const verdict = claim instanceof SandboxError ? undefined : verdictOf(claim, Date.now());
    if (verdict?.is !== 'ready' || verdict.address !== address) throw new RuntimeFault('lost', 'the pod was ended');
  }

  async writeFile(handle: string, access: FileAccess, content: Uint8Array): Promise<void> {
    await this.#access(handle, access, (files, call) => files.write(call, content));
  }

  readFile(handle: string, access: FileAccess): Promise<Uint8Array> {
    return this.#access(handle, access, (files, call) => files.read(call, this.#settings.fileBytes));
  }

  listFiles(handle: string, access: FileAccess, maxEntries: number): Promise<FileListing> {
    return this.#access(handle, access, (files, call) => files.list(call, maxEntries));
  }

  fileExists(handle: string, access: FileAccess): Promise<boolean> {
    return this.#access(handle, access, (files, call) => files.exists(call));
  }

  async close(): Promise<void> {
    this.#lines.close();
    await this.#client.close();
  }

  #assertPlace({ placement }: SandboxOrder): void {
    const { namespace, warmpool } = this.#settings;
    if (placement.namespace !== namespace) throw elsewhere('namespace', placement.namespace, namespace);
    if (placement.warmpool !== warmpool) throw elsewhere('warmpool', placement.warmpool, warmpool);
  }

  /** The first sandbox of this process also tells what all of its pool can do, before anybody's code has run in it. */
  async #moveIn(claim: SandboxClaim, address: string, signal: AbortSignal): Promise<Runtime> {
    const line = this.#lines.to(claim, address);
    const { runtime } = line;
    await runtime.connect(signal);
    line.connected = true;
    if (this.#ability === undefined) await (this.#learning ??= this.#learn(runtime, signal).finally(() => (this.#learning = undefined)));
    return runtime;
  }

  async #learn(runtime: Runtime, signal: AbortSignal): Promise<void> {
    this.#ability = await learnAbility(runtime, signal).catch((error: unknown) => {
      this.#log.warn({ err: error }, 'what sandboxes can do could not be found out');
      return undefined;
    });
  }

  #info(claim: SandboxClaim): SandboxInfo {
    return infoOf(claim, this.#defaults, Date.now());
  }

  #remember(claim: SandboxClaim): void {
    this.#seen.set(claim.metadata.name, { claim, at: performance.now() });
  }

  /** It is to be read again before it is used; what it was stays known. */
  #forget(handle: string): void {
    const seen = this.#seen.get(handle);
    if (seen !== undefined) this.#seen.set(handle, { ...seen, at: -Infinity });
  }

  /** As it was less than a second ago; undefined when there is none. */
  async #current(handle: string): Promise<SandboxClaim | undefined> {
    const seen = this.#seen.get(handle);
    if (seen !== undefined && performance.now() - seen.at < FRESH_MS) return seen.gone === true ? undefined : seen.claim;
    const reading = this.#reading.get(handle) ?? this.#read(handle);
    this.#reading.set(handle, reading);
    return reading;
  }

  async #read(handle: string): Promise<SandboxClaim | undefined> {
    try {
      const claim = await this.#claims.find(handle);
      const seen = this.#seen.get(handle);
      if (claim !== undefined) this.#remember(claim);
      else if (seen !== undefined) this.#seen.set(handle, { ...seen, gone: true, at: performance.now() });
      return claim;
    } finally {
      this.#reading.delete(handle);
    }
  }

  /** @throws SandboxError `not-found`, `ended` */
  async #existing(handle: string): Promise<SandboxClaim> {
    const claim = await this.#current(handle);
    const verdict = claim === undefined ? undefined : verdictOf(claim, Date.now());
    if (claim !== undefined && verdict?.is !== 'over') return claim;
    const seen = this.#seen.get(handle);
    if (seen === undefined) throw new SandboxError('not-found', `there is no sandbox ${handle}`);
    const { why } = verdict?.is === 'over' ? verdict : gone(seen.claim);
    const ended = over(handle, why);
    this.#lines.drop(handle, ended);
    throw ended;
  }

  async #access<T>(handle: string, access: FileAccess, act: (files: SandboxFiles, call: FileAccess) => Promise<T>): Promise<T> {
    const { path, timeoutMs } = access;
    const late = AbortSignal.timeout(timeoutMs);
    const call = { ...access, signal: AbortSignal.any([access.signal, late]) };
    try {
      return await this.#use(handle, call, (runtime, signal) => act(new SandboxFiles(runtime), { ...call, signal }));
    } catch (error) {
      if (access.signal.aborted) throw new SandboxError('cancelled', 'the caller left');
      if (!late.aborted || error !== late.reason) throw error;
      throw new SandboxError('timeout', `${path}: no answer from the sandbox within ${timeoutMs / 1000} s; try again, or delete it`);
    }
  }

  /** Only a connection that was refused is tried again: nothing was sent then. */
  async #use<T>(handle: string, { signal }: { signal: AbortSignal }, act: Act<T>): Promise<T> {
    const calls = this.#calls.get(handle) ?? 0;
    if (calls >= MAX_REQUESTS) {
      const busy = `${MAX_REQUESTS} calls are under way in sandbox ${handle}, which is all it takes; try again when one has ended`;
      throw new SandboxError('busy', busy);
    }
    this.#calls.set(handle, calls + 1);
    try {
      const first = await this.#attempt(handle, signal, act);
      if (!('refused' in first)) return first.value;
      this.#forget(handle);
      this.#lines.drop(handle);
      const second = await this.#attempt(handle, signal, act);
      if ('refused' in second) throw unreachable(handle, second.refused);
      return second.value;
    } finally {
      const left = (this.#calls.get(handle) ?? 1) - 1;
      if (left > 0) this.#calls.set(handle, left);
      else this.#calls.delete(handle);
    }
  }

  async #attempt<T>(handle: string, signal: AbortSignal, act: Act<T>): Promise<{ value: T } | { refused: RuntimeFault }> {
    const line = await this.#line(handle, signal);
    try {
      return { value: await act(line.runtime, AbortSignal.any([signal, line.over.signal])) };
    } catch (error) {
      if (line.over.signal.aborted) throw line.over.signal.reason;
      if (!(error instanceof RuntimeFault)) throw error;
      if (error.code === 'refused') return { refused: error };
      throw await this.#explained(handle, line, error);
    }
  }

  /** A connection to the sandbox that the claim has now, seen to be there before anything is sent. */
  async #line(handle: string, signal: AbortSignal): Promise<Line> {
    // an address is connected to only when the claim has just been seen to have it
    if (!this.#lines.alive(handle)) this.#forget(handle);
    let claim = await this.#existing(handle);
    let verdict = verdictOf(claim, Date.now());
    if (verdict.is === 'waiting') {
      claim = await this.#backAgain(claim, signal);
      verdict = verdictOf(claim, Date.now());
    }
    if (verdict.is !== 'ready') throw over(handle, verdict.is === 'over' ? verdict.why : verdict.message);
    const before = claim.metadata.annotations?.[addressAnnotation];
    if (before !== undefined && before !== verdict.address) await this.#tellOfReplacement(claim, verdict.address);
    const line = this.#lines.to(claim, verdict.address);
    if (!line.connected) await this.#connect(handle, line, signal);
    return line;
  }

  async #connect(handle: string, line: Line, signal: AbortSignal): Promise<void> {
    const late = AbortSignal.timeout(COME_BACK_MS);
    try {
      await line.runtime.connect(AbortSignal.any([signal, late]));
      line.connected = true;
    } catch (error) {
      this.#forget(handle);
      this.#lines.drop(handle);
      throw late.aborted ? unreachable(handle, error) : error;
    }
  }

  async #backAgain(claim: SandboxClaim, signal: AbortSignal): Promise<SandboxClaim> {
    const { name } = claim.metadata;
    const late = AbortSignal.timeout(COME_BACK_MS);
    try {
      const settled = await this.#claims.settled(claim, AbortSignal.any([signal, late]), (seen) => this.#remember(seen));
      if (settled.verdict.is === 'over') throw over(name, settled.verdict.why);
      return settled.claim;
    } catch (error) {
      if (!late.aborted || error instanceof SandboxError) throw error;
      throw new SandboxError(
        'not-ready',
        `sandbox ${name} is not ready (${infoOf(claim, this.#defaults, Date.now()).message}): nothing was done; try again in a while`,
      );
    }
  }

  /** Once: whoever calls again wants to go on in the new one. */
  async #tellOfReplacement(claim: SandboxClaim, address: string): Promise<never> {
    const { name } = claim.metadata;
    const { shutdownAt } = lifetimeOf(claim, this.#defaults);
    const told = await this.#claims.endAt(claim, shutdownAt, { [addressAnnotation]: address });
    if (told === undefined) this.#forget(name);
    else this.#remember(told);
    this.#log.warn({ handle: name, address }, 'a sandbox was replaced by the cluster');
    throw new SandboxError(
      'ended',
      `the pod of sandbox ${name} was replaced by the cluster: its files and processes are gone, and nothing was done; call again to go on in the new, empty one`,
    );
  }

  /** What a fault of the runtime means, by what has become of its claim. */
  async #explained(handle: string, line: Line, fault: RuntimeFault): Promise<SandboxError> {
    const errno = startErrno(fault);
    if (errno !== undefined) return sandboxErrorOf(new InsideFault(errno), undefined);
    if (fault.code === 'answered')
      return new SandboxError('failed', `sandbox ${handle} could not do that: ${fault.message}; delete it and create another`, {
        cause: fault,
      });
    this.#lines.drop(handle);
    const claim = await this.#afterLoss(handle);
    if (claim instanceof SandboxError) return claim;
    return new SandboxError('failed', brokenMessage(handle, fault, verdictOf(claim, Date.now()), line), { cause: fault });
  }

  /** The cluster may need a moment to notice what the connection has told already. */
  async #afterLoss(handle: string): Promise<SandboxClaim | SandboxError> {
    for (let looks = 3; ; looks -= 1) {
      this.#forget(handle);
      try {
        const claim = await this.#existing(handle);
        if (looks === 0 || verdictOf(claim, Date.now()).is !== 'ready') return claim;
      } catch (error) {
        if (error instanceof SandboxError) return error;
        throw error;
      }
      await delay(150);
    }
  }
}

function brokenMessage(handle: string, fault: RuntimeFault, verdict: ReturnType<typeof verdictOf>, line: Line): string {
  if (fault.code === 'protocol')
    return `the runtime of sandbox ${handle} does not answer as it should (${fault.message}); delete it and create another`;
  const lost = `the connection to sandbox ${handle} broke, so it is not known how far this had come`;
  const replaced = verdict.is !== 'ready' || verdict.address !== line.address;
  return replaced
    ? `${lost}: its pod ended and is being replaced, its files are gone; call again to go on in the new, empty one`
    : `${lost}: what runs in it ended, most often because its memory was used up; look at what is there before you run it again`;
}

type Act<T> = (runtime: Runtime, signal: AbortSignal) => Promise<T>;

function unreachable(handle: string, cause: unknown): SandboxError {
  const message = `the runtime of sandbox ${handle} cannot be reached: nothing was done; try again, or delete it and create another`;
  return new SandboxError('failed', message, { cause });
}

/** Recorded with the first use, for every replica to see. */
function addressOnFirstUse(claim: SandboxClaim): Readonly<Record<string, string>> {
  const verdict = verdictOf(claim, Date.now());
  const known = claim.metadata.annotations?.[addressAnnotation] !== undefined;
  return verdict.is === 'ready' && !known ? { [addressAnnotation]: verdict.address } : {};
}

function treeGuarantee(holds: boolean) {
  return {
    what: 'ends with its command',
    holds,
    how: holds
      ? 'each command has a process namespace of its own'
      : 'no namespaces can be made inside: what a command leaves behind runs on',
  };
}

function elsewhere(what: string, asked: string, there: string): SandboxError {
  return new SandboxError('invalid', `${what} ${JSON.stringify(asked)} is not for sandboxes here; leave it out, or say ${there}`);
}

function over(handle: string, why: string): SandboxError {
  return new SandboxError('ended', `sandbox ${handle} is over: ${why}; create another with create_sandbox`);
}
