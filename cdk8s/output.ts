import { Yaml } from 'cdk8s';
import { version } from '../lib/version.ts';
import { FixedTemplate, holds } from './fixed-template.ts';
import { HelmTemplate } from './helm-template.ts';
import { filesOf, NAMESPACE, namespaceFile, objectsOf } from './toolyard.ts';
import { valuesJsonSchema, valuesYaml } from './values-docs.ts';
import { IMAGE_REGISTRY, readValues, type ValuesInput } from './values.ts';

const WRITTEN = '# Written by `make manifests` from cdk8s/: edit that.\n';

/** Text by path below charts/. */
export type Output = ReadonlyMap<string, string>;

/** One file of finished objects. */
export interface Finished {
  readonly path: string;
  readonly objects: readonly object[];
}

/** Everything under charts/. */
export function charts(): Output {
  return new Map([...plain(), ...kustomize(), ...helm()]);
}

/** The objects of an installation with these values, file by file, the namespace first. */
export function finished(given: ValuesInput = {}, namespace: string = NAMESPACE): readonly Finished[] {
  const values = readValues({ ...given, image: { registry: IMAGE_REGISTRY, ...given.image } });
  const files = [namespaceFile(), ...filesOf(new FixedTemplate(values, namespace))];
  return files
    .filter((file) => holds(file.when))
    .map((file) => ({ path: `${file.path}.yaml`, objects: objectsOf(file) }))
    .filter(({ objects }) => objects.length > 0);
}

function plain(): Output {
  const head = `${WRITTEN}# ${IMAGE_REGISTRY} stands for where you pushed the image: replace it, or use charts/kustomize.\n`;
  return new Map([['plain/toolyard.yaml', head + Yaml.stringify(...finished().flatMap(({ objects }) => objects))]]);
}

function kustomize(): Output {
  const base = finished();
  const written = base.map(({ path, objects }): [string, string] => [`kustomize/base/${path}`, WRITTEN + Yaml.stringify(...objects)]);
  return new Map([
    ...written,
    ['kustomize/base/kustomization.yaml', kustomization({ resources: base.map(({ path }) => path) })],
    ...everywhere(),
    example(),
  ]);
}

/** What an installation needs besides to take declarations from every namespace. */
function everywhere(): readonly [string, string][] {
  const directory = 'kustomize/components/all-namespaces';
  const files = finished({ operator: { allNamespaces: true } });
  const objects = (path: string) => files.find((file) => file.path === path)?.objects ?? [];
  const policy = objects('network-policies/operator.yaml');
  const env = [{ name: 'NAMESPACES', $patch: 'delete' }];
  const deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'operator', namespace: NAMESPACE },
    spec: { template: { spec: { containers: [{ name: 'operator', env }] } } },
  };
  return [
    [`${directory}/cluster-role.yaml`, WRITTEN + Yaml.stringify(...objects('operator/cluster-role.yaml'))],
    [`${directory}/network-policy.yaml`, WRITTEN + Yaml.stringify(...policy)],
    [`${directory}/deployment.yaml`, WRITTEN + Yaml.stringify(deployment)],
    [
      `${directory}/kustomization.yaml`,
      `${WRITTEN}${Yaml.stringify({
        apiVersion: 'kustomize.config.k8s.io/v1alpha1',
        kind: 'Component',
        resources: ['cluster-role.yaml'],
        patches: [{ path: 'deployment.yaml' }, { path: 'network-policy.yaml' }],
      })}`,
    ],
  ];
}

function example(): [string, string] {
  const images = [{ name: `${IMAGE_REGISTRY}/toolyard`, newName: 'registry.example.com/team/toolyard', newTag: version }];
  const text = kustomization({ resources: ['../../base'], components: ['../../components/all-namespaces'], images });
  return ['kustomize/overlays/example/kustomization.yaml', text];
}

function kustomization(fields: object): string {
  return WRITTEN + Yaml.stringify({ apiVersion: 'kustomize.config.k8s.io/v1beta1', kind: 'Kustomization', ...fields });
}

function helm(): Output {
  const template = new HelmTemplate();
  const files = filesOf(template).map((file): [string, string] => {
    return [`toolyard/templates/${file.path}.yaml`, WRITTEN + template.render(objectsOf(file), file.when, file.repeated)];
  });
  const chart = {
    apiVersion: 'v2',
    name: 'toolyard',
    description: 'Declared MCP servers, a registry kept equal to them, and a safe web fetcher',
    type: 'application',
    version,
    appVersion: version,
    kubeVersion: '>=1.30.0-0',
  };
  return new Map([
    ...files,
    ['toolyard/Chart.yaml', WRITTEN + Yaml.stringify(chart)],
    ['toolyard/values.yaml', WRITTEN + valuesYaml()],
    ['toolyard/values.schema.json', `${JSON.stringify(valuesJsonSchema(), null, 2)}\n`],
    ['toolyard/templates/NOTES.txt', notes],
  ]);
}

const notes = `toolyard {{ .Chart.AppVersion }} is installed in the namespace {{ .Release.Namespace }}.

Ready when this succeeds:
  kubectl -n {{ .Release.Namespace }} rollout status deployment/operator --timeout=5m

Declarations and what became of them:
  kubectl get configmaps -A -l toolyard.dev/kind=server.json -L toolyard.dev/state
{{ if eq .Values.registry.kind "external" }}
The registry is {{ .Values.registry.url }}.
{{- else if ne .Values.exposure.kind "none" }}
The registry is https://{{ .Values.exposure.host }}/v0.1/servers.
{{- else }}
The registry, from a namespace labelled toolyard.dev/client=true:
  http://registry.{{ .Release.Namespace }}.svc:8080/v0.1/servers
{{- end }}
{{ if .Values.operator.allNamespaces }}
Every namespace may declare servers.
{{- else }}
Declarations are taken from {{ prepend .Values.operator.namespaces .Release.Namespace | join ", " }}.
{{- end }}

Pods run as the Pod Security standard "restricted" wants it; have the cluster insist on that:
  kubectl label namespace {{ .Release.Namespace }} pod-security.kubernetes.io/enforce=restricted
`;
