import { messageOf } from '../../../lib/error-message.ts';
import type { KubeClient } from '../../../lib/kube/client.ts';
import { isKubeError, KubeError } from '../../../lib/kube/errors.ts';
import { objectPath, paths, sandboxClaim, type KubeObject } from '../../../lib/kube/objects.ts';
import type { Readiness } from '../../../lib/http-host/host.ts';
import type { Log } from '../../../lib/log.ts';
import { type SandboxWarmPool } from './claims.ts';
import { templateFacts, templateSchema, type TemplateFacts } from './template.ts';

export interface SiteOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly warmpool: string;
  readonly log: Log;
  /** ms; @default performance.now */
  readonly clock?: () => number;
}

/** The cluster is looked at again when somebody asks, but not more often than this: while all is well, and while something is missing. */
const LOOK_AGAIN_MS = { well: 30_000, missing: 3_000 };

/** What the server does with claims, and so must be allowed to. */
const rights = ['create', 'get', 'list', 'watch', 'patch', 'delete'] as const;
const claimsResource = { group: 'extensions.agents.x-k8s.io', resource: 'sandboxclaims' };

interface AccessReview extends KubeObject {
  readonly spec: { readonly resourceAttributes: { readonly namespace: string; readonly verb: string } & typeof claimsResource };
  readonly status?: { readonly allowed: boolean };
}

/** The part of a cluster where sandboxes are made: whether they can be now, and what holds them. */
export class Site {
  readonly #options: SiteOptions;
  readonly #clock: () => number;
  #readiness: Readiness = { ready: false, reason: 'asking the cluster whether sandboxes can be made; this takes a second' };
  #facts: TemplateFacts | undefined;
  #lookedAt = -Infinity;
  #looking: Promise<void> | undefined;

  constructor(options: SiteOptions) {
    this.#options = options;
    this.#clock = options.clock ?? (() => performance.now());
    void this.look();
  }

  ready(): Readiness {
    const again = this.#readiness.ready ? LOOK_AGAIN_MS.well : LOOK_AGAIN_MS.missing;
    if (this.#clock() - this.#lookedAt >= again) void this.look();
    return this.#readiness;
  }

  /** As the template says it; undefined while it cannot be read. */
  get facts(): TemplateFacts | undefined {
    return this.#facts;
  }

  /** Looks at the cluster now. Never rejects. */
  look(): Promise<void> {
    return (this.#looking ??= this.#look().finally(() => (this.#looking = undefined)));
  }

  async #look(): Promise<void> {
    const before = this.#readiness;
    const reason = await this.#missing().catch((error: unknown) => `the Kubernetes API cannot be asked: ${messageOf(error)}`);
    this.#lookedAt = this.#clock();
    this.#readiness = reason === undefined ? { ready: true } : { ready: false, reason };
    const { log } = this.#options;
    if (reason === undefined && !before.ready) log.info({ isolation: this.#facts?.isolation }, 'sandboxes can be claimed');
    if (reason !== undefined && (before.ready || before.reason !== reason)) log.error({ reason }, 'no sandbox can be claimed');
  }

  /** What is missing first, and what to do about it; undefined when all is there. */
  async #missing(): Promise<string | undefined> {
    const { namespace, warmpool } = this.#options;
    const lacking = await this.#lackingRights();
    if (lacking.length > 0) {
      return `this server's ServiceAccount may not ${lacking.join(', ')} sandboxclaims in namespace ${namespace}: bind it to a Role there that has these verbs`;
    }
    const { client } = this.#options;
    const pool = await this.#read(() => client.get<SandboxWarmPool>(objectPath(paths.sandboxWarmPools(namespace), warmpool)));
    if (typeof pool === 'string') return this.#poolMissing(pool);
    const name = pool.spec.sandboxTemplateRef.name;
    const template = await this.#read(() => client.get(objectPath(paths.sandboxTemplates(namespace), name)));
    if (template === 'forbidden') return undefined;
    if (typeof template === 'string')
      return `SandboxTemplate ${name}, which SandboxWarmPool ${warmpool} names, is not in namespace ${namespace}: apply it`;
    const parsed = templateSchema.safeParse(template);
    this.#facts = parsed.success ? templateFacts(parsed.data) : undefined;
    return undefined;
  }

  async #poolMissing(how: 'absent' | 'unknown' | 'forbidden'): Promise<string | undefined> {
    const { namespace, warmpool } = this.#options;
    if (how === 'unknown')
      return 'the cluster has no SandboxWarmPools: install agent-sandbox with its extensions (docs/kubernetes.md), then this server finds them by itself';
    // not needed to make sandboxes: only to tell of them
    if (how === 'forbidden') return undefined;
    if (await this.#namespaceMissing())
      return `there is no namespace ${namespace}: create it, or set SANDBOX_NAMESPACE to one that is there`;
    return `there is no SandboxWarmPool ${warmpool} in namespace ${namespace}: apply it, or set SANDBOX_WARMPOOL to the name of one that is there`;
  }

  /** No right to read namespaces is needed for this: what cannot be made, as a trial, tells. */
  async #namespaceMissing(): Promise<boolean> {
    const { client, namespace, warmpool } = this.#options;
    const trial = {
      ...sandboxClaim,
      metadata: { name: 'sb-trial' },
      spec: { warmPoolRef: { name: warmpool } },
    };
    try {
      await client.create(`${paths.sandboxClaims(namespace)}?dryRun=All`, trial);
      return false;
    } catch (error) {
      return isKubeError(error, 'not-found');
    }
  }

  async #read<T>(get: () => Promise<T>): Promise<T | 'absent' | 'unknown' | 'forbidden'> {
    try {
      return await get();
    } catch (error) {
      if (isKubeError(error, 'forbidden')) return 'forbidden';
      if (!(error instanceof KubeError) || error.code !== 'not-found') throw error;
      // an API server says it so when it has no such kind of object at all
      return /could not find the requested resource|page not found/.test(error.message) ? 'unknown' : 'absent';
    }
  }

  async #lackingRights(): Promise<readonly string[]> {
    const { client, namespace } = this.#options;
    const reviews = rights.map(async (verb) => {
      const review: AccessReview = {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectAccessReview',
        metadata: {} as AccessReview['metadata'],
        spec: { resourceAttributes: { namespace, verb, ...claimsResource } },
      };
      const { status } = await client.create('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', review);
      return status?.allowed === true ? undefined : verb;
    });
    return (await Promise.all(reviews)).filter((verb) => verb !== undefined);
  }
}
