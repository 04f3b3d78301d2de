import { ApiObject, Chart } from 'cdk8s';
import type { Construct } from 'constructs';
import { PART_OF, selectorOf, type Part } from './names.ts';
import type { Condition, Template } from './template.ts';

export interface PartProps {
  readonly template: Template;
}

export interface FileProps {
  /** @default always there */
  readonly when?: Condition;
}

/** One file of manifests; in a chart, under its condition as a whole. */
export class File extends Chart {
  readonly when: Condition;

  /** @param path where it is written, without .yaml */
  constructor(scope: Construct, path: string, { when = true }: FileProps = {}) {
    super(scope, path.replaceAll('/', '-'), { disableResourceNameHashes: true });
    this.path = path;
    this.when = when;
  }

  readonly path: string;
  /** in a chart, what repeats its objects */
  repeated: string | undefined;
}

export interface ObjectProps {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  /** @default none: the object belongs to the cluster */
  readonly namespace?: string;
  /** @default no part's */
  readonly part?: Part;
  /** @default none besides those of every object */
  readonly labels?: object;
  /** fields of metadata besides @default none */
  readonly metadata?: object;
  /** everything below metadata */
  readonly body: object;
}

/** An object with toolyard's labels. */
export function addObject(file: File, props: ObjectProps): void {
  const { apiVersion, kind, name, namespace, part, labels, body } = props;
  const id = `${kind}-${file.node.children.length}`;
  const metadata = {
    name,
    ...(namespace !== undefined && { namespace }),
    labels: { ...(part === undefined ? PART_OF : selectorOf(part)), ...labels },
    ...props.metadata,
  };
  new ApiObject(file, id, { apiVersion, kind, metadata, ...body });
}

/** The account that a part runs under; none gets a token unless its pod asks for it. */
export function addServiceAccount(file: File, { namespace }: Template, part: Part): void {
  addObject(file, { apiVersion: 'v1', kind: 'ServiceAccount', name: part, namespace, part, body: { automountServiceAccountToken: false } });
}

/** A Service whose ports have the names of the pods' ports. */
export function addService(file: File, { namespace }: Template, part: Part, ports: readonly { name: string; port: number }[]): void {
  addObject(file, {
    apiVersion: 'v1',
    kind: 'Service',
    name: part,
    namespace,
    part,
    body: { spec: { selector: selectorOf(part), ports: ports.map(({ name, port }) => ({ name, port, targetPort: name })) } },
  });
}

export interface DeploymentProps {
  readonly part: Part;
  /** the field replicas, unless somebody else sets it */
  readonly replicas: object;
  /** its pods, as podTemplate makes them */
  readonly pods: object;
  /** @default the API server's */
  readonly strategy?: object;
}

/** New pods first: none of the ready ones goes before another is there. */
export const withoutGap = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } };

/** Pods of which each is as good as another. */
export function addDeployment(file: File, template: Template, { part, replicas, pods, strategy }: DeploymentProps): void {
  addWorkload(file, template, {
    kind: 'Deployment',
    part,
    spec: { ...replicas, selector: { matchLabels: selectorOf(part) }, ...(strategy !== undefined && { strategy }), template: pods },
  });
}

export interface Storage {
  readonly size: string;
  readonly storageClassName: string;
}

export interface StatefulSetProps {
  readonly part: Part;
  /** its pod, as podTemplate makes it */
  readonly pods: object;
  readonly storage: Storage;
}

/** One pod with a volume of its own, `data`. */
export function addStatefulSet(file: File, template: Template, { part, pods, storage }: StatefulSetProps): void {
  const selector = { matchLabels: selectorOf(part) };
  const volumeClaimTemplates = [volumeClaim(template, storage)];
  addWorkload(file, template, {
    kind: 'StatefulSet',
    part,
    spec: { replicas: 1, serviceName: part, selector, template: pods, volumeClaimTemplates },
  });
}

function addWorkload(file: File, { namespace }: Template, { kind, part, spec }: { kind: string; part: Part; spec: object }): void {
  addObject(file, { apiVersion: 'apps/v1', kind, name: part, namespace, part, body: { spec } });
}

/** Claims that a StatefulSet makes outlive it, and the release or the manifests that brought it. */
function volumeClaim(template: Template, { size, storageClassName }: Storage): object {
  return {
    // spelled out as the API server does it, its first status too, so that tools that compare see no difference
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'data' },
    spec: {
      volumeMode: 'Filesystem',
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: size } },
      ...template.fields(template.has(storageClassName), { storageClassName }),
    },
    status: { phase: 'Pending' },
  };
}
