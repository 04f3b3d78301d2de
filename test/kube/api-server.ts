import { spawn, type ChildProcess } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { KubeClient } from '../../lib/kube/client.ts';
import type { Access } from '../../lib/kube/credentials.ts';
import { until } from '../operator/bench.ts';
import { quietPort } from '../port.ts';

/** Where `scripts/ensure-kube-apiserver` and the cluster's harness leave what they built. */
const BINARY = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'toolyard', 'cluster-bin', 'kube-apiserver');
const START_MS = 60_000;
const MEMORY = '/dev/shm';

/** A real kube-apiserver over a real etcd, on loopback, with nothing else of a cluster: no controllers, no nodes. */
export class ApiServer {
  readonly root: string;
  readonly port: number;
  readonly #etcdPort: number;
  readonly #tokens: Readonly<Record<string, string>>;
  #etcd: ChildProcess | undefined;
  #server: ChildProcess | undefined;
  #ca = '';

  private constructor(root: string, ports: readonly number[], tokens: Readonly<Record<string, string>>) {
    this.root = root;
    [this.port = 0, this.#etcdPort = 0] = ports;
    this.#tokens = tokens;
  }

  /** @param users names besides `admin`, without any right until a binding gives them some */
  static async start(users: readonly string[] = []): Promise<ApiServer> {
    if (!existsSync(BINARY)) throw new Error(`${BINARY} is missing: build it first (make cluster builds it with the rest)`);
    // etcd waits for the disk with each write, which is not what is tested
    const root = await mkdtemp(join(existsSync(MEMORY) ? MEMORY : tmpdir(), 'toolyard-kube-'));
    const tokens = Object.fromEntries(['admin', ...users].map((user) => [user, randomBytes(16).toString('hex')]));
    const server = new ApiServer(root, [await quietPort(), await quietPort()], tokens);
    await server.#prepare();
    await server.#startEtcd();
    await server.up();
    return server;
  }

  access(user = 'admin', port = this.port): Access {
    const headers = { authorization: `Bearer ${this.#tokens[user] ?? 'of nobody'}` };
    return { url: `https://127.0.0.1:${port}`, tls: { ca: this.#ca }, headers: async () => headers };
  }

  client(user = 'admin'): KubeClient {
    return new KubeClient({ access: this.access(user) });
  }

  /** Writes a kubeconfig. @returns its path */
  async kubeconfig(user = 'admin', port = this.port): Promise<string> {
    const path = join(this.root, `${user}-${port}.conf`);
    const cluster = { server: `https://127.0.0.1:${port}`, 'certificate-authority-data': Buffer.from(this.#ca).toString('base64') };
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'test', cluster }],
      users: [{ name: user, user: { token: this.#tokens[user] } }],
      contexts: [{ name: 'test', context: { cluster: 'test', user } }],
      'current-context': 'test',
    };
    await writeFile(path, JSON.stringify(config), { mode: 0o600 });
    return path;
  }

  /** Starts the API server over what etcd holds. Resolves when it is ready. */
  async up(): Promise<void> {
    const { root } = this;
    this.#server = await this.#spawn(BINARY, 'kube-apiserver', [
      `--etcd-servers=http://127.0.0.1:${this.#etcdPort}`,
      '--bind-address=127.0.0.1',
      `--secure-port=${this.port}`,
      `--cert-dir=${join(root, 'certs')}`,
      '--advertise-address=10.255.255.254',
      '--endpoint-reconciler-type=none',
      '--service-cluster-ip-range=10.96.0.0/16',
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-key-file=${join(root, 'sa.pub')}`,
      `--service-account-signing-key-file=${join(root, 'sa.key')}`,
      `--token-auth-file=${join(root, 'tokens.csv')}`,
      '--authorization-mode=RBAC',
      // without the controller manager nobody makes the accounts that it asks for
      '--disable-admission-plugins=ServiceAccount',
      // a load test is one client among many for the real one
      '--max-requests-inflight=0',
      '--max-mutating-requests-inflight=0',
      '--enable-priority-and-fairness=false',
    ]);
    await until('the API server is ready', () => this.#isReady(), START_MS);
  }

  /** Ends the API server as a crash does; etcd goes on. */
  async kill(): Promise<void> {
    await ended(this.#server, 'SIGKILL');
  }

  /** Makes etcd forget all revisions but the present one. */
  async compact(): Promise<void> {
    const call = async (path: string, body: object) => {
      const answer = await fetch(`http://127.0.0.1:${this.#etcdPort}/v3/kv/${path}`, { method: 'POST', body: JSON.stringify(body) });
      if (!answer.ok) throw new Error(`etcd refuses ${path}: ${await answer.text()}`);
      return (await answer.json()) as { header: { revision: string } };
    };
    const { header } = await call('range', { key: Buffer.from('none').toString('base64') });
    await call('compaction', { revision: header.revision, physical: true });
  }

  async close(): Promise<void> {
    await ended(this.#server, 'SIGKILL');
    await ended(this.#etcd, 'SIGKILL');
    await rm(this.root, { recursive: true, force: true });
  }

  async #prepare(): Promise<void> {
    await mkdir(join(this.root, 'certs'));
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    await writeFile(join(this.root, 'sa.key'), privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 });
    await writeFile(join(this.root, 'sa.pub'), publicKey.export({ type: 'spki', format: 'pem' }));
    const lines = Object.entries(this.#tokens).map(
      ([user, token]) => `${token},${user},${user},${user === 'admin' ? 'system:masters' : ''}`,
    );
    await writeFile(join(this.root, 'tokens.csv'), `${lines.join('\n')}\n`, { mode: 0o600 });
  }

  async #startEtcd(): Promise<void> {
    const url = `http://127.0.0.1:${this.#etcdPort}`;
    const peer = `http://127.0.0.1:${await quietPort()}`;
    this.#etcd = await this.#spawn('etcd', 'etcd', [
      `--data-dir=${join(this.root, 'etcd')}`,
      `--listen-client-urls=${url}`,
      `--advertise-client-urls=${url}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=default=${peer}`,
    ]);
    await until(
      'etcd answers',
      () =>
        fetch(`${url}/health`).then(
          ({ ok }) => ok,
          () => false,
        ),
      START_MS,
    );
  }

  async #isReady(): Promise<boolean> {
    if (this.#server?.exitCode !== null) throw new Error(`kube-apiserver ended; its log: ${join(this.root, 'kube-apiserver.log')}`);
    try {
      this.#ca = await readFile(join(this.root, 'certs', 'apiserver.crt'), 'utf8');
      const client = this.client();
      await client.get('/api/v1/namespaces/default').finally(() => client.close());
      return true;
    } catch {
      return false;
    }
  }

  async #spawn(command: string, name: string, args: readonly string[]): Promise<ChildProcess> {
    const log = await open(join(this.root, `${name}.log`), 'a');
    const child = spawn(command, args, { stdio: ['ignore', log.fd, log.fd] });
    await once(child, 'spawn');
    await log.close();
    return child;
  }
}

/** Ends one process and waits for its end. */
export async function ended(child: ChildProcess | undefined, signal: NodeJS.Signals): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill(signal);
  await exit;
}
