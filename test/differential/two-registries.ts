import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { OFFICIAL_META } from '../../lib/registry-api/server-json.ts';
import { seedTokenSource } from '../../lib/registry-api/token.ts';
import { registryConfig } from '../../mcp-servers/registry/config.ts';
import { startRegistry } from '../../mcp-servers/registry/main.ts';
import { documentOf, pathOf, send, type Answer, type Ask } from '../../mcp-servers/registry/testing.ts';
import { officialRegistry } from './official-registry.ts';

/**
 * The embedded registry beside the official one, with the same seed: whatever is asked of both must be answered alike, but for what they
 * differ in on purpose (mcp-servers/registry/README.md) and for what cannot be equal: times, echoed values, the words of libraries.
 */
export class TwoRegistries {
  /** every answer that differed so far */
  readonly differences: unknown[] = [];
  /** a namespace of this run alone: the official registry keeps what earlier runs published */
  readonly space = `diff-${randomBytes(4).toString('hex')}.example`;
  readonly officialUrl: string;
  readonly embeddedUrl: string;
  readonly seed: string;
  readonly close: () => Promise<void>;
  readonly #token: string;
  #names = 0;

  private constructor(fixed: { officialUrl: string; embeddedUrl: string; seed: string; token: string; close: () => Promise<void> }) {
    ({ officialUrl: this.officialUrl, embeddedUrl: this.embeddedUrl, seed: this.seed, token: this.#token, close: this.close } = fixed);
  }

  /** @throws Error when the environment names no official registry */
  static async start(): Promise<TwoRegistries> {
    const { url: officialUrl } = officialRegistry();
    const seedFile = process.env['OFFICIAL_REGISTRY_SEED_FILE'] ?? '';
    const seed = (await readFile(seedFile, 'utf8')).trim();
    const directory = await mkdtemp(join(tmpdir(), 'toolyard-differential-'));
    const anonymous = (await send(officialUrl, 'POST', '/v0/auth/none', {})).status === 200;
    const host = await startRegistry(
      registryConfig.parse({
        PORT: '0',
        DRAIN_SECONDS: '0',
        LOG_LEVEL: 'error',
        DATABASE_FILE: join(directory, 'registry.sqlite'),
        JWT_PRIVATE_KEY_FILE: seedFile,
        ENABLE_ANONYMOUS_AUTH: String(anonymous),
      }),
    );
    const close = async (): Promise<void> => {
      await host.close();
      await rm(directory, { recursive: true });
    };
    const token = await seedTokenSource({ readSeed: async () => seed }).token();
    return new TwoRegistries({ officialUrl, embeddedUrl: host.url, seed, token, close });
  }

  freshName(): string {
    this.#names += 1;
    return `${this.space}/n${this.#names}`;
  }

  /** Asks both, notes a difference, and gives both answers. */
  async ask(method: string, target: string, { token = this.#token, ...ask }: Ask = {}): Promise<{ official: Answer; embedded: Answer }> {
    const request = { ...ask, token };
    const [official, embedded] = await Promise.all([
      send(this.officialUrl, method, target, request),
      send(this.embeddedUrl, method, target, request),
    ]);
    const [theirs, ours] = [comparable(official), comparable(embedded)];
    const asked = `${method} ${target} ${String(ask.body ?? '').slice(0, 300)}`;
    if (!isDeepStrictEqual(theirs, ours)) this.differences.push({ asked, theirs, ours });
    return { official, embedded };
  }

  /** Asks one after the other for several targets. */
  async get(...targets: readonly string[]): Promise<void> {
    for (const target of targets) await this.ask('GET', target);
  }

  publish(name: string, version: string): Promise<{ official: Answer; embedded: Answer }> {
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
}

function comparable({ status, headers, body }: Answer): unknown {
  // The text of a redirect is nobody's business; its Location and that of the others is compared where it matters.
  const shown = typeof body === 'string' && status >= 300 ? '' : comparableBody(status, body);
  // As text and back: Go's answer to a publish keeps the sign of zero, which PostgreSQL does not.
  return JSON.parse(JSON.stringify({ status, type: headers['content-type'], body: shown }));
}

type Fields = Readonly<Record<string, unknown>>;

function comparableBody(status: number, body: unknown): unknown {
  if (typeof body !== 'object' || body === null) return body;
  const fields = body as Fields;
  if (Array.isArray(fields['errors'])) return { ...fields, errors: comparableErrors(status, fields['errors'] as readonly WireFault[]) };
  if (Array.isArray(fields['issues']))
    return { valid: fields['valid'], issues: comparableIssues(fields['issues'] as readonly WireFault[]) };
  if (Array.isArray(fields['servers'])) return { ...fields, servers: fields['servers'].map(comparableRecord) };
  if ('registry_token' in fields) return Object.keys(fields).sort();
  return '_meta' in fields ? comparableRecord(fields) : fields;
}

interface WireFault {
  readonly message: string;
  readonly location?: string;
  readonly type?: string;
  readonly path?: string;
}

/** Parsers of JSON, tokens and URLs, and databases, word their own errors; Go walks the entries of a map in any order. */
function comparableErrors(status: number, errors: readonly WireFault[]): string[] {
  const shown = errors.map(({ message, location = '' }) => {
    const ofLibrary =
      status === 401 || (status === 400 && (location === 'body' || /SQLSTATE|NUL|not be blank|unsupported Unicode/.test(message)));
    const words = ofLibrary ? '' : message.replace(/(?<=expected string to be RFC 3986 uri: ).*/s, '');
    // The empty key is no step of a path in the embedded registry.
    return `${location.replace(/\.$/, '')}: ${words}`;
  });
  return shown.sort();
}

/** Of the JSON Schema only whether it is broken: its validator reports every branch it tried. */
function comparableIssues(issues: readonly WireFault[]): string[] {
  return issues
    .filter(({ type }) => type === 'semantic')
    .map((issue) => JSON.stringify(issue).replace(/(?<=Available variables: )[^"]*/, ''));
}

/** Of the times only how they stand to each other within one record. */
function comparableRecord(record: unknown): unknown {
  const { server, _meta } = record as { readonly server: unknown; readonly _meta: Readonly<Record<string, Fields>> };
  const { statusChangedAt, publishedAt, updatedAt, ...rest } = _meta[OFFICIAL_META] ?? {};
  const times = [statusChangedAt, publishedAt, updatedAt].map((time) =>
    String(time).slice(0, '2026-11-06T12:00:00.123456'.length).replace(/0*Z?$/, ''),
  );
  const order = [...new Set(times)].sort();
  return { server, ...rest, times: times.map((time) => order.indexOf(time)) };
}
