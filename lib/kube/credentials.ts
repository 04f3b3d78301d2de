import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isIPv6 } from 'node:net';

/** Where the API server is and how to be let in. */
export interface Access {
  /** without a slash at its end */
  readonly url: string;
  readonly tls: { readonly ca?: string; readonly cert?: string; readonly key?: string; readonly rejectUnauthorized?: boolean };
  /** Headers that authenticate one request. `renew` after the last ones were refused. */
  headers(renew: boolean): Promise<Readonly<Record<string, string>>>;
  /** the namespace of a context, for people */
  readonly namespace?: string;
}

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

/** The kubelet replaces the token's file well before the token ends, so it need not be read for each request. */
const TOKEN_KEPT_MS = 30_000;

/** A Pod's own access; undefined outside a Pod. @throws Error when the ServiceAccount's files cannot be read */
export async function podAccess(
  env: NodeJS.ProcessEnv,
  directory = SERVICE_ACCOUNT,
  now: () => number = () => performance.now(),
): Promise<Access | undefined> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env;
  if (host === undefined || host === '' || port === undefined || port === '') return undefined;
  const ca = await readFile(join(directory, 'ca.crt'), 'utf8').catch((cause: unknown) => {
    throw new Error(
      `this Pod has no ${directory}/ca.crt: its ServiceAccount's token must be mounted (automountServiceAccountToken), or KUBERNETES_SERVICE_HOST unset to use a kubeconfig`,
      { cause },
    );
  });
  let kept: { readonly token: string; readonly readAt: number } | undefined;
  return {
    url: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
    tls: { ca },
    headers: async (renew) => {
      if (kept === undefined || renew || now() - kept.readAt >= TOKEN_KEPT_MS) {
        kept = { token: (await readFile(join(directory, 'token'), 'utf8')).trim(), readAt: now() };
      }
      return { authorization: `Bearer ${kept.token}` };
    },
  };
}

export interface KubeconfigChoice {
  /** @default the variable KUBECONFIG, else ~/.kube/config */
  readonly file?: string | undefined;
  /** @default the file's current one */
  readonly context?: string | undefined;
}

/**
 * Access as a kubeconfig describes it. The library that reads it takes 0.8 s and 84 MB to import: it is loaded here only.
 * @throws Error naming the file's fault, or the contexts that there are
 */
export async function kubeconfigAccess({ file, context }: KubeconfigChoice): Promise<Access> {
  const { KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  if (file === undefined) config.loadFromDefault();
  else config.loadFromFile(file);
  if (context !== undefined && config.getContextObject(context) === null) {
    const known = config.getContexts().map(({ name }) => name);
    throw new Error(`the kubeconfig has no context ${context}; it has ${known.join(', ') || 'none'}`);
  }
  if (context !== undefined) config.setCurrentContext(context);
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw new Error('the kubeconfig names no cluster: set its current-context, or name a context');
  const options: { ca?: unknown; cert?: unknown; key?: unknown; rejectUnauthorized?: boolean } = {};
  await config.applyToHTTPSOptions(options);
  const namespace = config.getContextObject(config.getCurrentContext())?.namespace;
  return {
    url: cluster.server.replace(/\/+$/, ''),
    tls: {
      ...pem('ca', options.ca),
      ...pem('cert', options.cert),
      ...pem('key', options.key),
      ...(options.rejectUnauthorized === false && { rejectUnauthorized: false }),
    },
    // plug-ins renew what they gave out by themselves
    headers: async () => {
      const request: { headers?: Record<string, unknown> } = {};
      await config.applyToHTTPSOptions(request);
      return Object.fromEntries(Object.entries(request.headers ?? {}).map(([name, value]) => [name.toLowerCase(), String(value)]));
    },
    ...(namespace !== undefined && { namespace }),
  };
}

function pem<K extends string>(name: K, value: unknown): { [P in K]?: string } {
  const text = Buffer.isBuffer(value) ? value.toString('utf8') : value;
  return (typeof text === 'string' ? { [name]: text } : {}) as { [P in K]?: string };
}
