import { readFile } from 'node:fs/promises';
import { rootCertificates } from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import type { Registry } from 'prom-client';
import { Agent } from 'undici';
import { guardedAgent } from '../lib/address-guard/guard.ts';
import { createLog, type Log } from '../lib/log.ts';
import { RegistryClient } from '../lib/registry-api/client.ts';
import { seedTokenSource } from '../lib/registry-api/token.ts';
import type { OperatorSettings } from './config.ts';
import { OperatorMetrics } from './metrics.ts';
import type { Verdict } from './records/answers.ts';
import { DirectorySource } from './records/directory.ts';
import { defined } from './records/defined.ts';
import { fenced } from './records/fence.ts';
import { Keeper, type KeeperRules } from './records/keeper.ts';
import { probe, type Credentials } from './records/probe.ts';
import { Prober, type Probe } from './records/prober.ts';
import { Pulse } from './records/pulse.ts';
import type { RegistryPort } from './records/registry-view.ts';
import { Reporter } from './records/reporter.ts';
import type { NoCredentials, Source } from './records/source.ts';
import { StatusFile } from './records/status-file.ts';
import type { OperatorView, StatusSink } from './records/status.ts';
import type { Address } from './records/target.ts';

/** A running operator. */
export interface Operator {
  /** what it knows now */
  view(): OperatorView;
  /** whether declarations and registry were both read, and the registry answers; the reason says what is missing */
  ready(): { ready: true } | { ready: false; reason: string };
  /** calls back with each new view; the result ends that */
  onChange(listener: (view: OperatorView) => void): () => void;
  /** Stops watching and probing, aborts what is in flight, writes a last status. Records stay as they are. */
  close(): Promise<void>;
}

export interface OperatorDeps {
  /** @default one that writes JSON lines */
  readonly log?: Log;
  /** where its metrics are registered; @default nowhere */
  readonly metrics?: Registry;
}

/** Views are put together at most this often, ms, since many names change together; and in a tenth of the time at most. */
const REPORT_EVERY_MS = 10;
const REPORT_SHARE = 10;

/**
 * Keeps a registry equal to the declarations in a directory, in this process. It starts whatever the state of registry and directory is, and
 * waits for them.
 * @throws Error when CA_FILE cannot be read
 */
export async function startOperator(settings: OperatorSettings, deps: OperatorDeps = {}): Promise<Operator> {
  const log = deps.log ?? createLog('operator');
  const metrics = new OperatorMetrics(deps.metrics);
  const ca = trusting([settings.CA_FILE === undefined ? undefined : await readFile(settings.CA_FILE, 'utf8')]);
  const file = new StatusFile(settings.STATUS_FILE);
  const reporter = new Reporter(settings.INSTALL, (await file.read())?.declarations ?? [], { log });
  const source = new DirectorySource({
    directory: settings.SOURCE_DIRECTORY,
    allow: settings.PROBE_ALLOW,
    log,
    ...(settings.PROBE_AUTH_DIRECTORY !== undefined && { credentials: settings.PROBE_AUTH_DIRECTORY }),
  });
  const readSeed = () => readFile(settings.REGISTRY_JWT_SEED_FILE ?? '', 'utf8');
  return runOperator({ settings, log, metrics, ca, sink: file, reporter, source, settingsIn: 'toolyard.json', readSeed });
}

/** What an operator is put together from. */
export interface Parts {
  readonly settings: OperatorSettings;
  readonly log: Log;
  readonly metrics: OperatorMetrics;
  /** certificates to trust, PEM; undefined for the system's */
  readonly ca: string[] | undefined;
  readonly sink: StatusSink;
  readonly reporter: Reporter;
  readonly source: Source;
  /** where a declaration has its settings */
  readonly settingsIn: NonNullable<KeeperRules['settingsIn']>;
  /** the registry's signing seed */
  readonly readSeed: () => Promise<string>;
  /** whether this process is the one that works; @default always */
  readonly mayWrite?: () => boolean;
}

/** Starts to keep the registry equal to what a source declares. */
export async function runOperator(parts: Parts): Promise<Operator> {
  return new RunningOperator(parts).start();
}

/** The system's certificates, and those in these texts. */
export function trusting(pems: readonly (string | undefined)[]): string[] | undefined {
  const given = pems.filter((pem) => pem !== undefined);
  return given.length === 0 ? undefined : [...rootCertificates, ...given];
}

class RunningOperator implements Operator {
  readonly #parts: Parts;
  readonly #dispatcher: Agent;
  readonly #dialler: Dialler;
  readonly #pulse = new Pulse();
  readonly #prober: Prober;
  readonly #keeper: Keeper;
  readonly #listeners = new Set<(view: OperatorView) => void>();
  #view: OperatorView;
  #resyncTimer: NodeJS.Timeout | undefined;
  #dueTimer: NodeJS.Timeout | undefined;
  #reportTimer: NodeJS.Timeout | undefined;
  #resyncing: Promise<void> | undefined;
  #reportTook = 0;
  /** why STATUS_FILE cannot be written */
  #unwritten: string | undefined;
  #closed = false;

  constructor(parts: Parts) {
    const { settings, log, metrics, ca, source, reporter } = parts;
    this.#parts = parts;
    this.#dispatcher = new Agent(ca === undefined ? {} : { connect: { ca } });
    this.#dialler = new Dialler(source, { ca, timeoutMs: settings.PROBE_TIMEOUT_SECONDS * 1000 });
    this.#prober = new Prober({
      probe: this.#dialler.probe,
      intervalMs: settings.PROBE_INTERVAL_SECONDS * 1000,
      lostSince: (since) => this.#pulse.lostSince(since),
      log,
      onChange: (keys) => this.#keeper.reconsider(this.#prober.namesOf(keys)),
      onProbe: (verdict, seconds) => {
        metrics.probed(verdict, seconds);
        // the time of the next try is news
        if (verdict.is === 'fails') this.#report();
      },
    });
    this.#keeper = new Keeper({
      rules: rulesOf(parts),
      source,
      registry: this.#registry(),
      answers: this.#prober,
      log,
      onChange: () => this.#report(),
      onTrouble: (waitMs) => this.#resyncIn(waitMs),
      onWrite: (report) => {
        metrics.wrote(report.action, report.outcome);
        log[report.outcome === 'done' ? 'info' : 'warn'](report, `${report.action} ${report.name} ${report.version}: ${report.outcome}`);
      },
    });
    this.#view = reporter.view(this.#keeper, false);
  }

  #registry(): RegistryPort {
    const { settings, readSeed, mayWrite } = this.#parts;
    const tokens = seedTokenSource({ readSeed });
    const client = new RegistryClient({ url: settings.REGISTRY_URL, tokens, dispatcher: this.#dispatcher });
    return mayWrite === undefined ? client : fenced(client, mayWrite);
  }

  async start(): Promise<this> {
    this.#pulse.start();
    await this.#parts.source.start((snapshot) => this.#keeper.declare(snapshot));
    this.#resyncIn(0);
    return this;
  }

  view(): OperatorView {
    return this.#view;
  }

  ready(): { ready: true } | { ready: false; reason: string } {
    const { registry, incomplete, ready } = this.#keeper;
    if (registry.state === 'down') return { ready: false, reason: `registry ${registry.url}: ${registry.message ?? 'does not answer'}` };
    if (incomplete !== undefined) return { ready: false, reason: incomplete };
    return ready ? { ready: true } : { ready: false, reason: 'declarations and registry were not read yet' };
  }

  onChange(listener: (view: OperatorView) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const timer of [this.#resyncTimer, this.#dueTimer, this.#reportTimer]) clearTimeout(timer);
    this.#pulse.close();
    // what is being written is aborted before anything is waited for
    const kept = this.#keeper.close();
    await this.#parts.source.close();
    await kept;
    await this.#prober.close();
    await this.#resyncing;
    await this.#dialler.close();
    await this.#dispatcher.destroy();
    await this.#publishView();
    await this.#parts.sink.close();
  }

  #resyncIn(waitMs: number): void {
    if (this.#closed) return;
    clearTimeout(this.#resyncTimer);
    this.#resyncTimer = setTimeout(() => {
      this.#resyncing ??= this.#resync().finally(() => {
        this.#resyncing = undefined;
      });
    }, waitMs);
  }

  async #resync(): Promise<void> {
    await this.#keeper.resync();
    if (this.#keeper.registry.state === 'up') this.#resyncIn(this.#parts.settings.REGISTRY_RESYNC_SECONDS * 1000);
  }

  #report(): void {
    if (this.#closed) return;
    this.#reportTimer ??= setTimeout(
      () => {
        this.#reportTimer = undefined;
        void this.#publishView();
        this.#awaitDue();
      },
      Math.max(REPORT_EVERY_MS, this.#reportTook * REPORT_SHARE),
    );
  }

  async #publishView(): Promise<void> {
    const { reporter, sink, metrics, log } = this.#parts;
    const startedAt = performance.now();
    const view = reporter.view(this.#keeper, this.#prober.selfSuspicion);
    this.#view = view;
    metrics.shows(view);
    for (const listener of this.#listeners) {
      try {
        listener(view);
      } catch (error) {
        log.error({ err: error }, 'the status could not be told');
      }
    }
    this.#reportTook = performance.now() - startedAt;
    await sink.write(view).then(
      () => this.#noteWritten(undefined),
      (error: NodeJS.ErrnoException) => this.#noteWritten(error),
    );
  }

  /** A disk that is full or read-only is told once, not with each change. */
  #noteWritten(error: NodeJS.ErrnoException | undefined): void {
    const { log, settings } = this.#parts;
    const reason = error?.code ?? error?.message;
    if (reason === this.#unwritten) return;
    this.#unwritten = reason;
    if (reason === undefined) log.info({ file: settings.STATUS_FILE }, 'the status is written again');
    else log.error({ err: error, file: settings.STATUS_FILE }, 'STATUS_FILE cannot be written; all else goes on');
  }

  #awaitDue(): void {
    clearTimeout(this.#dueTimer);
    const dueIn = this.#keeper.dueIn();
    if (dueIn !== undefined) this.#dueTimer = setTimeout(() => this.#keeper.wake(), Math.ceil(dueIn));
  }
}

function rulesOf({ settings, settingsIn }: Parts): KeeperRules {
  return {
    settingsIn,
    install: settings.INSTALL,
    publishEndpoint: settings.PUBLISH_ENDPOINT,
    endpoints: settings.ENDPOINTS,
    namePolicy: settings.NAME_POLICY,
    immutableVersions: settings.IMMUTABLE_VERSIONS,
    withdrawAfterMs: settings.WITHDRAW_AFTER_SECONDS * 1000,
  };
}

/** Probes through one guarded agent per namespace, with the credentials that its declarations name. */
class Dialler {
  readonly #source: Source;
  readonly #agents = new Map<string, Agent>();
  readonly #options: { ca: string[] | undefined; timeoutMs: number };

  constructor(source: Source, options: { ca: string[] | undefined; timeoutMs: number }) {
    this.#source = source;
    this.#options = options;
  }

  readonly probe: Probe = async (address, signal) => {
    const { auth } = address;
    const given = auth === undefined ? undefined : await this.#source.credentials(auth);
    const verdict = await this.#ask(address, given, signal);
    if (verdict.is !== 'auth-required' || auth === undefined || typeof given !== 'object') return verdict;
    // they may have been changed since they were read
    const present = await this.#source.credentials(auth, true);
    return isDeepStrictEqual(present, given) ? verdict : this.#ask(address, present, signal);
  };

  async #ask(address: Address, given: Credentials | NoCredentials | undefined, signal: AbortSignal): Promise<Verdict> {
    const { timeoutMs } = this.#options;
    const credentials = typeof given === 'object' ? { credentials: given } : {};
    const verdict = await probe(address, { dispatcher: this.#agent(address.namespace), timeoutMs, signal, ...credentials });
    if (verdict.is !== 'auth-required' || given === undefined) return verdict;
    if (typeof given === 'string') return { ...verdict, credentials: given };
    return { ...verdict, credentials: given.origin === new URL(address.url).origin ? 'refused' : 'elsewhere' };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#agents.values()].map((agent) => agent.destroy()));
  }

  #agent(namespace: string): Agent {
    const known = this.#agents.get(namespace);
    if (known !== undefined) return known;
    const { ca, timeoutMs } = this.#options;
    const { policy, resolve } = this.#source.network(namespace);
    const agent = guardedAgent(policy, { connectTimeoutMs: timeoutMs, ...defined({ ca, resolve }) });
    this.#agents.set(namespace, agent);
    return agent;
  }
}
