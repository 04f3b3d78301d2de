import { KubeError, type KubeErrorCode } from '../../../lib/kube/errors.ts';
import type { KubeClient, DeleteOptions, WatchOptions } from '../../../lib/kube/client.ts';
import type { KubeList, KubeObject, SandboxClaim } from '../../../lib/kube/objects.ts';
import type { WatchEvent } from '../../../lib/kube/watch-lines.ts';

type Event = WatchEvent<SandboxClaim>;

/** The claims of one namespace, as far as a keeper asks for them. test/kube runs the keeper against a real API server. */
export class StubApi {
  readonly #claims = new Map<string, SandboxClaim>();
  readonly #watchers = new Set<(event: Event) => void>();
  readonly #history: Event[] = [];
  #version = 100;
  /** what each call of a kind is answered with, instead of anything else */
  readonly failures = new Map<'list' | 'patch' | 'delete', KubeErrorCode>();
  /** calls that were sent, with the claim's name */
  readonly calls: string[] = [];

  put(claim: SandboxClaim): void {
    const { name } = claim.metadata;
    this.#version += 1;
    const type = this.#claims.has(name) ? 'MODIFIED' : 'ADDED';
    const object = { ...claim, metadata: { ...claim.metadata, resourceVersion: String(this.#version) } };
    this.#claims.set(name, object);
    this.#tell({ type, object });
  }

  get(name: string): SandboxClaim | undefined {
    return this.#claims.get(name);
  }

  readonly client: Pick<KubeClient, 'pages' | 'watch' | 'merge' | 'delete'> = {
    pages: <T extends KubeObject>() => this.#pages() as unknown as AsyncGenerator<KubeList<T>>,
    watch: async <T extends KubeObject>(_path: string, options: WatchOptions) =>
      this.#events(options) as unknown as AsyncGenerator<WatchEvent<T>>,
    merge: async <T extends KubeObject>(path: string, patch: unknown) => {
      const { metadata, spec } = patch as SandboxClaim;
      const before = this.#take('patch', path, metadata);
      const lifecycle = { ...before.spec.lifecycle, ...spec.lifecycle };
      this.put({ ...before, spec: { ...before.spec, lifecycle } });
      return before as unknown as T;
    },
    delete: async (path: string, { preconditions = {} }: DeleteOptions) => {
      const object = this.#take('delete', path, preconditions);
      this.#claims.delete(object.metadata.name);
      this.#version += 1;
      const metadata = { ...object.metadata, resourceVersion: String(this.#version) };
      this.#tell({ type: 'DELETED', object: { ...object, metadata } });
    },
  };

  #take(verb: 'patch' | 'delete', path: string, { resourceVersion, uid }: NonNullable<DeleteOptions['preconditions']>): SandboxClaim {
    const name = path.slice(path.lastIndexOf('/') + 1);
    this.calls.push(`${verb} ${name}`);
    this.#fail(verb);
    const claim = this.#claims.get(name);
    if (claim === undefined) throw new KubeError('not-found', `${verb}: ${name} is not there`, { status: 404 });
    if (claim.metadata.resourceVersion !== resourceVersion || claim.metadata.uid !== uid) {
      throw new KubeError('conflict', `${verb}: ${name} changed`, { status: 409 });
    }
    return claim;
  }

  #fail(verb: 'list' | 'patch' | 'delete'): void {
    const code = this.failures.get(verb);
    if (code !== undefined) throw new KubeError(code, `${verb}: ${code}`, { status: code === 'not-found' ? 404 : 403 });
  }

  async *#pages(): AsyncGenerator<KubeList<SandboxClaim>> {
    this.#fail('list');
    yield { metadata: { resourceVersion: String(this.#version) }, items: [...this.#claims.values()] };
  }

  async *#events({ signal = AbortSignal.abort(), resourceVersion }: WatchOptions): AsyncGenerator<Event> {
    const waiting = this.#history.filter(({ object }) => Number(object.metadata.resourceVersion) > Number(resourceVersion));
    let wake = (): void => {};
    const take = (event: Event): void => {
      waiting.push(event);
      wake();
    };
    this.#watchers.add(take);
    signal.addEventListener('abort', () => wake());
    while (!signal.aborted) {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) yield next;
      await new Promise<void>((resolve) => {
        wake = resolve;
        if (waiting.length > 0 || signal.aborted) resolve();
      });
    }
    this.#watchers.delete(take);
  }

  #tell(event: Event): void {
    this.#history.push(event);
    for (const take of this.#watchers) take(event);
  }
}
