import { selectorOf, type Part } from './names.ts';
import { unlessEmpty, type Condition, type Template } from './template.ts';
import type { PartValues } from './values.ts';

export interface Port {
  readonly name: string;
  readonly port: number;
}

/** A directory of the container; everything else is read-only. */
export interface Mount {
  /** of the volume */
  readonly name: string;
  readonly path: string;
  /** what is there, in the form of a pod's volumes without the name @default a volume that is declared elsewhere */
  readonly volume?: object;
  /** @default the whole volume */
  readonly subPath?: string;
  /** @default true */
  readonly readOnly?: boolean;
}

export interface PodProps {
  readonly part: Part;
  readonly values: PartValues;
  readonly image: string;
  /** @default the image's own */
  readonly command?: readonly string[];
  /** @default the image's own */
  readonly args?: readonly string[];
  readonly env: readonly object[];
  readonly ports: readonly Port[];
  readonly probes: object;
  readonly mounts: readonly Mount[];
  /** mounts under a condition @default none */
  readonly optionalMounts?: readonly OptionalMount[];
  /** user and group id @default 65532, the nonroot user of the image */
  readonly user?: number;
  /** whether its pods get the ServiceAccount's token @default false */
  readonly token?: boolean;
  /** @default none */
  readonly preStop?: readonly string[];
}

export interface OptionalMount {
  readonly when: Condition;
  readonly mount: Mount;
}

const NONROOT = 65_532;

/** Drain (5 s) and what is in flight (20 s) fit into it. */
const GRACE_SECONDS = 30;

/** A pod as the Pod Security standard `restricted` wants it, with a read-only root. */
export function podTemplate(template: Template, props: PodProps): object {
  const { part, values, user = NONROOT, token = false, optionalMounts = [] } = props;
  return {
    metadata: {
      labels: { ...selectorOf(part), ...template.entries(values.podLabels) },
      ...unlessEmpty(template, 'annotations', values.podAnnotations),
    },
    spec: {
      serviceAccountName: part,
      automountServiceAccountToken: token,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: GRACE_SECONDS,
      securityContext: { ...runAs(user), fsGroupChangePolicy: 'OnRootMismatch' },
      ...unlessEmpty(template, 'imagePullSecrets', template.values.image.pullSecrets),
      ...placement(template, values),
      topologySpreadConstraints: ['kubernetes.io/hostname', 'topology.kubernetes.io/zone'].map((topologyKey) => ({
        maxSkew: 1,
        topologyKey,
        whenUnsatisfiable: 'ScheduleAnyway',
        labelSelector: { matchLabels: selectorOf(part) },
      })),
      containers: [containerOf(template, props)],
      volumes: [...props.mounts.flatMap(volumeOf), ...optionalMounts.flatMap(({ when, mount }) => template.when(when, volumeOf(mount)))],
    },
  };
}

/** What a pod may be, as the Pod Security standard `restricted` wants it. */
export function runAs(user: number): object {
  return { runAsNonRoot: true, runAsUser: user, runAsGroup: user, fsGroup: user, seccompProfile: { type: 'RuntimeDefault' } };
}

/** The same of its container, with a read-only root. */
export const confined = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  runAsNonRoot: true,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
};

/** On which nodes its pods run, and with which priority. */
export function placement(template: Template, values: Omit<PartValues, 'extraEnv'>): object {
  return {
    ...unlessEmpty(template, 'nodeSelector', values.nodeSelector),
    ...unlessEmpty(template, 'tolerations', values.tolerations),
    ...unlessEmpty(template, 'affinity', values.affinity),
    ...unlessEmpty(template, 'priorityClassName', values.priorityClassName),
  };
}

function containerOf(template: Template, props: PodProps): object {
  const { part, values, command, args, preStop, optionalMounts = [] } = props;
  return {
    name: part,
    image: props.image,
    imagePullPolicy: template.values.image.pullPolicy,
    ...(command && { command }),
    ...(args && { args }),
    env: [...props.env, ...template.items(values.extraEnv)],
    ports: props.ports.map(({ name, port }) => ({ name, containerPort: port })),
    ...props.probes,
    ...(preStop && { lifecycle: { preStop: { exec: { command: preStop } } } }),
    resources: values.resources,
    securityContext: confined,
    volumeMounts: [...props.mounts.map(mountOf), ...optionalMounts.flatMap(({ when, mount }) => template.when(when, [mountOf(mount)]))],
  };
}

function volumeOf({ name, volume }: Mount): readonly object[] {
  return volume === undefined ? [] : [{ name, ...volume }];
}

function mountOf({ name, path, subPath, readOnly = true }: Mount): object {
  return { name, mountPath: path, ...(subPath !== undefined && { subPath }), ...(readOnly && { readOnly }) };
}

/** Space that goes with the pod. */
export function scratch(name: string, path: string, sizeLimit: string): Mount {
  return { name, path, volume: { emptyDir: { sizeLimit } }, readOnly: false };
}

export function fromSecret(name: string, path: string, secretName: string): Mount {
  // the group reads it: files belong to root
  return { name, path, volume: { secret: { secretName, defaultMode: 0o440 } } };
}

export function fromConfigMap(name: string, path: string, configMap: string): Mount {
  return { name, path, volume: { configMap: { name: configMap, defaultMode: 0o444 } } };
}

export function env(name: string, value: string): object {
  return { name, value };
}

export function envFromSecret(name: string, secret: string, key: string): object {
  return { name, valueFrom: { secretKeyRef: { name: secret, key } } };
}

/**
 * Alive, ready, and time to start: 60 s, in which nothing else is asked.
 * @param alive the handler of a probe
 * @param ready @default as alive
 */
export function probes(alive: object, ready: object = alive): object {
  return {
    startupProbe: { ...alive, periodSeconds: 1, timeoutSeconds: 2, failureThreshold: 60 },
    livenessProbe: { ...alive, periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 3 },
    readinessProbe: { ...ready, periodSeconds: 5, timeoutSeconds: 6, failureThreshold: 2 },
  };
}

export function httpProbes(port: string, alive = '/healthz', ready = '/readyz'): object {
  return probes({ httpGet: { path: alive, port } }, { httpGet: { path: ready, port } });
}

/** What every process of the image is told. @param options further ones of Node */
export function nodeEnv(template: Template, heapMiB: number, options = ''): readonly object[] {
  const { listenHost, logLevel } = template.values;
  const nodeOptions = `${options}--max-old-space-size=${template.text(heapMiB)}`;
  return [env('HOST', listenHost), env('LOG_LEVEL', logLevel), env('NODE_OPTIONS', nodeOptions)];
}

export function toolyardImage({ values: { image } }: Template): string {
  return `${image.registry}/toolyard:${image.tag}`;
}
