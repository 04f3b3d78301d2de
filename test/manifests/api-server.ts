import { spawn, type ChildProcess } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, fetch } from 'undici';

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

export interface Answer {
  readonly status: number;
  // an object of the API, or its error
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any;
  /** what the API server warns of, such as pods that the namespace's level would refuse */
  readonly warnings: readonly string[];
}

export interface RequestOptions {
  /** whom the administrator speaks as @default themselves */
  readonly as?: string;
  readonly body?: object;
  /** @default application/json */
  readonly type?: string;
}

/** An API server with its etcd and nothing else: no controllers, no nodes. Enough for schemas, admission and rights. */
export class ApiServer {
  readonly #folder = mkdtempSync(join(tmpdir(), 'toolyard-api-server-'));
  readonly #agent = new Agent({ connect: { rejectUnauthorized: false } });
  readonly #processes: ChildProcess[] = [];
  #log = '';
  #port = 0;

  /** @param program kube-apiserver; etcd is looked for on PATH */
  static async start(program: string): Promise<ApiServer> {
    const server = new ApiServer();
    try {
      await server.#start(program);
      return server;
    } catch (error) {
      await server.close();
      throw error;
    }
  }

  async #start(program: string): Promise<void> {
    const [etcd, peers, port] = [await freePort(), await freePort(), await freePort()];
    this.#port = port;
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const [key, tokens] = [join(this.#folder, 'sa.key'), join(this.#folder, 'tokens.csv')];
    writeFileSync(key, privateKey.export({ type: 'pkcs8', format: 'pem' }));
    writeFileSync(tokens, 'admin,admin,1,system:masters\n');
    const at = (of: number) => `http://127.0.0.1:${of}`;
    this.#spawn('etcd', [
      `--data-dir=${join(this.#folder, 'etcd')}`,
      '--unsafe-no-fsync',
      `--listen-client-urls=${at(etcd)}`,
      `--advertise-client-urls=${at(etcd)}`,
      `--listen-peer-urls=${at(peers)}`,
      `--initial-advertise-peer-urls=${at(peers)}`,
      `--initial-cluster=default=${at(peers)}`,
    ]);
    this.#spawn(program, [
      `--etcd-servers=${at(etcd)}`,
      `--secure-port=${port}`,
      '--bind-address=127.0.0.1',
      `--cert-dir=${this.#folder}`,
      `--token-auth-file=${tokens}`,
      '--authorization-mode=RBAC',
      '--service-cluster-ip-range=10.96.0.0/16',
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-key-file=${key}`,
      `--service-account-signing-key-file=${key}`,
    ]);
    const deadline = performance.now() + 120_000;
    while (!(await this.#isReady())) {
      if (performance.now() > deadline) throw new Error(`the API server did not get ready; it said:\n${this.#log.slice(-3000)}`);
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  }

  #spawn(program: string, args: readonly string[]): void {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    child.on('error', (error) => (this.#log += `${program}: ${error.message}\n`));
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (this.#log += chunk.toString()));
    this.#processes.unshift(child);
  }

  async #isReady(): Promise<boolean> {
    const dead = this.#processes.find(({ exitCode }) => exitCode !== null);
    if (dead !== undefined) throw new Error(`${dead.spawnfile} ended; it said:\n${this.#log.slice(-3000)}`);
    return this.request('GET', '/readyz').then(
      ({ status }) => status === 200,
      () => false,
    );
  }

  /** Path of a kubeconfig of its administrator. */
  kubeconfig(): string {
    const path = join(this.#folder, 'kubeconfig');
    const cluster = { server: `https://127.0.0.1:${this.#port}`, 'insecure-skip-tls-verify': true };
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'test', cluster }],
      users: [{ name: 'admin', user: { token: 'admin' } }],
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'admin' } }],
      'current-context': 'test',
    };
    writeFileSync(path, JSON.stringify(config));
    return path;
  }

  async request(method: string, path: string, { as, body, type = 'application/json' }: RequestOptions = {}): Promise<Answer> {
    const response = await fetch(`https://127.0.0.1:${this.#port}${path}`, {
      method,
      dispatcher: this.#agent,
      headers: {
        authorization: 'Bearer admin',
        ...(as !== undefined && { 'impersonate-user': as }),
        ...(body && { 'content-type': type }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const parsed: unknown = text.startsWith('{') ? JSON.parse(text) : text;
    const warning = response.headers.get('warning');
    return { status: response.status, body: parsed, warnings: warning === null ? [] : [warning] };
  }

  /** Applies as `kubectl apply --server-side --validate=strict` does. */
  apply(manifest: Manifest, { dryRun = false, as }: { dryRun?: boolean; as?: string } = {}): Promise<Answer> {
    const query = `fieldManager=test&fieldValidation=Strict${dryRun ? '&dryRun=All' : ''}`;
    return this.request('PATCH', `${pathOf(manifest)}?${query}`, {
      body: manifest,
      type: 'application/apply-patch+yaml',
      ...(as !== undefined && { as }),
    });
  }

  async close(): Promise<void> {
    for (const child of this.#processes) {
      if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) continue;
      child.kill('SIGTERM');
      await once(child, 'close');
    }
    await this.#agent.close();
    rmSync(this.#folder, { recursive: true });
  }
}

export function pathOf({ apiVersion, kind, metadata: { namespace, name } }: Manifest): string {
  const group = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const plural = kind
    .toLowerCase()
    .replace(/y$/, 'ie')
    .replace(/(?<=s)$/, 'e');
  return `${group}${namespace === undefined ? '' : `/namespaces/${namespace}`}/${plural}s/${name}`;
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  return port;
}
