import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { KubeClient } from '../../lib/kube/client.ts';
import { isKubeError } from '../../lib/kube/errors.ts';
import { objectPath, type KubeObject } from '../../lib/kube/objects.ts';
import { until } from '../operator/bench.ts';
import { quietPort } from '../port.ts';
import { ended, type ApiServer } from './api-server.ts';
import { ALL, define } from './sandboxes.ts';

/** Where `scripts/ensure-cluster-tools` leaves what it built. */
const BINARY = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'toolyard', 'cluster-bin', 'agent-sandbox-controller');
const LOOK_EVERY_MS = 50;

interface Pod extends KubeObject {
  readonly status?: { readonly phase?: string };
}

/** agent-sandbox's real controller over an API server, and what of a kubelet it waits for: pods that run. Nothing runs in them. */
export class AgentSandbox {
  readonly #api: ApiServer;
  readonly #admin: KubeClient;
  readonly #pods: string;
  #controller: ChildProcess | undefined;
  #running = true;
  readonly #kubelet: Promise<void>;

  private constructor(api: ApiServer, admin: KubeClient, namespace: string) {
    this.#api = api;
    this.#admin = admin;
    this.#pods = `/api/v1/namespaces/${namespace}/pods`;
    this.#kubelet = this.#runPods();
  }

  static async start(api: ApiServer, admin: KubeClient, namespace: string): Promise<AgentSandbox> {
    if (!existsSync(BINARY)) throw new Error(`${BINARY} is missing: build it first (scripts/ensure-cluster-tools)`);
    await define(admin, ALL);
    const sandboxes = new AgentSandbox(api, admin, namespace);
    await sandboxes.up();
    return sandboxes;
  }

  async up(): Promise<void> {
    const probes = await quietPort();
    const log = await open(join(this.#api.root, 'agent-sandbox.log'), 'a');
    const flags = ['--extensions', '--leader-elect=false', '--enable-webhook=false', '--metrics-bind-address=0'];
    this.#controller = spawn(BINARY, [...flags, `--health-probe-bind-address=127.0.0.1:${probes}`], {
      env: { ...process.env, KUBECONFIG: await this.#api.kubeconfig() },
      stdio: ['ignore', log.fd, log.fd],
    });
    await log.close();
    const ready = () =>
      fetch(`http://127.0.0.1:${probes}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      );
    await until('the controller is ready', ready, 40_000);
  }

  async kill(): Promise<void> {
    await ended(this.#controller, 'SIGKILL');
  }

  /** A pod's program ends. */
  async end(pod: string, phase: 'Succeeded' | 'Failed'): Promise<void> {
    await this.#show(pod, phase, 'False');
  }

  async close(): Promise<void> {
    this.#running = false;
    await this.#kubelet;
    await this.kill();
  }

  async #runPods(): Promise<void> {
    while (this.#running) {
      const pods = await this.#admin.list<Pod>(this.#pods);
      for (const { metadata, status } of pods) if (status?.phase === 'Pending') await this.#show(metadata.name, 'Running', 'True');
      await delay(LOOK_EVERY_MS);
    }
  }

  async #show(pod: string, phase: string, ready: 'True' | 'False'): Promise<void> {
    const conditions = [{ type: 'Ready', status: ready }];
    const podIP = '10.201.0.9';
    try {
      await this.#admin.merge(`${objectPath(this.#pods, pod)}/status`, { status: { phase, conditions, podIP, podIPs: [{ ip: podIP }] } });
    } catch (error) {
      if (!isKubeError(error, 'not-found')) throw error;
    }
  }
}
