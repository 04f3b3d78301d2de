import { KubeClient } from '../lib/kube/client.ts';
import { kubeconfigAccess, type Access } from '../lib/kube/credentials.ts';
import { KubeError } from '../lib/kube/errors.ts';
import { paths, type ConfigMap } from '../lib/kube/objects.ts';
import { DECLARATION_LABEL, declaredBy, type DeclaredConfigMap } from '../operator/records/configmap.ts';
import { readDeclaration } from '../operator/records/declaration.ts';
import { statusIn } from '../operator/records/status-shown.ts';
import type { DeclarationStatus } from '../operator/records/status.ts';
import { CliError, exit } from './exit.ts';
import { messageOf } from '../lib/error-message.ts';

/** Which cluster to ask, and which of its namespaces. */
export interface ClusterChoice {
  /** @default the variable KUBECONFIG, else ~/.kube/config */
  readonly kubeconfig?: string | undefined;
  /** @default the kubeconfig's current one */
  readonly context?: string | undefined;
  /** @default all */
  readonly namespace?: string | undefined;
}

export interface ClusterStatus {
  /** of the API server */
  readonly url: string;
  readonly declarations: readonly DeclarationStatus[];
}

/**
 * What the ConfigMaps of a cluster say about themselves.
 * @throws CliError `usage` for a kubeconfig that leads nowhere, `unreachable` when the API server does not answer, `no` when it refuses
 */
export async function readClusterStatus({ kubeconfig, context, namespace }: ClusterChoice): Promise<ClusterStatus> {
  const access = await kubeconfigAccess({ file: kubeconfig, context }).catch((cause: unknown): never => {
    throw new CliError(exit.usage, messageOf(cause), {
      next: 'name another with --kubeconfig FILE or --context NAME',
      cause,
    });
  });
  const configMaps = await listDeclarations(access, namespace);
  return { url: access.url, declarations: configMaps.map((configMap) => shownBy(declaredBy(configMap))) };
}

async function listDeclarations(access: Access, namespace: string | undefined): Promise<readonly ConfigMap[]> {
  const client = new KubeClient({ access });
  try {
    return await client.list<ConfigMap>(paths.configMaps(namespace), { labelSelector: DECLARATION_LABEL });
  } catch (error) {
    throw error instanceof KubeError ? refusal(error, access.url, namespace) : error;
  } finally {
    await client.close();
  }
}

function refusal(error: KubeError, url: string, namespace: string | undefined): CliError {
  if (error.status === undefined || error.code === 'unavailable') {
    return new CliError(exit.unreachable, `the API server ${url} does not answer: ${error.message}`, { cause: error });
  }
  const next =
    error.code === 'forbidden' && namespace === undefined ? { next: 'name one namespace that you may read with --namespace NAME' } : {};
  return new CliError(exit.no, `the API server ${url} refuses: ${error.message}`, { ...next, cause: error });
}

/** What a ConfigMap says, or that no operator wrote anything into it. Pure. */
export function shownBy({ raw, status }: DeclaredConfigMap): DeclarationStatus {
  const shown = statusIn(raw.source, status);
  if (shown !== undefined) return shown;
  const { wish } = readDeclaration(raw, { install: '', publishEndpoint: false, endpoints: {}, settingsIn: 'annotations' });
  const message =
    status.foreign === undefined
      ? 'no operator has written a status yet: is one running, and does it watch this namespace?'
      : `its status cannot be shown, since another field manager owns the annotation (${status.foreign})`;
  const unknown = { status: 'Unknown', reason: 'NoStatus', message, lastTransitionTime: new Date(raw.createdAt).toISOString() } as const;
  return {
    source: raw.source,
    name: wish.name ?? '',
    version: wish.version ?? '',
    state: 'Pending',
    conditions: [{ type: 'Published', ...unknown }],
  };
}
