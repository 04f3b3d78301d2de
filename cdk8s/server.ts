import type { Construct } from 'constructs';
import { addDisruptionBudget, addServiceMonitor } from './availability.ts';
import { addDeployment, addObject, addService, addServiceAccount, File, withoutGap } from './manifest.ts';
import { made, ports, type Server } from './names.ts';
import {
  env,
  fromConfigMap,
  fromSecret,
  httpProbes,
  nodeEnv,
  podTemplate,
  scratch,
  toolyardImage,
  type Mount,
  type OptionalMount,
} from './pod.ts';
import type { Condition, Template } from './template.ts';

const TLS = '/etc/toolyard/tls';
const TOKENS = '/etc/toolyard/tokens';
const EXTRA_CA = '/etc/toolyard/extra-ca';

export interface ServerProps {
  readonly part: Server;
  /** variables besides those of every server */
  readonly env: readonly object[];
  /** size of /tmp */
  readonly tmp: string;
  /** @default none */
  readonly mounts?: readonly Mount[];
  /** whether its pods get the ServiceAccount's token @default false */
  readonly token?: boolean;
}

/** Whether a server is part of the installation. */
export function runs(template: Template, part: Server): Condition {
  return template.has(template.values[part].enabled);
}

/** Where a gateway that serves other things too finds a server, besides at /mcp. */
export function publicPath(part: Server): string {
  return `/${part}/mcp`;
}

/** The names by which pods of any namespace may call a Service. */
export function serviceHosts({ namespace, values }: Template, name: string): readonly string[] {
  return [name, `${name}.${namespace}`, `${name}.${namespace}.svc`, `${name}.${namespace}.svc.${values.clusterDomain}`];
}

/** The Secret with a server's certificate, made unless the user names another. */
export function tlsSecret(template: Template, part: Server): string {
  return template.or(template.values[part].tlsSecret, made.tls[part]);
}

/** An MCP server: stateless, any number of pods behind a Service, plain and with TLS. */
export function addServer(scope: Construct, template: Template, props: ServerProps): void {
  const { part } = props;
  const { autoscaling, replicas } = template.values[part];
  const enabled = runs(template, part);
  const scaled = template.has(autoscaling.enabled);
  const main = new File(scope, `${part}/${part}`, { when: enabled });
  addServiceAccount(main, template, part);
  addService(main, template, part, servicePorts);
  addDeployment(main, template, {
    part,
    // with an autoscaler every apply would undo what it chose
    replicas: template.fields(template.not(scaled), { replicas }),
    strategy: withoutGap,
    pods: serverPod(template, props),
  });
  addAutoscaler(scope, template, part);
  const several = template.any(
    template.all(scaled, template.over(autoscaling.minReplicas, 1)),
    template.all(template.not(scaled), template.over(replicas, 1)),
  );
  addDisruptionBudget(scope, template, part, template.all(enabled, several));
  addServiceMonitor(scope, template, part, enabled);
}

const servicePorts = [
  { name: 'http', port: ports.http },
  { name: 'https', port: ports.https },
  { name: 'metrics', port: ports.metrics },
];

function serverPod(template: Template, { part, env: own, tmp, mounts = [], token = false }: ServerProps): object {
  const { exposure, extraCA } = template.values;
  const values = template.values[part];
  const isPublic = template.not(template.equals(exposure.kind, 'none'));
  const hosts = serviceHosts(template, part).join(',');
  return podTemplate(template, {
    part,
    values,
    image: toolyardImage(template),
    args: [`/app/${part}.mjs`],
    token,
    env: [
      ...nodeEnv(template, values.heapMiB),
      env('PORT', String(ports.http)),
      env('TLS_PORT', String(ports.https)),
      env('TLS_CERT_FILE', `${TLS}/tls.crt`),
      env('TLS_KEY_FILE', `${TLS}/tls.key`),
      env('METRICS_PORT', String(ports.metrics)),
      env('PUBLIC_HOSTS', template.choose(isPublic, `${hosts},${exposure.host}`, hosts)),
      ...template.when(isPublic, [env('PUBLIC_PATH', publicPath(part))]),
      ...own,
      ...template.when(template.has(values.tokensSecret), [env('AUTH', 'tokens'), env('AUTH_TOKENS_FILE', `${TOKENS}/tokens.json`)]),
      ...template.when(template.has(extraCA.configMap), [env('NODE_EXTRA_CA_CERTS', `${EXTRA_CA}/${extraCA.key}`)]),
    ],
    ports: servicePorts,
    probes: httpProbes('http'),
    mounts: [fromSecret('tls', TLS, tlsSecret(template, part)), ...mounts, scratch('tmp', '/tmp', tmp)],
    optionalMounts: serverMounts(template, part),
  });
}

function serverMounts(template: Template, part: Server): readonly OptionalMount[] {
  const { extraCA } = template.values;
  const { tokensSecret } = template.values[part];
  return [
    { when: template.has(tokensSecret), mount: fromSecret('tokens', TOKENS, tokensSecret) },
    { when: template.has(extraCA.configMap), mount: fromConfigMap('extra-ca', EXTRA_CA, extraCA.configMap) },
  ];
}

function addAutoscaler(scope: Construct, template: Template, part: Server): void {
  const { autoscaling } = template.values[part];
  const file = new File(scope, `${part}/autoscaler`, { when: template.all(runs(template, part), template.has(autoscaling.enabled)) });
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
