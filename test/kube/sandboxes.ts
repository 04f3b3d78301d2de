import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import type { KubeClient } from '../../lib/kube/client.ts';
import { objectPath, paths, type KubeObject, type SandboxClaim } from '../../lib/kube/objects.ts';
import { until } from '../operator/bench.ts';

const MODULE = join(import.meta.dirname, '../tools/agent-sandbox');
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

interface Definition extends KubeObject {
  readonly spec: object;
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

export type Lifecycle = SandboxClaim['spec']['lifecycle'];
export type Condition = NonNullable<NonNullable<SandboxClaim['status']>['conditions']>[number];

/** Files of definitions; the controller needs them all. */
export const CLAIMS_ALONE = ['extensions.agents.x-k8s.io_sandboxclaims.yaml'];
export const ALL = [
  ...CLAIMS_ALONE,
  'agents.x-k8s.io_sandboxes.yaml',
  'extensions.agents.x-k8s.io_sandboxtemplates.yaml',
  'extensions.agents.x-k8s.io_sandboxwarmpools.yaml',
];

/** agent-sandbox's own definitions, from its Go module, unless they are there; nobody here speaks the version that would need its webhook. */
export async function define(admin: KubeClient, files: readonly string[]): Promise<void> {
  const { stdout } = await promisify(execFile)('go', ['list', '-m', '-f', '{{.Dir}}', 'sigs.k8s.io/agent-sandbox'], { cwd: MODULE });
  for (const file of files) await defineOne(admin, join(stdout.trim(), 'k8s/crds', file));
}

async function defineOne(admin: KubeClient, file: string): Promise<void> {
  const definition = parse(await readFile(file, 'utf8')) as Definition;
  if ((await admin.find(objectPath(DEFINITIONS, definition.metadata.name))) !== undefined) return;
  await admin.create<Definition>(DEFINITIONS, { ...definition, spec: { ...definition.spec, conversion: { strategy: 'None' } } });
  const isServed = async () => {
    const { status } = await admin.get<Definition>(objectPath(DEFINITIONS, definition.metadata.name));
    return status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True');
  };
  await until(`${definition.metadata.name} is served`, isServed, 60_000);
}

/** The claims of one namespace, as their owners and agent-sandbox's controller write them. */
export class Claims {
  readonly #admin: KubeClient;
  readonly #path: string;
  readonly #namespace: string;
  readonly #pool: string;

  constructor(admin: KubeClient, namespace: string, pool = 'default') {
    this.#admin = admin;
    this.#namespace = namespace;
    this.#pool = pool;
    this.#path = paths.sandboxClaims(namespace);
  }

  async create(name: string, lifecycle?: Lifecycle, metadata: Partial<SandboxClaim['metadata']> & { finalizers?: string[] } = {}) {
    return this.#admin.create<SandboxClaim>(this.#path, {
      apiVersion: 'extensions.agents.x-k8s.io/v1beta1',
      kind: 'SandboxClaim',
      metadata: { ...metadata, name, namespace: this.#namespace },
      spec: { warmPoolRef: { name: this.#pool }, ...(lifecycle !== undefined && { lifecycle }) },
    });
  }

  /** The definition may be served before its collection is. */
  async createSoon(name: string, lifecycle?: Lifecycle): Promise<SandboxClaim> {
    return until(`${name} can be made`, () => this.create(name, lifecycle).catch(() => undefined));
  }

  find(name: string): Promise<SandboxClaim | undefined> {
    return this.#admin.find<SandboxClaim>(objectPath(this.#path, name));
  }

  list(): Promise<readonly SandboxClaim[]> {
    return this.#admin.list<SandboxClaim>(this.#path);
  }

  async delete(name: string): Promise<void> {
    await this.#admin.delete(objectPath(this.#path, name));
  }

  async patch(name: string, patch: object): Promise<void> {
    await this.#admin.merge(objectPath(this.#path, name), patch);
  }

  /** As agent-sandbox's controller does it. @param at Unix ms */
  async becomes(
    name: string,
    conditions: readonly [type: string, status: 'True' | 'False', reason: string][],
    sandbox = name,
  ): Promise<void> {
    const lastTransitionTime = wholeSeconds(Date.now());
    const shown = conditions.map(([type, status, reason]): Condition => ({ type, status, reason, message: reason, lastTransitionTime }));
    await this.#admin.merge(`${objectPath(this.#path, name)}/status`, { status: { sandbox: { name: sandbox }, conditions: shown } });
  }

  async untilGone(name: string, deadlineMs = 60_000): Promise<number> {
    await until(`${name} is gone`, async () => (await this.find(name)) === undefined, deadlineMs);
    return Date.now();
  }

  /** Waits until a claim has another end than this. */
  untilNot(name: string, shutdownTime: string): Promise<SandboxClaim> {
    const look = async () => {
      const found = await this.find(name);
      return found?.spec.lifecycle?.shutdownTime === shutdownTime ? undefined : found;
    };
    return until(`${name} ends at another time`, look, 20_000);
  }

  /** @returns the claim with the end that it got, and that end, Unix ms */
  async untilEnds(name: string, deadlineMs = 20_000): Promise<{ claim: SandboxClaim; at: number }> {
    const claim = await until(
      `${name} has an end`,
      async () => {
        const found = await this.find(name);
        return found?.spec.lifecycle?.shutdownTime === undefined ? undefined : found;
      },
      deadlineMs,
    );
    return { claim, at: Date.parse(claim.spec.lifecycle?.shutdownTime ?? '') };
  }
}

export function createdAt({ metadata }: SandboxClaim): number {
  return Date.parse(metadata.creationTimestamp ?? '');
}

/** RFC 3339 */
export function wholeSeconds(time: number): string {
  return new Date(time).toISOString().replace(/\.\d{3}Z$/, 'Z');
}
