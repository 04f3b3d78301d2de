import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { Registry } from 'prom-client';
import type { Readiness } from '../lib/http-host/host.ts';
import type { Log } from '../lib/log.ts';
import type { ProcessSettings } from './config.ts';
import { KubeClient, type CallNote } from '../lib/kube/client.ts';
import { kubeconfigAccess, podAccess, type Access } from '../lib/kube/credentials.ts';
import { ApiClock } from './claims/clock.ts';
import { ClaimKeeper } from './claims/keeper.ts';
import { ClaimMetrics } from './claims/metrics.ts';
import { Election, type Term } from './kube/election.ts';
import { Events } from './kube/events.ts';
import { KubeMetrics } from './kube/metrics.ts';
import { objectPath, paths, type Secret } from '../lib/kube/objects.ts';
import { OperatorMetrics } from './metrics.ts';
import { runOperator, trusting, type Operator } from './operator.ts';
import { ConfigMapStatus } from './records/configmap-status.ts';
import { ConfigMapSource } from './records/configmaps.ts';
import { Reporter } from './records/reporter.ts';
import { Secrets } from './secrets/secrets.ts';

/** An operator that works while it holds the Lease, and stands by otherwise. */
export interface ClusterOperator {
  /** A process that stands by is ready: it can take over. */
  ready(): Readiness;
  /** Aborts what is in flight, gives the Lease back. Records and ConfigMaps stay as they are. */
  close(): Promise<void>;
}

export interface ClusterDeps {
  readonly log: Log;
  /** where its metrics are registered */
  readonly metrics: Registry;
  /** @default this Pod's own, outside a Pod a kubeconfig's */
  readonly access?: Access;
}

/** Certificates live for weeks. */
const SECRETS_EVERY_MS = 10 * 60_000;
/** Other parts wait for their Secrets. */
const SECRETS_RETRY_MS = 5_000;
const SEED_KEY = 'seed';
/** A part that broke begins anew after this: what broke it may last. */
const RESTART_MS = 5_000;

/**
 * Keeps a registry equal to the declarations in a cluster's ConfigMaps. A process that loses the Lease drops everything it knows and stands by
 * again, rather than exit: a restart would learn no more, and cost a back-off after an outage of the API server.
 * @throws Error when there is no way to reach a cluster: neither a Pod's ServiceAccount nor a kubeconfig
 */
export async function startClusterOperator(settings: ProcessSettings, deps: ClusterDeps): Promise<ClusterOperator> {
  const access = deps.access ?? (await accessOf(settings));
  const metrics = new KubeMetrics(deps.metrics);
  const clock = new ApiClock();
  const onCall = (call: CallNote): void => {
    clock.saw(call.date);
    metrics.called(call);
  };
  const cluster = new Cluster({
    settings,
    client: new KubeClient({ access, onCall }),
    clock,
    metrics,
    operatorMetrics: new OperatorMetrics(deps.metrics),
    claimMetrics: new ClaimMetrics(deps.metrics),
    log: deps.log,
  });
  cluster.start();
  return cluster;
}

function accessOf({ KUBECONFIG: file, KUBE_CONTEXT: context }: ProcessSettings): Promise<Access> {
  return podAccess(process.env).then((access) => access ?? kubeconfigAccess({ file, context }));
}

interface ClusterParts {
  readonly settings: ProcessSettings;
  readonly client: KubeClient;
  readonly metrics: KubeMetrics;
  readonly operatorMetrics: OperatorMetrics;
  readonly claimMetrics: ClaimMetrics;
  /** the API server's */
  readonly clock: ApiClock;
  readonly log: Log;
}

class Cluster implements ClusterOperator {
  readonly #parts: ClusterParts;
  readonly #namespace: string;
  readonly #instance: string;
  readonly #election: Election;
  #operator: Operator | undefined;
  #claims: ClaimKeeper | undefined;

  constructor(parts: ClusterParts) {
    const { settings, client, log } = parts;
    this.#parts = parts;
    this.#namespace = settings.INSTALL_NAMESPACE ?? '';
    this.#instance = settings.POD_NAME ?? hostname();
    this.#election = new Election({
      client,
      namespace: this.#namespace,
      name: settings.LEASE_NAME,
      // a container that is started again in its Pod is another process
      identity: `${this.#instance}_${randomUUID()}`,
      log,
      lead: (term) => this.#lead(term),
    });
  }

  start(): void {
    this.#election.start();
  }

  ready(): Readiness {
    const leadership = this.#election.leadership;
    switch (leadership.is) {
      case 'standby':
        return { ready: true, note: `standby: ${leadership.holder} works` };
      case 'leader':
        return this.#leaderReady();
      default:
        return { ready: false, reason: `API server ${this.#parts.client.url}: ${leadership.reason}` };
    }
  }

  async close(): Promise<void> {
    await this.#election.close();
    await this.#parts.client.close();
  }

  /** Claims that cannot be looked after make nothing unready: records are kept all the same, and another process could do no better. */
  #leaderReady(): Readiness {
    const records = this.#operator?.ready() ?? { ready: false, reason: 'it holds the Lease and begins to work' };
    if (this.#parts.settings.CLAIMS_NAMESPACES.length === 0) return records;
    const trouble = this.#claims === undefined ? 'this part begins to work' : this.#claims.trouble;
    const note = trouble === undefined ? `looks after ${this.#claims?.size ?? 0} claims` : `claims are not all looked after: ${trouble}`;
    return records.ready ? { ready: true, note } : { ready: false, reason: `${records.reason}; ${note}` };
  }

  async #lead(term: Term): Promise<void> {
    const { metrics, settings } = this.#parts;
    metrics.leads(true);
    try {
      const parts = [this.#persist('records', term, () => this.#keepRecords(term))];
      if (settings.CLAIMS_NAMESPACES.length > 0) parts.push(this.#persist('claims', term, () => this.#keepClaims(term)));
      await Promise.all(parts);
    } finally {
      metrics.leads(false);
    }
  }

  /** Does the work of one part until the term ends: one that breaks stops no other. */
  async #persist(what: string, { signal }: Term, work: () => Promise<void>): Promise<void> {
    while (!signal.aborted) {
      try {
        await work();
      } catch (error) {
        if (signal.aborted) return;
        this.#parts.log.error({ err: error, what }, 'a part of the operator broke; it begins anew');
        await wait(RESTART_MS, signal);
      }
    }
  }

  async #keepRecords(term: Term): Promise<void> {
    const { settings, client, log } = this.#parts;
    const secrets = new Secrets({ client, namespace: this.#namespace, wanted: settings.GENERATE, log, mayWrite: term.holds });
    let bundle = await this.#keepSecrets(secrets, term.signal);
    while (!term.signal.aborted) bundle = await this.#workWith(bundle, secrets, term);
  }

  async #keepClaims({ signal, holds }: Term): Promise<void> {
    const { settings, client, metrics, claimMetrics, clock, log } = this.#parts;
    const events = new Events({ client, instance: this.#instance, log });
    const claims = new ClaimKeeper({
      client,
      namespaces: settings.CLAIMS_NAMESPACES,
      policy: {
        maxAgeMs: settings.CLAIM_MAX_AGE_SECONDS * 1000,
        graceMs: settings.CLAIM_GRACE_SECONDS * 1000,
        max: settings.CLAIMS_MAX,
      },
      events,
      metrics: claimMetrics,
      log,
      mayWrite: holds,
      now: () => clock.now(),
      onRestart: (path, what, why) => metrics.restarted(path, what, why),
    });
    this.#claims = claims;
    try {
      claims.start();
      if (!signal.aborted) await once(signal, 'abort');
    } finally {
      this.#claims = undefined;
      await Promise.all([claims.close(), events.close()]);
    }
  }

  /** Works until the term ends, or until other certificates are to be trusted. @returns those */
  async #workWith(trusted: Kept, secrets: Secrets, term: Term): Promise<Kept> {
    const over = new AbortController();
    const working = this.#work(trusted, { ...term, signal: AbortSignal.any([term.signal, over.signal]) });
    // without this, work that breaks would be noticed at the end of the term only
    working.catch(() => over.abort());
    let kept = trusted;
    while (!term.signal.aborted && !over.signal.aborted && kept.bundle === trusted.bundle) {
      await wait(kept.failed ? SECRETS_RETRY_MS : SECRETS_EVERY_MS, AbortSignal.any([term.signal, over.signal]));
      if (!term.signal.aborted && !over.signal.aborted) kept = await this.#keepSecrets(secrets, term.signal, trusted.bundle);
    }
    over.abort();
    await working;
    return kept;
  }

  async #keepSecrets(secrets: Secrets, signal: AbortSignal, before?: string): Promise<Kept> {
    try {
      return { bundle: await secrets.keep(signal), failed: false };
    } catch (error) {
      if (!signal.aborted) this.#parts.log.error({ err: error }, 'not all of GENERATE is there; it is tried again');
      return { bundle: before, failed: true };
    }
  }

  /** Everything that is known is learned anew: a new leader reads the whole registry before its first write. */
  async #work({ bundle }: Kept, { signal, holds }: Term): Promise<void> {
    const { settings, client, metrics, operatorMetrics, log } = this.#parts;
    const installNamespace = this.#namespace;
    const events = new Events({ client, instance: this.#instance, log });
    const source = new ConfigMapSource({
      client,
      namespaces: settings.NAMESPACES,
      installNamespace,
      allow: settings.PROBE_ALLOW,
      log,
      onRestart: (path, what, why) => metrics.restarted(path, what, why),
    });
    const self = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', namespace: installNamespace, name: settings.LEASE_NAME };
    const sink = new ConfigMapStatus({
      client,
      source,
      events,
      self,
      log,
      mayWrite: holds,
      onWrite: (outcome) => metrics.wroteStatus(outcome),
    });
    try {
      const before = await source.open(signal);
      const file = settings.CA_FILE === undefined ? undefined : await readFile(settings.CA_FILE, 'utf8');
      if (signal.aborted) return;
      this.#operator = await runOperator({
        settings,
        log,
        metrics: operatorMetrics,
        ca: trusting([file, bundle]),
        sink,
        reporter: new Reporter(settings.INSTALL, before, { log }),
        source,
        settingsIn: 'annotations',
        readSeed: () => this.#readSeed(),
        mayWrite: holds,
      });
      if (!signal.aborted) await once(signal, 'abort');
    } finally {
      const operator = this.#operator;
      this.#operator = undefined;
      await Promise.all([sink.close(), events.close(), operator?.close() ?? source.close()]);
    }
  }

  async #readSeed(): Promise<string> {
    const { REGISTRY_JWT_SEED_FILE: file, REGISTRY_JWT_SEED_SECRET: name = '' } = this.#parts.settings;
    if (file !== undefined) return readFile(file, 'utf8');
    const secret = await this.#parts.client.get<Secret>(objectPath(paths.secrets(this.#namespace), name));
    const seed = secret.data?.[SEED_KEY];
    if (seed === undefined) throw new Error(`Secret ${this.#namespace}/${name} of REGISTRY_JWT_SEED_SECRET has no key ${SEED_KEY}`);
    return Buffer.from(seed, 'base64').toString('utf8');
  }
}

interface Kept {
  /** certificates of the install's own authority, PEM */
  readonly bundle: string | undefined;
  readonly failed: boolean;
}

async function wait(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => {});
}
