import type { Log } from '../../lib/log.ts';
import type { KubeClient } from '../../lib/kube/client.ts';
import { isKubeError } from '../../lib/kube/errors.ts';
import { objectPath, paths, type ConfigMap, type EndpointSlice, type Secret, type Service } from '../../lib/kube/objects.ts';
import { Reflector } from '../kube/reflector.ts';
import { DECLARATION_LABEL, declaredBy, type DeclaredConfigMap } from './configmap.ts';
import type { RawDeclaration } from './declaration.ts';
import type { Credentials } from './probe.ts';
import { allowedBy, knownService, namespaceNetwork, type Allowed, type KnownService, type ServiceFacts } from './services.ts';
import type { Network, NoCredentials, Snapshot, Source } from './source.ts';
import { statusIn } from './status-shown.ts';
import type { DeclarationStatus } from './status.ts';
import type { Address } from './target.ts';

export interface ConfigMapSourceOptions {
  readonly client: KubeClient;
  /** whose ConfigMaps are declarations; empty for all */
  readonly namespaces: readonly string[];
  readonly installNamespace: string;
  /** PROBE_ALLOW: blocks, addresses, host names, `namespace:NAME` */
  readonly allow: readonly string[];
  readonly log: Log;
  readonly onRestart?: (path: string, what: 'list' | 'watch', why: string) => void;
}

/** Many ConfigMaps change together. */
const SETTLE_MS = 20;
/** A Secret is read again after this, or when a server refuses what it held. */
const CREDENTIALS_KEPT_MS = 60_000;
/** One that could not be read may be granted any moment. */
const REFUSAL_KEPT_MS = 5_000;
const OPT_IN_LABEL = 'toolyard.dev/probe-auth';
/** Of namespaces that cannot be read so many are named. */
const MOST_NAMED = 5;

/** Declarations in ConfigMaps with the label toolyard.dev/kind=server.json. */
export class ConfigMapSource implements Source {
  readonly installNamespace: string;
  readonly #options: ConfigMapSourceOptions;
  readonly #allowed: Allowed;
  readonly #configMaps: readonly Reflector<ConfigMap, DeclaredConfigMap>[];
  readonly #services: ReadonlyMap<string, Reflector<Service, KnownService>>;
  /** the same object for as long as what it declares is the same, whatever else of its ConfigMap changes */
  readonly #raws = new Map<string, RawDeclaration>();
  readonly #credentials = new Map<string, { readonly found: Promise<Credentials | NoCredentials>; readonly until: number }>();
  readonly #shownListeners = new Set<(sources: ReadonlySet<string>) => void>();
  #changed: (snapshot: Snapshot) => void = () => {};
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: ConfigMapSourceOptions) {
    const { namespaces, installNamespace, allow } = options;
    this.#options = options;
    this.installNamespace = installNamespace;
    this.#allowed = allowedBy(allow);
    const scopes = namespaces.length === 0 ? [undefined] : [...new Set(namespaces)];
    this.#configMaps = scopes.map((scope) => this.#reflectConfigMaps(scope));
    const serviceScopes = namespaces.length === 0 ? [undefined] : [...new Set([...namespaces, ...this.#allowed.namespaces])];
    this.#services = new Map(serviceScopes.map((scope) => [scope ?? EVERYWHERE, this.#reflectServices(scope)]));
  }

  /** What an earlier operator wrote. Resolves when everything was read, or could not be, or the signal ends the waiting. */
  async open(signal: AbortSignal): Promise<readonly DeclarationStatus[]> {
    signal.addEventListener('abort', () => void this.close(), { once: true });
    await Promise.all([...this.#configMaps, ...this.#services.values()].map((reflector) => reflector.start()));
    return [...this.#all()].flatMap(([source, { status }]) => statusIn(source, status) ?? []);
  }

  async start(changed: (snapshot: Snapshot) => void): Promise<void> {
    this.#changed = changed;
    changed(this.#snapshot());
  }

  /** A declaration's ConfigMap as it is now. */
  find(source: string): DeclaredConfigMap | undefined {
    for (const { items } of this.#configMaps) {
      const found = items.get(source);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Calls back with the sources whose ConfigMaps changed in any way. */
  onConfigMaps(listener: (sources: ReadonlySet<string>) => void): void {
    this.#shownListeners.add(listener);
  }

  namespaceOf(source: string): string {
    return source.slice(0, Math.max(source.indexOf('/'), 0));
  }

  network(namespace: string): Network {
    return namespaceNetwork(namespace, this.#allowed, this.#serviceFacts);
  }

  credentials(auth: NonNullable<Address['auth']>, anew = false): Promise<Credentials | NoCredentials> {
    const key = `${auth.namespace}/${auth.name}`;
    const now = performance.now();
    const kept = this.#credentials.get(key);
    if (!anew && kept !== undefined && now < kept.until) return kept.found;
    const found = this.#readCredentials(auth);
    const entry = { found, until: now + CREDENTIALS_KEPT_MS };
    this.#credentials.set(key, entry);
    return found.then((credentials) => {
      if (typeof credentials === 'string') entry.until = now + REFUSAL_KEPT_MS;
      return credentials;
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await Promise.all([...this.#configMaps, ...this.#services.values()].map((reflector) => reflector.close()));
  }

  readonly #serviceFacts: ServiceFacts = {
    services: () => this.#allServices(),
    find: (namespace, name) => this.#servicesOf(namespace)?.items.get(`${namespace}/${name}`),
    isRead: (namespace) => this.#servicesOf(namespace)?.synced === true,
    endpointsOf: ({ namespace, name }) =>
      this.#options.client.list<EndpointSlice>(paths.endpointSlices(namespace), { labelSelector: `kubernetes.io/service-name=${name}` }),
  };

  #servicesOf(namespace: string): Reflector<Service, KnownService> | undefined {
    return this.#services.get(EVERYWHERE) ?? this.#services.get(namespace);
  }

  *#allServices(): Generator<KnownService> {
    for (const { items } of this.#services.values()) yield* items.values();
  }

  *#all(): Generator<[string, DeclaredConfigMap]> {
    for (const { items } of this.#configMaps) yield* items;
  }

  #reflectConfigMaps(namespace: string | undefined): Reflector<ConfigMap, DeclaredConfigMap> {
    const { client, log, onRestart } = this.#options;
    const path = paths.configMaps(namespace);
    return new Reflector<ConfigMap, DeclaredConfigMap>({
      client,
      path,
      selection: { labelSelector: DECLARATION_LABEL },
      keep: (configMap) => this.#keep(declaredBy(configMap)),
      onChange: (sources) => {
        if (sources.size > 0) for (const listener of this.#shownListeners) listener(sources);
        this.#schedule();
      },
      log,
      onRestart: (what, why) => onRestart?.(path, what, why),
    });
  }

  #reflectServices(namespace: string | undefined): Reflector<Service, KnownService> {
    const { client, log, onRestart } = this.#options;
    const path = paths.services(namespace);
    return new Reflector<Service, KnownService>({
      client,
      path,
      keep: knownService,
      onChange: () => {},
      log,
      onRestart: (what, why) => onRestart?.(path, what, why),
    });
  }

  #keep(declared: DeclaredConfigMap): DeclaredConfigMap {
    const { raw } = declared;
    const known = this.#raws.get(raw.source);
    if (known !== undefined && JSON.stringify(known) === JSON.stringify(raw)) return { ...declared, raw: known };
    this.#raws.set(raw.source, raw);
    return declared;
  }

  #schedule(): void {
    if (this.#closed) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#changed(this.#snapshot());
    }, SETTLE_MS);
  }

  #snapshot(): Snapshot {
    const declarations = [...this.#all()].map(([, { raw }]) => raw);
    const present = new Set(declarations.map(({ source }) => source));
    for (const source of this.#raws.keys()) if (!present.has(source)) this.#raws.delete(source);
    const unread = this.#configMaps.filter(({ synced }) => !synced);
    if (unread.length === 0) return { declarations };
    const named = unread.slice(0, MOST_NAMED).map(({ trouble }) => trouble ?? 'a list is under way');
    const more = unread.length > MOST_NAMED ? ` and ${unread.length - MOST_NAMED} more` : '';
    return {
      declarations,
      incomplete: `ConfigMaps could not be read in full (${named.join('; ')}${more}); until they are, nothing is withdrawn`,
    };
  }

  async #readCredentials({ namespace, name }: NonNullable<Address['auth']>): Promise<Credentials | NoCredentials> {
    const { client, log } = this.#options;
    try {
      const secret = await client.get<Secret>(objectPath(paths.secrets(namespace), name));
      if (secret.metadata.labels?.[OPT_IN_LABEL] !== 'true') return 'withheld';
      return credentialsIn(secret) ?? 'missing';
    } catch (error) {
      if (isKubeError(error, 'forbidden')) return 'forbidden';
      if (!isKubeError(error, 'not-found')) log.warn({ namespace, name, err: error }, 'the Secret that probe-auth names cannot be read');
      return 'missing';
    }
  }
}

const EVERYWHERE = '*';

function credentialsIn({ data = {} }: Secret): Credentials | undefined {
  const authorization = textOf(data['authorization']);
  const url = URL.parse(textOf(data['origin']));
  if (authorization === '' || url === null || !['http:', 'https:'].includes(url.protocol)) return undefined;
  return { authorization, origin: url.origin };
}

function textOf(base64: string | undefined): string {
  return Buffer.from(base64 ?? '', 'base64')
    .toString('utf8')
    .trim();
}
