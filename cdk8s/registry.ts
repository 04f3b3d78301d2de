import { Construct } from 'constructs';
import { addDisruptionBudget, addServiceMonitor } from './availability.ts';
import { addDeployment, addService, addServiceAccount, addStatefulSet, File, withoutGap, type PartProps } from './manifest.ts';
import { made, PASSWORD_KEY, ports, SEED_KEY } from './names.ts';
import { env, envFromSecret, fromSecret, httpProbes, nodeEnv, podTemplate, scratch, toolyardImage } from './pod.ts';
import { database } from './postgresql.ts';
import type { Condition, Template } from './template.ts';

const part = 'registry';
const SEED = '/etc/toolyard/registry';
const DATA = '/data';

/** The registry that runs here, of one kind or the other; both have the same name and port. */
export class Registry extends Construct {
  constructor(scope: Construct, { template }: PartProps) {
    super(scope, part);
    const { registry } = template.values;
    const official = template.equals(registry.kind, 'official');
    const isHere = registryIsHere(template);
    const common = new File(this, 'registry/registry', { when: isHere });
    addServiceAccount(common, template, part);
    addService(common, template, part, [{ name: 'http', port: ports.registry }]);
    addOfficial(new File(this, 'registry/official', { when: official }), template);
    addEmbedded(new File(this, 'registry/embedded', { when: template.equals(registry.kind, 'embedded') }), template);
    addDisruptionBudget(this, template, part, template.all(official, template.over(registry.replicas, 1)));
    addServiceMonitor(this, template, part, isHere);
  }
}

/** Whether the registry is one of these manifests. */
export function registryIsHere(template: Template): Condition {
  return template.not(template.equals(template.values.registry.kind, 'external'));
}

export function seedSecret(template: Template): string {
  return template.or(template.values.registry.seedSecret, made.seed);
}

/** The official MCP registry. Its variables: modelcontextprotocol/registry v1.8.8, internal/config. */
function addOfficial(file: File, template: Template): void {
  const { registry, postgresql } = template.values;
  const ownDatabase = template.has(registry.databaseUrlSecret);
  const passwordSecret = template.or(postgresql.passwordSecret, made.database);
  addDeployment(file, template, {
    part,
    replicas: { replicas: registry.replicas },
    strategy: withoutGap,
    pods: podTemplate(template, {
      part,
      values: registry,
      image: registry.image,
      env: [
        env('MCP_REGISTRY_SERVER_ADDRESS', `:${ports.registry}`),
        envFromSecret('MCP_REGISTRY_JWT_PRIVATE_KEY', seedSecret(template), SEED_KEY),
        ...template.when(ownDatabase, [envFromSecret('MCP_REGISTRY_DATABASE_URL', registry.databaseUrlSecret, 'url')]),
        ...template.when(template.not(ownDatabase), [
          envFromSecret('DATABASE_PASSWORD', passwordSecret, PASSWORD_KEY),
          env('MCP_REGISTRY_DATABASE_URL', database.url(template)),
        ]),
        env('MCP_REGISTRY_DATABASE_MAX_CONNECTIONS', template.text(registry.maxConnections)),
        env('MCP_REGISTRY_DATABASE_MIN_CONNECTIONS', '1'),
        env('MCP_REGISTRY_ENABLE_REGISTRY_VALIDATION', template.text(registry.validatePackages)),
        env('MCP_REGISTRY_ENABLE_ANONYMOUS_AUTH', 'false'),
      ],
      ports: [{ name: 'http', port: ports.registry }],
      // /v0.1/health asks no database; reading one record does
      probes: httpProbes('http', '/v0.1/health', '/v0.1/servers?limit=1'),
      mounts: [scratch('tmp', '/tmp', '16Mi')],
    }),
  });
}

/** toolyard's own registry: one process on one file. */
function addEmbedded(file: File, template: Template): void {
  const { registry } = template.values;
  addStatefulSet(file, template, {
    part,
    pods: podTemplate(template, {
      part,
      values: registry,
      image: toolyardImage(template),
      args: ['/app/registry.mjs'],
      env: [
        ...nodeEnv(template, registry.heapMiB),
        env('PORT', String(ports.registry)),
        env('DATABASE_FILE', `${DATA}/registry.sqlite`),
        env('JWT_PRIVATE_KEY_FILE', `${SEED}/${SEED_KEY}`),
      ],
      ports: [{ name: 'http', port: ports.registry }],
      probes: httpProbes('http'),
      mounts: [
        fromSecret('seed', SEED, seedSecret(template)),
        { name: 'data', path: DATA, readOnly: false },
        scratch('tmp', '/tmp', '64Mi'),
      ],
    }),
    storage: registry,
  });
}
