import { Construct } from 'constructs';
import { addDisruptionBudget, addServiceMonitor } from './availability.ts';
import { addDeployment, addService, addServiceAccount, File, type PartProps } from './manifest.ts';
import { HANDLE_KEY, LEASE, made, PASSWORD_KEY, ports, SEED_KEY, servers } from './names.ts';
import { env, fromConfigMap, fromSecret, httpProbes, nodeEnv, podTemplate, scratch, toolyardImage, type OptionalMount } from './pod.ts';
import { databaseIsHere } from './postgresql.ts';
import { registryIsHere, seedSecret } from './registry.ts';
import { runs, serviceHosts } from './server.ts';
import type { Condition, Template } from './template.ts';

const part = 'operator';
const TRUSTED = '/etc/toolyard/trusted';
const SEED_BYTES = 32;
const PASSWORD_BYTES = 24;
/** It allocates little, but all the time: Node would let garbage grow to 50 MB before it collects, and then keep them. */
const SMALL_YOUNG_HEAP = '--max-semi-space-size=4 ';
const HANDLE_KEY_BYTES = 32;

/** The operator: one pod works, the others stand by. */
export class Operator extends Construct {
  constructor(scope: Construct, { template }: PartProps) {
    super(scope, part);
    const { operator } = template.values;
    const file = new File(this, 'operator/operator');
    addServiceAccount(file, template, part);
    addService(file, template, part, [{ name: 'metrics', port: ports.metrics }]);
    addDeployment(file, template, { part, replicas: { replicas: operator.replicas }, pods: operatorPod(template) });
    addDisruptionBudget(this, template, part, template.over(operator.replicas, 1));
    addServiceMonitor(this, template, part, true);
  }
}

/** Whether the operator is the authority that signs certificates. */
export function ownAuthority(template: Template): Condition {
  return template.equals(template.values.certificates.issuer, 'operator');
}

function operatorPod(template: Template): object {
  const { values } = template;
  const { operator } = values;
  return podTemplate(template, {
    part,
    values: operator,
    image: toolyardImage(template),
    args: ['/app/operator.mjs'],
    token: true,
    env: [
      ...nodeEnv(template, operator.heapMiB, SMALL_YOUNG_HEAP),
      env('PORT', String(ports.http)),
      env('METRICS_PORT', String(ports.metrics)),
      env('SOURCE', 'configmaps'),
      env('INSTALL', values.install),
      fieldEnv('INSTALL_NAMESPACE', 'metadata.namespace'),
      fieldEnv('POD_NAME', 'metadata.name'),
      env('LEASE_NAME', LEASE),
      ...template.when(template.not(template.has(operator.allNamespaces)), [env('NAMESPACES', watchedNamespaces(template))]),
      env('REGISTRY_URL', registryUrl(template)),
      env('REGISTRY_JWT_SEED_SECRET', seedSecret(template)),
      env('PROBE_INTERVAL_SECONDS', template.text(operator.probeIntervalSeconds)),
      env('IMMUTABLE_VERSIONS', template.text(operator.immutableVersions)),
      ...template.when(template.has(operator.namePolicy), [env('NAME_POLICY', template.json(operator.namePolicy))]),
      ...probeAllow(template),
      env('GENERATE', generated(template)),
      ...template.when(runs(template, 'sandbox'), [
        env('CLAIMS_NAMESPACES', values.sandboxNamespace),
        env('CLAIM_MAX_AGE_SECONDS', template.text(values.sandbox.maxAgeSeconds)),
        env('CLAIMS_MAX', template.text(values.sandbox.quota.claims)),
      ]),
      ...trustEnv(template),
    ],
    ports: [
      { name: 'http', port: ports.http },
      { name: 'metrics', port: ports.metrics },
    ],
    probes: httpProbes('http'),
    mounts: [scratch('tmp', '/tmp', '16Mi')],
    optionalMounts: trusted(template),
  });
}

/** Its own namespace and those that were chosen. */
function watchedNamespaces(template: Template): string {
  const { namespace } = template;
  const chosen = template.values.operator.namespaces;
  return template.choose(template.has(chosen), `${namespace},${template.join(chosen)}`, namespace);
}

function registryUrl(template: Template): string {
  return template.choose(
    registryIsHere(template),
    `http://registry.${template.namespace}.svc:${ports.registry}`,
    template.values.registry.url,
  );
}

function probeAllow(template: Template): readonly object[] {
  const { cidrs, hosts, namespaces } = template.values.operator.probeAllow;
  const any = template.any(template.has(cidrs), template.has(hosts), template.has(namespaces));
  return template.when(any, [
    env('PROBE_ALLOW', `${template.join(cidrs)},${template.join(hosts)},${template.join(namespaces, 'namespace:')}`),
  ]);
}

/** What the leader makes when it is missing; pods that mount it wait for it. */
function generated(template: Template): string {
  const { registry, postgresql, sandbox } = template.values;
  const authority = ownAuthority(template);
  return template.jsonList([
    {
      when: template.all(registryIsHere(template), template.not(template.has(registry.seedSecret))),
      item: { is: 'hex', secret: made.seed, key: SEED_KEY, bytes: SEED_BYTES },
    },
    {
      when: template.all(databaseIsHere(template), template.not(template.has(postgresql.passwordSecret))),
      item: { is: 'hex', secret: made.database, key: PASSWORD_KEY, bytes: PASSWORD_BYTES },
    },
    { when: authority, item: { is: 'ca', secret: made.authority, configMap: made.authority } },
    ...servers.map((part) => ({
      when: template.all(authority, runs(template, part), template.not(template.has(template.values[part].tlsSecret))),
      item: { is: 'certificate', secret: made.tls[part], hosts: serviceHosts(template, part) },
    })),
    {
      when: template.all(runs(template, 'sandbox'), template.not(template.has(sandbox.handleKeySecret))),
      item: { is: 'hex', secret: made.handleKey, key: HANDLE_KEY, bytes: HANDLE_KEY_BYTES },
    },
  ]);
}

/** Mounts and names the certificates that the operator accepts besides those of the system and of its own authority. */
function trustEnv(template: Template): readonly object[] {
  const { extraCA } = template.values;
  const file = template.choose(template.has(extraCA.configMap), extraCA.key, 'ca.crt');
  return template.when(template.any(...trusted(template).map(({ when }) => when)), [env('CA_FILE', `${TRUSTED}/${file}`)]);
}

function trusted(template: Template): readonly OptionalMount[] {
  const { extraCA, certificates } = template.values;
  const extra = template.has(extraCA.configMap);
  const anyServer = template.any(...servers.map((part) => runs(template, part)));
  return [
    { when: extra, mount: fromConfigMap('trusted', TRUSTED, extraCA.configMap) },
    {
      when: template.all(template.equals(certificates.issuer, 'cert-manager'), template.not(extra), anyServer),
      // cert-manager puts the issuer's certificate beside each certificate that it makes
      mount: fromSecret('trusted', TRUSTED, template.choose(runs(template, 'fetch'), made.tls.fetch, made.tls.sandbox)),
    },
  ];
}

function fieldEnv(name: string, fieldPath: string): object {
  return { name, valueFrom: { fieldRef: { fieldPath } } };
}
