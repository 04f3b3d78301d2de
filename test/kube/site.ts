import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { KubeClient } from '../../lib/kube/client.ts';
import { objectPath, paths, type ConfigMap, type KubeObject } from '../../lib/kube/objects.ts';
import { STATE_LABEL, STATUS_ANNOTATION } from '../../operator/records/configmap.ts';
import type { DeclarationStatus } from '../../operator/records/status.ts';
import { Bench, until } from '../operator/bench.ts';
import { quietPort } from '../port.ts';
import { ApiServer, ended } from './api-server.ts';
import { grant, installRules } from './rights.ts';

const MAIN = join(import.meta.dirname, '../../operator/main.ts');
export const INSTALL = 'toolyard';
export const USER = 'operator';
const SECRETS = ['toolyard-registry', 'toolyard-ca', 'toolyard-fetch-tls'];

/** An event of events.k8s.io/v1, as far as tests look at it. */
export interface SeenEvent extends KubeObject {
  readonly reason: string;
  readonly note: string;
  readonly type: string;
  readonly regarding: { readonly kind: string; readonly name: string };
  readonly series?: { readonly count: number };
}

/** One operator process. */
export interface RunningProcess {
  readonly child: ChildProcess;
  readonly url: string;
  readonly metricsUrl: string;
  /** what it wrote so far */
  readonly output: () => string;
}

/** A real API server, a real embedded registry, real MCP servers, and operator processes with no more rights than they need. */
export class Site {
  readonly api: ApiServer;
  readonly admin: KubeClient;
  /** registry and MCP servers */
  readonly bench: Bench;
  readonly #operators = new Set<RunningProcess>();

  private constructor(api: ApiServer, bench: Bench) {
    this.api = api;
    this.admin = api.client();
    this.bench = bench;
  }

  static async start(): Promise<Site> {
    const site = new Site(await ApiServer.start([USER]), await Bench.start());
    await site.namespace(INSTALL);
    await grant(site.admin, USER, { install: INSTALL, rules: installRules('toolyard-operator', SECRETS, ['toolyard-ca']) });
    return site;
  }

  async namespace(name: string): Promise<void> {
    await this.admin.create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }

  /** Settings of an operator here. @param port of the API server, or of something in front of it */
  async environment(port = this.api.port): Promise<NodeJS.ProcessEnv> {
    const { REGISTRY_URL, REGISTRY_JWT_SEED_FILE, PROBE_TIMEOUT_SECONDS, WITHDRAW_AFTER_SECONDS } = this.bench.environment();
    return {
      PATH: process.env['PATH'],
      REGISTRY_URL,
      REGISTRY_JWT_SEED_FILE,
      PROBE_TIMEOUT_SECONDS,
      WITHDRAW_AFTER_SECONDS,
      PROBE_INTERVAL_SECONDS: '2',
      REGISTRY_RESYNC_SECONDS: '2',
      SOURCE: 'configmaps',
      INSTALL_NAMESPACE: INSTALL,
      KUBECONFIG: await this.api.kubeconfig(USER, port),
      // servers of tests listen here
      PROBE_ALLOW: '127.0.0.1',
      DRAIN_SECONDS: '0',
    };
  }

  async operator(env: NodeJS.ProcessEnv = {}): Promise<RunningProcess> {
    const [port, metricsPort] = [await quietPort(), await quietPort()];
    const settings = { ...(await this.environment()), PORT: String(port), METRICS_PORT: String(metricsPort), ...env };
    const child = spawn(process.execPath, [MAIN], { env: settings, stdio: ['ignore', 'pipe', 'pipe'] });
    const chunks: Buffer[] = [];
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    const output = () => Buffer.concat(chunks).toString('utf8');
    const running = { child, output, url: `http://127.0.0.1:${port}`, metricsUrl: `http://127.0.0.1:${metricsPort}/metrics` };
    this.#operators.add(running);
    return running;
  }

  async stop(operator: RunningProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    const exit = operator.child.exitCode === null ? once(operator.child, 'exit') : undefined;
    operator.child.kill(signal);
    await exit;
    this.#operators.delete(operator);
    return operator.child.exitCode;
  }

  /** Declares one server, or declares it anew. */
  async declare(source: string, document: unknown, annotations: Readonly<Record<string, string>> = {}): Promise<ConfigMap> {
    const data = { 'server.json': typeof document === 'string' ? document : JSON.stringify(document) };
    return this.apply(source, { data }, annotations);
  }

  async apply(
    source: string,
    content: Pick<ConfigMap, 'data' | 'binaryData'>,
    annotations: Readonly<Record<string, string>> = {},
  ): Promise<ConfigMap> {
    const [namespace = '', name = ''] = source.split('/');
    // an empty map would be a field of its own, see the test about it
    const settings = Object.keys(annotations).length === 0 ? {} : { annotations };
    const metadata = { name, namespace, labels: { 'toolyard.dev/kind': 'server.json' }, ...settings };
    const configMap: ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata, ...content };
    return this.admin.apply(pathOf(source), configMap, { fieldManager: 'team', force: true });
  }

  async remove(source: string): Promise<void> {
    await this.admin.delete(pathOf(source));
  }

  async configMap(source: string): Promise<ConfigMap | undefined> {
    return this.admin.find<ConfigMap>(pathOf(source));
  }

  async statusOf(source: string): Promise<DeclarationStatus | undefined> {
    const text = (await this.configMap(source))?.metadata.annotations?.[STATUS_ANNOTATION];
    return text === undefined ? undefined : (JSON.parse(text) as DeclarationStatus);
  }

  async stateOf(source: string): Promise<string | undefined> {
    return (await this.configMap(source))?.metadata.labels?.[STATE_LABEL];
  }

  async untilState(source: string, state: string | undefined, deadlineMs = 20_000): Promise<void> {
    await until(`${source} is ${state ?? 'without a state'}`, async () => (await this.stateOf(source)) === state, deadlineMs);
  }

  /** `True Answers` */
  async conditionOf(source: string, type: string): Promise<string | undefined> {
    const condition = (await this.statusOf(source))?.conditions.find((one) => one.type === type);
    return condition && `${condition.status} ${condition.reason}`;
  }

  async events(namespace: string, name?: string): Promise<readonly SeenEvent[]> {
    const events = await this.admin.list<SeenEvent>(paths.events(namespace));
    return name === undefined ? events : events.filter(({ regarding }) => regarding.name === name);
  }

  /** What /readyz of an operator says; undefined while it does not listen. */
  async readiness({ url }: RunningProcess): Promise<{ ready: boolean; note?: string; reason?: string } | undefined> {
    return fetch(`${url}/readyz`).then(
      async (answer) => (await answer.json()) as { ready: boolean; note?: string; reason?: string },
      () => undefined,
    );
  }

  async untilReady(operator: RunningProcess, standby = false): Promise<void> {
    const isThere = async () => {
      if (operator.child.exitCode !== null) throw new Error(`the operator ended: ${operator.output()}`);
      const readiness = await this.readiness(operator);
      return readiness?.ready === true && (readiness.note?.startsWith('standby') === true) === standby;
    };
    await until(standby ? 'the operator stands by' : 'the operator works', isThere, 40_000);
  }

  /** Requests that an operator sent to the API server, by `verb resource`. */
  async requests({ metricsUrl }: RunningProcess): Promise<ReadonlyMap<string, number>> {
    const text = await (await fetch(metricsUrl)).text();
    const counts = new Map<string, number>();
    for (const [, labels = '', value = '0'] of text.matchAll(/^toolyard_kube_requests_total\{(.*)\} (\d+)$/gm)) {
      const label = (name: string) => new RegExp(`${name}="([^"]*)"`).exec(labels)?.[1] ?? '';
      const key = `${label('verb')} ${label('resource')}`;
      counts.set(key, (counts.get(key) ?? 0) + Number(value));
    }
    return counts;
  }

  async close(): Promise<void> {
    for (const { child } of this.#operators) await ended(child, 'SIGKILL');
    await this.admin.close();
    await this.bench.close();
    await this.api.close();
  }
}

export function pathOf(source: string): string {
  const [namespace = '', name = ''] = source.split('/');
  return objectPath(paths.configMaps(namespace), name);
}
