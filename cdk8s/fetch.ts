import { Construct } from 'constructs';
import { addDisruptionBudget, addServiceMonitor } from './availability.ts';
import { addDeployment, addObject, addService, addServiceAccount, File, withoutGap, type PartProps } from './manifest.ts';
import { made, ports } from './names.ts';
import { env, fromConfigMap, fromSecret, httpProbes, nodeEnv, podTemplate, scratch, toolyardImage } from './pod.ts';
import type { Template } from './template.ts';

const part = 'fetch';
const TLS = '/etc/toolyard/tls';
const TOKENS = '/etc/toolyard/tokens';
const EXTRA_CA = '/etc/toolyard/extra-ca';
/** Where a gateway that serves other things too finds the server, besides at /mcp. */
export const PUBLIC_PATH = '/fetch/mcp';

/** The fetch server: stateless, any number of pods. */
export class Fetch extends Construct {
  constructor(scope: Construct, { template }: PartProps) {
    super(scope, part);
    const { fetch } = template.values;
    const { enabled, autoscaling } = fetch;
    const main = new File(this, 'fetch/fetch', { when: template.has(enabled) });
    addServiceAccount(main, template, part);
    addService(main, template, part, servicePorts);
    addDeployment(main, template, {
      part,
      // with an autoscaler every apply would undo what it chose
      replicas: template.fields(template.not(template.has(autoscaling.enabled)), { replicas: fetch.replicas }),
      strategy: withoutGap,
      pods: fetchPod(template),
    });
    addAutoscaler(this, template);
    const several = template.any(
      template.all(template.has(autoscaling.enabled), template.over(autoscaling.minReplicas, 1)),
      template.all(template.not(template.has(autoscaling.enabled)), template.over(fetch.replicas, 1)),
    );
    addDisruptionBudget(this, template, part, template.all(template.has(enabled), several));
    addServiceMonitor(this, template, part, template.has(enabled));
  }
}

const servicePorts = [
  { name: 'http', port: ports.http },
  { name: 'https', port: ports.https },
  { name: 'metrics', port: ports.metrics },
];

/** The names by which pods of any namespace may call a Service. */
export function serviceHosts({ namespace, values }: Template, name: string): readonly string[] {
  return [name, `${name}.${namespace}`, `${name}.${namespace}.svc`, `${name}.${namespace}.svc.${values.clusterDomain}`];
}

function fetchPod(template: Template): object {
  const { fetch, networkPolicies, exposure, extraCA } = template.values;
  const isPublic = template.not(template.equals(exposure.kind, 'none'));
  const hosts = serviceHosts(template, part).join(',');
  const { ipv4, ipv6 } = networkPolicies.clusterCidrs;
  return podTemplate(template, {
    part,
    values: fetch,
    image: toolyardImage(template),
    args: ['/app/fetch.mjs'],
    env: [
      ...nodeEnv(template, fetch.heapMiB),
      env('PORT', String(ports.http)),
      env('TLS_PORT', String(ports.https)),
      env('TLS_CERT_FILE', `${TLS}/tls.crt`),
      env('TLS_KEY_FILE', `${TLS}/tls.key`),
      env('METRICS_PORT', String(ports.metrics)),
      env('PUBLIC_HOSTS', template.choose(isPublic, `${hosts},${exposure.host}`, hosts)),
      ...template.when(isPublic, [env('PUBLIC_PATH', PUBLIC_PATH)]),
      env('FETCH_MAX_WORKERS', template.text(fetch.maxWorkers)),
      env('FETCH_WORKERS', template.text(fetch.maxWorkers)),
      env('FETCH_WORKER_MEMORY_MIB', template.text(fetch.workerMemoryMiB)),
      env('FETCH_IGNORE_ROBOTS', template.text(fetch.ignoreRobots)),
      ...template.when(template.has(fetch.allowOrigins), [env('FETCH_ALLOW_ORIGINS', template.join(fetch.allowOrigins))]),
      ...template.when(template.any(template.has(ipv4), template.has(ipv6)), [
        env('FETCH_DENY_CIDRS', `${template.join(ipv4)},${template.join(ipv6)}`),
      ]),
      ...template.when(template.has(fetch.tokensSecret), [env('AUTH', 'tokens'), env('AUTH_TOKENS_FILE', `${TOKENS}/tokens.json`)]),
      ...template.when(template.has(extraCA.configMap), [env('NODE_EXTRA_CA_CERTS', `${EXTRA_CA}/${extraCA.key}`)]),
    ],
    ports: servicePorts,
    probes: httpProbes('http'),
    mounts: [fromSecret('tls', TLS, template.or(fetch.tlsSecret, made.fetchTls)), scratch('tmp', '/tmp', '64Mi')],
    optionalMounts: [
      { when: template.has(fetch.tokensSecret), mount: fromSecret('tokens', TOKENS, fetch.tokensSecret) },
      { when: template.has(extraCA.configMap), mount: fromConfigMap('extra-ca', EXTRA_CA, extraCA.configMap) },
    ],
  });
}

function addAutoscaler(scope: Construct, template: Template): void {
  const { enabled, autoscaling } = template.values.fetch;
  const file = new File(scope, 'fetch/autoscaler', { when: template.all(template.has(enabled), template.has(autoscaling.enabled)) });
  addObject(file, {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    name: part,
    namespace: template.namespace,
    part,
    body: {
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: part },
        minReplicas: autoscaling.minReplicas,
        maxReplicas: autoscaling.maxReplicas,
        metrics: [
          { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: autoscaling.cpuPercent } } },
        ],
      },
    },
  });
}
