import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { SignJWT } from 'jose';
import { expect } from 'vitest';
import { ed25519Key, seedTokenSource, type Permission, type TokenSource } from '../../lib/registry-api/token.ts';
import { registryConfig } from '../../mcp-servers/registry/config.ts';
import { startRegistry } from '../../mcp-servers/registry/main.ts';
import { documentOf, pathOf, send, type Answer, type Ask } from '../../mcp-servers/registry/testing.ts';
import type { Pair, Shown } from './answers.ts';
import { allowedDifferences } from './differences.ts';
import { temporaryFolder } from './official/folder.ts';
import { startOfficialRegistry, type OfficialSettings } from './official/registry.ts';
import { officialRegistry } from './official-registry.ts';

export interface BothAnswers {
  readonly official: Answer;
  readonly embedded: Answer;
}

/** What is asked of each, when they have to be asked differently, as for times of their own. */
export type Target = string | Readonly<Record<keyof BothAnswers, string>>;

/** How often one group of tests asked, and how the answers compared. */
export interface Tally {
  requests: number;
  /** answers that were alike only after what may differ was taken out; how often each such difference was needed */
  readonly allowed: Map<string, number>;
}

/**
 * The embedded registry beside the official one, with the same seed: whatever is asked of both must be answered alike, but for what
 * differences.ts allows.
 */
export class TwoRegistries {
  /** every answer that differed since this was last emptied */
  readonly differences: unknown[] = [];
  /** by the outermost `describe` of the test that asked */
  readonly tallies = new Map<string, Tally>();
  /** a namespace of this run alone: an official registry that was there already keeps what earlier runs published */
  readonly space = `diff-${randomBytes(4).toString('hex')}.example`;
  readonly urls: Readonly<Record<keyof BothAnswers, string>>;
  readonly seed: string;
  readonly close: () => Promise<void>;
  /** for everything; renewed, since long runs outlive a token */
  readonly #tokens: TokenSource;
  #names = 0;

  private constructor(fixed: { urls: TwoRegistries['urls']; seed: string; close: () => Promise<void> }) {
    ({ urls: this.urls, seed: this.seed, close: this.close } = fixed);
    this.#tokens = seedTokenSource({ readSeed: async () => this.seed });
  }

  /** Beside the official registry that all tests share. */
  static async start(): Promise<TwoRegistries> {
    const { url, seedFile } = officialRegistry();
    const anonymous = (await send(url, 'POST', '/v0/auth/none', {})).status === 200;
    return TwoRegistries.#beside({ url, seedFile, close: async () => {} }, { ENABLE_ANONYMOUS_AUTH: String(anonymous) });
  }

  /** Both empty, both with settings of their own. */
  static async startOwn(official: OfficialSettings, embedded: Readonly<Record<string, string>>): Promise<TwoRegistries> {
    return TwoRegistries.#beside(await startOfficialRegistry(official), embedded);
  }

  static async #beside(
    official: { readonly url: string; readonly seedFile: string; readonly close: () => Promise<void> },
    settings: Readonly<Record<string, string>>,
  ): Promise<TwoRegistries> {
    const folder = await temporaryFolder('toolyard-differential-');
    const own = { PORT: '0', DRAIN_SECONDS: '0', LOG_LEVEL: 'error', DATABASE_FILE: join(folder.path, 'registry.sqlite') };
    const host = await startRegistry(registryConfig.parse({ ...own, JWT_PRIVATE_KEY_FILE: official.seedFile, ...settings }));
    const close = async (): Promise<void> => {
      await Promise.all([host.close(), official.close()]);
      await folder.remove();
    };
    const seed = (await readFile(official.seedFile, 'utf8')).trim();
    return new TwoRegistries({ urls: { official: official.url, embedded: host.url }, seed, close });
  }

  freshName(): string {
    this.#names += 1;
    return `${this.space}/n${this.#names}`;
  }

  tokenFor(...permissions: Permission[]): Promise<string> {
    return seedTokenSource({ readSeed: async () => this.seed, permissions }).token();
  }

  /** A token with claims that no token source would make. */
  async signed(claims: Readonly<Record<string, unknown>>, { key = this.seed, alg = 'EdDSA' } = {}): Promise<string> {
    const jwt = new SignJWT({ permissions: everything, ...claims }).setProtectedHeader({ alg });
    return jwt.sign(alg === 'EdDSA' ? ed25519Key(key) : Buffer.from(key, 'hex'));
  }

  /** Asks both, notes a difference, and gives both answers. */
  async ask(method: string, target: Target, ask: Ask = {}): Promise<BothAnswers> {
    const both = await this.askWithoutComparing(method, target, ask);
    const pair = { official: shown(both.official), embedded: shown(both.embedded) };
    const asked = `${method} ${JSON.stringify(target)} ${String(ask.body ?? '').slice(0, 300)}`;
    this.#compare(pair, asked);
    return both;
  }

  /** For requests whose answers are known to differ, or are compared in another way. */
  async askWithoutComparing(method: string, target: Target, { token: own, ...ask }: Ask = {}): Promise<BothAnswers> {
    const token = own === undefined ? await this.#tokens.token() : own;
    const targets = typeof target === 'string' ? { official: target, embedded: target } : target;
    const sendTo = (side: keyof BothAnswers) => send(this.urls[side], method, targets[side], { ...ask, token });
    const [official, embedded] = await Promise.all([sendTo('official'), sendTo('embedded')]);
    this.#tally().requests += 1;
    return { official, embedded };
  }

  /** Asks one after the other for several targets, each under both prefixes of the API. */
  async get(...targets: readonly string[]): Promise<void> {
    for (const target of targets) {
      await this.ask('GET', target);
      const other = target.startsWith('/v0/') ? target.replace('/v0/', '/v0.1/') : target.replace('/v0.1/', '/v0/');
      if (other !== target) await this.ask('GET', other);
    }
  }

  publish(name: string, version: string): Promise<BothAnswers> {
    return this.ask('POST', '/v0/publish', { body: documentOf(name, { version }) });
  }

  async setStatus(name: string, version: string, wish: { readonly status: string; readonly statusMessage?: unknown }): Promise<void> {
    await this.ask('PATCH', `${pathOf(name, version)}/status`, { body: JSON.stringify(wish) });
  }

  /** Everything that can be read about a name. */
  async readAll(name: string): Promise<void> {
    const search = encodeURIComponent(name);
    for (const suffix of ['', '&version=latest', '&include_deleted=true', '&include_deleted=true&version=latest', '&limit=2']) {
      await this.get(`/v0.1/servers?search=${search}${suffix}`);
    }
    for (const suffix of ['', '?include_deleted=true'])
      await this.get(`${pathOf(name)}/versions${suffix}`, `${pathOf(name, 'latest')}${suffix}`);
  }

  /** Walks all pages of a list. */
  async walk(query: string): Promise<void> {
    const seen = new Set<string>();
    for (let cursor: string | undefined = ''; cursor !== undefined && !seen.has(cursor);) {
      seen.add(cursor);
      const { embedded } = await this.ask('GET', `/v0.1/servers?${query}&cursor=${encodeURIComponent(cursor)}`);
      cursor = (embedded.body as { metadata?: { nextCursor?: string } }).metadata?.nextCursor;
    }
  }

  #compare(answered: Pair, asked: string): void {
    if (isDeepStrictEqual(answered.official, answered.embedded)) return;
    const { differ, needed } = compare(answered);
    if (differ !== undefined) this.differences.push({ asked, ...differ });
    const { allowed } = this.#tally();
    for (const what of needed) allowed.set(what, (allowed.get(what) ?? 0) + 1);
  }

  #tally(): Tally {
    const [group = ''] = (expect.getState().currentTestName ?? '').split(' > ');
    const tally = this.tallies.get(group) ?? { requests: 0, allowed: new Map<string, number>() };
    this.tallies.set(group, tally);
    return tally;
  }
}

export const everything: readonly Permission[] = [
  { action: 'publish', resource: '*' },
  { action: 'edit', resource: '*' },
];

const compared = allowedDifferences.flatMap(({ what, proof }) => (proof.by === 'comparison' ? [{ what, without: proof.without }] : []));

/** What is left of the difference when all that is allowed is taken out, and which of that was needed to make the answers equal. */
function compare(answered: Pair): { readonly differ?: Pair; readonly needed: readonly string[] } {
  const withoutAllBut = (kept?: string): Pair =>
    compared.filter(({ what }) => what !== kept).reduce((pair, { without }) => without(pair), answered);
  const differs = ({ official, embedded }: Pair): boolean => !isDeepStrictEqual(official, embedded);
  const rest = withoutAllBut();
  if (differs(rest)) return { differ: rest, needed: [] };
  return { needed: compared.map(({ what }) => what).filter((what) => differs(withoutAllBut(what))) };
}

/** Of each connection, or the very moment: nothing that two servers could have in common. */
const passing = new Set(['date', 'connection', 'keep-alive', 'content-length', 'transfer-encoding']);

function shown({ status, headers, body }: Answer): Shown {
  const lasting = Object.entries(headers).filter(([name]) => !passing.has(name));
  return { status, headers: Object.fromEntries(lasting.map(([name, value]) => [name, String(value)])), body };
}
