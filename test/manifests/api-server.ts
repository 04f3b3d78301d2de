import { Agent, fetch } from 'undici';
import { ApiServer as Server } from '../kube/api-server.ts';

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

/** An API server, spoken to as manifests are applied: with its warnings, and as somebody else. Enough for schemas, admission and rights. */
export class ApiServer {
  readonly #server: Server;
  readonly #agent: Agent;

  private constructor(server: Server) {
    this.#server = server;
    this.#agent = new Agent({ connect: server.access().tls });
  }

  static async start(): Promise<ApiServer> {
    return new ApiServer(await Server.start());
  }

  /** Path of a kubeconfig of its administrator. */
  kubeconfig(): Promise<string> {
    return this.#server.kubeconfig();
  }

  async request(method: string, path: string, { as, body, type = 'application/json' }: RequestOptions = {}): Promise<Answer> {
    const access = this.#server.access();
    const response = await fetch(`${access.url}${path}`, {
      method,
      dispatcher: this.#agent,
      headers: {
        ...(await access.headers(false)),
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
    await this.#agent.close();
    await this.#server.close();
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
