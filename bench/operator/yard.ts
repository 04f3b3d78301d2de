import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { request } from 'undici';
import { SCHEMA_URL } from '../../lib/registry-api/server-json.ts';
import { startPart, type Part } from '../part.ts';

/** Nothing that is waited for here should take so long, even on a busy machine. */
const PATIENCE_MS = 120_000;

/** A directory of declarations, a registry, and an operator that keeps it equal to them: real processes, the operator's own defaults. */
export class Yard {
  readonly #root: string;
  #running = new AsyncDisposableStack();
  #registry: Part | undefined;
  #operator: Part | undefined;
  #registries = 0;

  private constructor(root: string) {
    this.#root = root;
  }

  static async create(stack: AsyncDisposableStack): Promise<Yard> {
    const yard = new Yard(await mkdtemp(join(tmpdir(), 'toolyard-bench-')));
    stack.defer(() => rm(yard.#root, { recursive: true, force: true }));
    stack.defer(() => yard.stop());
    await mkdir(join(yard.#root, 'catalog'));
    await writeFile(join(yard.#root, 'seed'), randomBytes(32).toString('hex'), { mode: 0o600 });
    return yard;
  }

  /** Writes a whole declaration at once, as editors and `git checkout` do. */
  async declare(name: string, url: string, description: string): Promise<void> {
    const folder = join(this.#root, 'catalog', name.replace('/', '_'));
    await mkdir(folder, { recursive: true });
    const remotes = [{ type: 'streamable-http', url }];
    const document = { $schema: SCHEMA_URL, name, description, version: '1.0.0', remotes };
    const draft = join(this.#root, 'draft');
    await writeFile(draft, JSON.stringify(document, undefined, 2));
    await rename(draft, join(folder, 'server.json'));
  }

  /** An empty registry; the next operator knows nothing of what was before. */
  async startRegistry(): Promise<void> {
    this.#registries += 1;
    const settings = {
      DATABASE_FILE: join(this.#root, `registry-${this.#registries}.sqlite`),
      JWT_PRIVATE_KEY_FILE: join(this.#root, 'seed'),
    };
    this.#registry = await startPart(this.#running, 'mcp-servers/registry/main.ts', { ...settings, ALLOW_LOCAL_REMOTES: 'true' });
  }

  /** Resolves when it listens; it may have read nothing yet. */
  async startOperator(): Promise<void> {
    this.#operator = await startPart(this.#running, 'operator/main.ts', {
      METRICS_PORT: '0',
      LOG_LEVEL: 'info',
      REGISTRY_URL: this.#urlOfRegistry,
      REGISTRY_JWT_SEED_FILE: join(this.#root, 'seed'),
      SOURCE_DIRECTORY: join(this.#root, 'catalog'),
      STATUS_FILE: join(this.#root, `status-${this.#registries}.json`),
      PUBLISH_ENDPOINT: 'true',
    });
  }

  /** Ends operator and registry; they may be started again. */
  async stop(): Promise<void> {
    await this.#running.disposeAsync();
    this.#running = new AsyncDisposableStack();
  }

  get operatorPid(): number {
    return this.#operator?.pid ?? Number.NaN;
  }

  /** Declarations that the operator counts as published. */
  async published(): Promise<number> {
    const url = /"metricsUrl":"([^"]+)"/.exec(this.#operator?.log() ?? '')?.[1] ?? '';
    return valueIn(await textOf(url), 'toolyard_declarations{state="Published"}');
  }

  /** Writes that the registry has committed since it was started. */
  async writes(): Promise<number> {
    return valueIn(await textOf(`${this.#urlOfRegistry}/metrics`), 'toolyard_registry_writes_total');
  }

  /** Records that can be read from the registry, page by page, as a client would. */
  async readable(): Promise<number> {
    let [found, cursor]: [number, string | undefined] = [0, ''];
    while (cursor !== undefined) {
      const page = JSON.parse(await textOf(`${this.#urlOfRegistry}/v0.1/servers?limit=100&cursor=${encodeURIComponent(cursor)}`)) as Page;
      found += page.servers.length;
      cursor = page.metadata.nextCursor;
    }
    return found;
  }

  async describes(name: string, description: string): Promise<boolean> {
    const { statusCode, body } = await request(`${this.#urlOfRegistry}/v0.1/servers/${encodeURIComponent(name)}/versions/latest`);
    const text = await body.text();
    return statusCode === 200 && text.includes(JSON.stringify(description));
  }

  get #urlOfRegistry(): string {
    return this.#registry?.url ?? '';
  }
}

interface Page {
  readonly servers: readonly unknown[];
  readonly metadata: { readonly nextCursor?: string };
}

async function textOf(url: string): Promise<string> {
  const { body } = await request(url);
  return body.text();
}

function valueIn(metrics: string, name: string): number {
  const line = metrics.split('\n').find((one) => one.startsWith(`${name} `));
  return Number(line?.slice(name.length) ?? 0);
}

/** Asks again and again until it is so. @throws Error naming what did not happen */
export async function until(what: string, everyMs: number, isSo: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`${what}: not within ${PATIENCE_MS / 1000} s`);
    await delay(everyMs);
  }
}
