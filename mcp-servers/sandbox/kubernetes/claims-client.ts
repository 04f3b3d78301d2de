import { setTimeout as delay } from 'node:timers/promises';
import type { KubeClient } from '../../../lib/kube/client.ts';
import { isKubeError, KubeError } from '../../../lib/kube/errors.ts';
import { objectPath, paths, type SandboxClaim } from '../../../lib/kube/objects.ts';
import { SandboxError, type SandboxErrorCode } from '../backend.ts';
import { quotaUsedUp } from './delays.ts';
import { kindLabel, kindSandbox, kubeTime, verdictOf, type Sandbox, type SandboxWarmPool, type Verdict } from './claims.ts';

/** A watch that says nothing for so long ends, and the claim is read again. */
const WATCH_SECONDS = 30;
const WATCH_GRACE_MS = 5_000;
const READ_AGAIN_MS = 200;

/** The claims of one namespace. Every method throws SandboxError for what the cluster refuses or does not answer. */
export class ClaimsClient {
  readonly #client: KubeClient;
  readonly #namespace: string;
  readonly #path: string;

  constructor(client: KubeClient, namespace: string) {
    this.#client = client;
    this.#namespace = namespace;
    this.#path = paths.sandboxClaims(namespace);
  }

  find(handle: string): Promise<SandboxClaim | undefined> {
    return this.#asked(() => this.#client.find<SandboxClaim>(objectPath(this.#path, handle)));
  }

  /** Those of sandbox servers; others' claims are nobody's here. */
  list(): Promise<readonly SandboxClaim[]> {
    return this.#asked(() => this.#client.list<SandboxClaim>(this.#path, { labelSelector: `${kindLabel}=${kindSandbox}` }));
  }

  /**
   * A claim of that name: a new one, or the one that is there already, whoever made it.
   * A request whose answer was lost may have been done: asking again finds out.
   */
  async create(claim: SandboxClaim): Promise<{ readonly claim: SandboxClaim; readonly made: boolean }> {
    return this.#asked(async () => {
      try {
        return { claim: await this.#client.create(this.#path, claim), made: true };
      } catch (error) {
        if (!isKubeError(error, 'exists', 'unavailable', 'timeout')) throw error;
        const there = await this.#client.find<SandboxClaim>(objectPath(this.#path, claim.metadata.name));
        if (there === undefined) throw error;
        // an answer that was lost was most likely to this request
        return { claim: there, made: !isKubeError(error, 'exists') };
      }
    });
  }

  /**
   * Follows one claim until it is good for something or nothing any more.
   * @param onChange told what is known of it, each time
   * @throws the signal's reason
   */
  async settled(claim: SandboxClaim, signal: AbortSignal, onChange: (claim: SandboxClaim) => void): Promise<Settled> {
    let seen: SandboxClaim | undefined = claim;
    for (;;) {
      if (seen === undefined || seen.metadata.uid !== claim.metadata.uid) return { claim, verdict: gone(claim) };
      const settled = settledBy(seen, onChange) ?? (await this.#followed(seen, signal, onChange));
      if (settled !== undefined) return settled;
      seen = await this.#readAgain(seen, signal);
    }
  }

  /** @returns undefined when it has changed since it was read */
  async endAt(claim: SandboxClaim, shutdownAt: number, annotations: Readonly<Record<string, string>>): Promise<SandboxClaim | undefined> {
    const { name, uid, resourceVersion } = claim.metadata;
    const patch = {
      metadata: { uid, resourceVersion, annotations },
      spec: { lifecycle: { shutdownTime: kubeTime(shutdownAt), shutdownPolicy: 'Delete' } },
    };
    return this.#asked(async () => {
      try {
        return await this.#client.merge<SandboxClaim>(objectPath(this.#path, name), patch);
      } catch (error) {
        if (isKubeError(error, 'conflict', 'not-found')) return undefined;
        throw error;
      }
    });
  }

  /** Also when it is gone already, or another of that name is there by now. */
  async delete({ metadata: { name, uid } }: SandboxClaim): Promise<void> {
    await this.#asked(async () => {
      try {
        await this.#client.delete(objectPath(this.#path, name), { preconditions: { uid } });
      } catch (error) {
        if (!isKubeError(error, 'not-found', 'conflict')) throw error;
      }
    });
  }

  /** What else can be seen of a start that takes too long; nothing where it cannot be read. */
  async surroundings(claim: SandboxClaim): Promise<{ pool: SandboxWarmPool | undefined; sandbox: Sandbox | undefined }> {
    const read = <T extends Sandbox | SandboxWarmPool>(collection: string, name: string) =>
      this.#client.find<T>(objectPath(collection, name)).catch(() => undefined);
    const [pool, sandbox] = await Promise.all([
      read<SandboxWarmPool>(paths.sandboxWarmPools(this.#namespace), claim.spec.warmPoolRef.name),
      read<Sandbox>(paths.sandboxes(this.#namespace), claim.status?.sandbox?.name ?? claim.metadata.name),
    ]);
    return { pool, sandbox };
  }

  async #followed(claim: SandboxClaim, signal: AbortSignal, onChange: (claim: SandboxClaim) => void): Promise<Settled | undefined> {
    const { name, uid, resourceVersion = '' } = claim.metadata;
    const silent = AbortSignal.timeout(WATCH_SECONDS * 1000 + WATCH_GRACE_MS);
    try {
      const events = await this.#client.watch<SandboxClaim>(this.#path, {
        fieldSelector: `metadata.name=${name}`,
        resourceVersion,
        timeoutSeconds: WATCH_SECONDS,
        signal: AbortSignal.any([signal, silent]),
      });
      for await (const { type, object } of events) {
        if (type === 'BOOKMARK') continue;
        if (type === 'DELETED' || object.metadata.uid !== uid) return { claim, verdict: gone(claim) };
        const settled = settledBy(object, onChange);
        if (settled !== undefined) return settled;
      }
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (isKubeError(error, 'forbidden', 'unauthorized')) throw sandboxErrorOf(error, this.#namespace);
    }
    return undefined;
  }

  /** The API server may be away for a moment; the caller's patience is the limit. */
  async #readAgain(claim: SandboxClaim, signal: AbortSignal): Promise<SandboxClaim | undefined> {
    for (;;) {
      signal.throwIfAborted();
      try {
        return await this.#client.find<SandboxClaim>(objectPath(this.#path, claim.metadata.name), { signal });
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        if (!isKubeError(error, 'unavailable', 'timeout', 'busy')) throw sandboxErrorOf(error, this.#namespace);
        await delay(READ_AGAIN_MS, undefined, { signal }).catch(() => signal.throwIfAborted());
      }
    }
  }

  async #asked<T>(ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      throw sandboxErrorOf(error, this.#namespace);
    }
  }
}

export interface Settled {
  readonly claim: SandboxClaim;
  readonly verdict: Exclude<Verdict, { is: 'waiting' }>;
}

function settledBy(claim: SandboxClaim, onChange: (claim: SandboxClaim) => void): Settled | undefined {
  onChange(claim);
  const verdict = verdictOf(claim, Date.now());
  return verdict.is === 'waiting' ? undefined : { claim, verdict };
}

/** What became of a claim that is not there any more. */
export function gone({ spec }: SandboxClaim): Extract<Verdict, { is: 'over' }> {
  const shutdownAt = Date.parse(spec.lifecycle?.shutdownTime ?? '');
  return { is: 'over', code: 'ended', why: shutdownAt <= Date.now() ? 'its time was over' : 'it was deleted' };
}

/** What the cluster's refusals mean to a caller. */
function sandboxErrorOf(error: unknown, namespace: string): unknown {
  if (!(error instanceof KubeError)) return error;
  const [code, message] = meaningOf(error, namespace);
  return new SandboxError(code, message, { cause: error });
}

function meaningOf(error: KubeError, namespace: string): readonly [SandboxErrorCode, string] {
  const { code, message } = error;
  if (code === 'forbidden' || code === 'unauthorized') return forbidden(message, namespace);
  if (code === 'not-found' && message.includes('namespaces "')) {
    return ['not-ready', `there is no namespace ${namespace}: create it, or set SANDBOX_NAMESPACE to one that is there`];
  }
  if (code === 'not-found') return ['not-ready', 'the cluster knows no SandboxClaims: install agent-sandbox, with its extensions'];
  if (code === 'invalid') return ['failed', `the cluster refused the claim: ${message}`];
  return ['not-ready', `the Kubernetes API did not answer as it should (${message}); try again in a while`];
}

function forbidden(message: string, namespace: string): readonly [SandboxErrorCode, string] {
  const quota = /exceeded quota: ([^\s,]+)/.exec(message)?.[1];
  if (quota === undefined) {
    return ['not-ready', `the sandbox server may not do that in namespace ${namespace}, its Role is missing or incomplete (${message})`];
  }
  return ['quota', quotaUsedUp(quota, namespace)];
}
