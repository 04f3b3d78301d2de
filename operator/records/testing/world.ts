import { pino } from 'pino';
import { SCHEMA_URL, type ServerJson } from '../../../lib/registry-api/server-json.ts';
import { afterProbe, judge, reachOf, unasked, type Answer, type Failure, type Judgement, type Verdict } from '../answers.ts';
import type { RawDeclaration } from '../declaration.ts';
import { Keeper, type KeeperRules } from '../keeper.ts';
import type { Wanted } from '../prober.ts';
import type { Snapshot } from '../source.ts';
import { targetKey, type Target } from '../target.ts';
import type { SimulatedRegistry } from './registry.ts';

export const INTERVAL_MS = 10_000;

/** Where the server called `at` is advertised. */
export function urlOf(at: string): string {
  return `https://${at}.example/mcp`;
}

export function serverJson(name: string, version: string, fields: Partial<ServerJson> & { at?: string } = {}): ServerJson {
  const { at = 'main', ...rest } = fields;
  return { $schema: SCHEMA_URL, name, version, description: 'a server', remotes: [{ type: 'streamable-http', url: urlOf(at) }], ...rest };
}

/** A declaration of one namespace: `team/x` belongs to `team`. */
export function raw(source: string, document: unknown, settings: unknown = {}, createdAt = 0): RawDeclaration {
  return { source, namespace: namespaceOf(source), createdAt, document: { value: document }, settings: { value: settings } };
}

export function namespaceOf(source: string): string {
  return source.split('/')[0] ?? '';
}

export const answersVerdict: Exclude<Verdict, Failure> = {
  is: 'answers',
  protocol: '2026-07-28',
  tools: { count: 1, digest: 'sha256:0', names: ['echo'] },
};
export const refusedVerdict: Failure = { is: 'fails', reason: 'ConnectionRefused', message: 'nothing listens at its address' };

/** The answers that a prober would collect, at a time that tests decide. */
class SimulatedAnswers {
  readonly #answers = new Map<string, { url: string; answer: Answer; wantedBy: Set<string> }>();
  #judgement: Judgement = { silent: new Set(), selfSuspicion: false };

  get selfSuspicion(): boolean {
    return this.#judgement.selfSuspicion;
  }

  reach(target: Target) {
    if (target.is === 'none') return target;
    const key = targetKey(target);
    return reachOf(this.#answers.get(key)?.answer ?? unasked, this.#judgement.silent.has(key));
  }

  want(name: string, wanted: readonly Wanted[]): void {
    const keys = new Set(wanted.map(({ address }) => targetKey(address)));
    for (const { address, expected } of wanted) {
      const entry = this.#answers.get(targetKey(address)) ?? { url: address.url, answer: unasked, wantedBy: new Set<string>() };
      entry.wantedBy.add(name);
      if (expected) entry.answer = { ...entry.answer, expected };
      this.#answers.set(targetKey(address), entry);
    }
    for (const [key, { wantedBy }] of this.#answers) {
      if (!keys.has(key) && wantedBy.delete(name) && wantedBy.size === 0) this.#answers.delete(key);
    }
  }

  hurry(): void {}

  nextProbeAt(): undefined {
    return undefined;
  }

  /** Asks every address once; returns the names that depend on them. */
  probeAll(verdictOf: (url: string) => Verdict, now: number): readonly string[] {
    for (const entry of this.#answers.values()) entry.answer = afterProbe(entry.answer, verdictOf(entry.url), now);
    this.#judgement = judge(new Map([...this.#answers].map(([key, { answer }]) => [key, answer])), { intervalMs: INTERVAL_MS });
    return [...this.#answers.values()].flatMap(({ wantedBy }) => Array.from(wantedBy));
  }
}

/** One install: its declarations, its keeper, and the time. */
export class SimulatedInstall {
  readonly install: string;
  readonly #registry: SimulatedRegistry;
  readonly #rules: Partial<KeeperRules>;
  readonly declared = new Map<string, RawDeclaration>();
  /** servers that answer, by the first part of their host name */
  readonly up = new Set<string>(['main']);
  incomplete = false;
  now = 1_000_000;
  answers = new SimulatedAnswers();
  keeper: Keeper;

  constructor(install: string, registry: SimulatedRegistry, rules: Partial<KeeperRules> = {}) {
    this.install = install;
    this.#registry = registry;
    this.#rules = rules;
    this.keeper = this.#start();
  }

  #start(): Keeper {
    this.answers = new SimulatedAnswers();
    return new Keeper({
      rules: {
        install: this.install,
        publishEndpoint: false,
        endpoints: {},
        namePolicy: {},
        immutableVersions: false,
        withdrawAfterMs: 30_000,
        ...this.#rules,
      },
      source: { namespaceOf, installNamespace: 'toolyard' },
      registry: this.#registry.port(this.install),
      answers: this.answers,
      log: pino({ level: 'silent' }),
      onChange: () => {},
      onTrouble: () => {},
      now: () => this.now,
    });
  }

  /** What a source would report now. */
  snapshot(): Snapshot {
    const declarations = [...this.declared.values()];
    return this.incomplete ? { declarations: declarations.slice(1), incomplete: 'a part cannot be read' } : { declarations };
  }

  async observe(): Promise<void> {
    this.keeper.declare(this.snapshot());
    await this.keeper.settled();
  }

  /** Time passes: servers are asked, the registry is read, what is due is done. */
  async pass(ms: number): Promise<void> {
    this.now += ms;
    this.keeper.reconsider(this.answers.probeAll((url) => (this.up.has(hostOf(url)) ? answersVerdict : refusedVerdict), this.now));
    // everything is read while names are still being written
    await Promise.all([this.keeper.settled(), this.keeper.resync()]);
    this.keeper.wake();
    await this.keeper.settled();
  }

  /** The process dies and a new one starts. */
  async restart(): Promise<void> {
    await this.keeper.close();
    this.keeper = this.#start();
  }
}

function hostOf(url: string): string {
  return new URL(url).hostname.split('.')[0] ?? '';
}
