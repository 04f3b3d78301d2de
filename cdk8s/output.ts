import { Yaml } from 'cdk8s';
import { version } from '../lib/version.ts';
import { FixedTemplate, holds } from './fixed-template.ts';
import { HelmTemplate } from './helm-template.ts';
import { AGENT_SANDBOX } from './names.ts';
import { filesOf, NAMESPACE, namespaceFile, objectsOf } from './toolyard.ts';
import { valuesJsonSchema, valuesYaml } from './values-docs.ts';
import { IMAGE_REGISTRY, readValues, type ValuesInput } from './values.ts';

const WRITTEN = '# Written by `make manifests` from cdk8s/: edit that.\n';

/** Where the files of the namespace of sandboxes are. */
const SANDBOXES = 'sandboxes';
const withSandbox: ValuesInput = { sandbox: { enabled: true } };

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

/** The objects of an installation with these values, file by file, namespaces first. */
export function finished(given: ValuesInput = {}, namespace: string = NAMESPACE): readonly Finished[] {
  const values = readValues({ ...given, image: { registry: IMAGE_REGISTRY, ...given.image } });
  const namespaces = [namespaceFile('namespace', namespace)];
  if (values.sandbox.enabled) namespaces.push(namespaceFile(`${SANDBOXES}/namespace`, values.sandboxNamespace));
  const files = [...namespaces, ...filesOf(new FixedTemplate(values, namespace))];
  return files
    .filter((file) => holds(file.when))
    .map((file) => ({ path: `${file.path}.yaml`, objects: objectsOf(file) }))
    .filter(({ objects }) => objects.length > 0);
}

function plain(): Output {
  const head = `${WRITTEN}# ${IMAGE_REGISTRY} stands for where you pushed the image: replace it, or use charts/kustomize.\n`;
  const all = (values: ValuesInput) => head + Yaml.stringify(...finished(values).flatMap(({ objects }) => objects));
  return new Map([
    ['plain/toolyard.yaml', all({})],
    ['plain/toolyard-with-sandbox.yaml', all(withSandbox)],
  ]);
}

function kustomize(): Output {
  const base = finished();
  return new Map([
    ...filesIn('kustomize/base', base),
    ['kustomize/base/kustomization.yaml', kustomization({ resources: base.map(({ path }) => path) })],
    ...everywhere(),
    ...sandbox(base),
    ...examples(),
  ]);
}

/** What an installation needs besides to take declarations from every namespace. */
function everywhere(): readonly [string, string][] {
  const directory = 'kustomize/components/all-namespaces';
  const files = finished({ operator: { allNamespaces: true } });
  const objects = (path: string) => files.find((file) => file.path === path)?.objects ?? [];
  const policy = objects('network-policies/operator.yaml');
  const deployment = operatorPatch([{ name: 'NAMESPACES', $patch: 'delete' }]);
  return [
    [`${directory}/cluster-role.yaml`, WRITTEN + Yaml.stringify(...objects('operator/cluster-role.yaml'))],
    [`${directory}/network-policy.yaml`, WRITTEN + Yaml.stringify(...policy)],
    [`${directory}/deployment.yaml`, WRITTEN + Yaml.stringify(deployment)],
    [
      `${directory}/kustomization.yaml`,
      component({ resources: ['cluster-role.yaml'], patches: [{ path: 'deployment.yaml' }, { path: 'network-policy.yaml' }] }),
    ],
  ];
}

/**
 * The sandbox in two: what joins the installation, and what is in the namespace of sandboxes, a kustomization that can be applied by itself,
 * once agent-sandbox is there.
 */
function sandbox(base: readonly Finished[]): readonly [string, string][] {
  const all = finished(withSandbox);
  const added = all.filter(({ path }) => !base.some((file) => file.path === path));
  const [sandboxes, joined] = [added.filter(isOfSandboxes), added.filter((file) => !isOfSandboxes(file))];
  const inside = sandboxes.map(({ path, objects }) => ({ path: path.slice(SANDBOXES.length + 1), objects }));
  return [
    ...filesIn('kustomize/sandboxes', inside),
    ['kustomize/sandboxes/kustomization.yaml', kustomization({ resources: inside.map(({ path }) => path) })],
    ...filesIn('kustomize/components/sandbox', joined),
    ['kustomize/components/sandbox/operator/environment.yaml', WRITTEN + Yaml.stringify(operatorPatch(addedEnv(base, all)))],
    [
      'kustomize/components/sandbox/kustomization.yaml',
      component({ resources: joined.map(({ path }) => path), patches: [{ path: 'operator/environment.yaml' }] }),
    ],
    [
      'kustomize/agent-sandbox/kustomization.yaml',
      kustomization({
        resources: [`https://github.com/kubernetes-sigs/agent-sandbox/releases/download/v${AGENT_SANDBOX}/sandbox-with-extensions.yaml`],
      }),
    ],
  ];
}

function isOfSandboxes({ path }: Finished): boolean {
  return path.startsWith(`${SANDBOXES}/`);
}

interface Variable {
  readonly name: string;
}

/** Variables of the operator that another installation has besides, or otherwise. */
function addedEnv(before: readonly Finished[], after: readonly Finished[]): readonly Variable[] {
  const known = new Set(operatorEnv(before).map((variable) => JSON.stringify(variable)));
  return operatorEnv(after).filter((variable) => !known.has(JSON.stringify(variable)));
}

function operatorEnv(files: readonly Finished[]): readonly Variable[] {
  const objects = files.find(({ path }) => path === 'operator/operator.yaml')?.objects as readonly Workload[] | undefined;
  const deployment = objects?.find(({ kind }) => kind === 'Deployment');
  return deployment?.spec.template.spec.containers.flatMap(({ env }) => env) ?? [];
}

interface Workload {
  readonly kind: string;
  readonly spec: { readonly template: { readonly spec: { readonly containers: readonly { readonly env: readonly Variable[] }[] } } };
}

function operatorPatch(env: readonly object[]): object {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'operator', namespace: NAMESPACE },
    spec: { template: { spec: { containers: [{ name: 'operator', env }] } } },
  };
}

function examples(): readonly [string, string][] {
  const image = (name: string) => ({
    name: `${IMAGE_REGISTRY}/${name}`,
    newName: `registry.example.com/team/${name}`,
    newTag: version,
  });
  const base = '../../base';
  const everywhere = '../../components/all-namespaces';
  return [
    ['example', kustomization({ resources: [base], components: [everywhere], images: [image('toolyard')] })],
    [
      'example-with-sandbox',
      kustomization({
        resources: [base, '../../sandboxes'],
        components: [everywhere, '../../components/sandbox'],
        images: [image('toolyard'), image('toolyard-sandbox')],
      }),
    ],
  ].map(([name, text]): [string, string] => [`kustomize/overlays/${name}/kustomization.yaml`, text as string]);
}

function filesIn(directory: string, files: readonly Finished[]): readonly [string, string][] {
  return files.map(({ path, objects }) => [`${directory}/${path}`, WRITTEN + Yaml.stringify(...objects)]);
}

function component(fields: object): string {
  return WRITTEN + Yaml.stringify({ apiVersion: 'kustomize.config.k8s.io/v1alpha1', kind: 'Component', ...fields });
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
    description: 'Declared MCP servers, a registry kept equal to them, a safe web fetcher and a code sandbox',
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
