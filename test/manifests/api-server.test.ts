import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { finished, type Finished } from '../../cdk8s/output.ts';
import { installations } from '../../cdk8s/testing/installations.ts';
import { withProgram } from '../interop/ensure.ts';
import { ApiServer, pathOf, type Answer, type Manifest } from './api-server.ts';

const NAMESPACE = 'tools';
const SANDBOXES = 'toolyard-sandboxes';
const OPERATOR = `system:serviceaccount:${NAMESPACE}:operator`;
/** Kinds that the API server of Kubernetes knows nothing of. */
const FOREIGN = new Set(['monitoring.coreos.com/v1', 'cert-manager.io/v1', 'gateway.networking.k8s.io/v1']);

await withProgram('an API server', ['ensure-cluster-tools'], (programs) => {
  let api: ApiServer;
  beforeAll(async () => {
    api = await ApiServer.start();
    const [level] = finished().flatMap(({ objects }) => objects) as readonly Manifest[];
    for (const name of [NAMESPACE, 'team-a', 'team-b', 'shared', 'elsewhere', SANDBOXES, 'guests']) {
      await accepted(api.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { ...level?.metadata, name } }));
    }
    await defineSandboxes(api, join(programs, 'agent-sandbox-crds'));
  });
  afterAll(async () => await api?.close());

  describe('manifests are what Kubernetes takes, without unknown fields or warnings', () => {
    test.each(Object.entries(installations))('%s', async (_name, values) => {
      const objects = finished(values, NAMESPACE).flatMap(({ objects }) => objects as readonly Manifest[]);
      const own = objects.filter(({ apiVersion }) => !FOREIGN.has(apiVersion));
      const answers = await Promise.all(own.map((object) => api.apply(object, { dryRun: true })));
      const faults = answers.flatMap(({ status, body, warnings }) => (status < 300 ? warnings : [body.message as string]));
      expect(faults).toEqual([]);
    });
  });

  test('the pods of sandboxes are what the standard restricted allows', async () => {
    await accepted(api.apply({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace: SANDBOXES } }));
    const runtime = { apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', metadata: { name: 'gvisor' }, handler: 'runsc' };
    await accepted(api.apply(runtime));
    const objects = finished({ sandbox: { enabled: true } }).flatMap((file) => file.objects as readonly (Manifest & { spec: Template })[]);
    const template = objects.find(({ kind }) => kind === 'SandboxTemplate')?.spec.podTemplate;
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'sandbox', namespace: SANDBOXES }, spec: template?.spec };
    const { status, body, warnings } = await api.apply(pod, { dryRun: true });
    expect([status < 300 ? 'accepted' : body.message, warnings]).toEqual(['accepted', []]);
    const open = { ...pod, spec: { ...template?.spec, hostNetwork: true } };
    expect((await api.apply(open, { dryRun: true })).body.message).toContain('violates PodSecurity "restricted:latest"');
  });

  test.each(rightsOfSandboxes())('$account may $verb $resource in $namespace: $allowed', async ({ account, allowed, ...deed }) => {
    await grantSandboxes(api);
    expect(await mayDo(api, `system:serviceaccount:${NAMESPACE}3:${account}`, deed)).toBe(allowed);
  });

  describe('an operator for every namespace', () => {
    const declaration = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        name: 'weather',
        namespace: 'team-a',
        labels: { 'toolyard.dev/kind': 'server.json', team: 'a' },
        annotations: { owner: 'team-a', 'toolyard.dev/on-delete': 'keep' },
        finalizers: ['example.com/theirs'],
      },
      data: { 'server.json': '{}' },
      binaryData: { blob: 'AAAA' },
    };
    const ordinary = { ...declaration, metadata: { name: 'ordinary', namespace: 'team-a', labels: { team: 'a' } } };

    beforeAll(async () => {
      const files = finished({ operator: { allNamespaces: true } }, NAMESPACE);
      const objects = files.filter(({ path }) => path.startsWith('operator/')).flatMap(({ objects }) => objects as readonly Manifest[]);
      for (const object of objects) await accepted(api.apply(object));
      await accepted(api.apply(declaration));
      await accepted(api.apply(ordinary));
      // a policy counts some seconds after it is there; what was let in before must not stay, since no change at all is allowed
      const isRefused = async () => (await change(ordinary, label('toolyard.dev/state', 'x'), '&dryRun=All')).status === 422;
      await vi.waitUntil(isRefused, 60_000);
    });

    const change = (object: Manifest, patch: object, query = ''): Promise<Answer> => {
      const path = `${pathOf(object)}?fieldManager=toolyard-operator${query}`;
      return api.request('PATCH', path, { body: patch, type: 'application/merge-patch+json', as: OPERATOR });
    };

    test('may set labels and annotations under toolyard.dev on declarations, and take them away', async () => {
      const status = { metadata: { annotations: { 'toolyard.dev/status': '{}' }, labels: { 'toolyard.dev/state': 'Published' } } };
      expect((await change(declaration, status)).status).toBe(200);
      const gone = { metadata: { annotations: { 'toolyard.dev/status': null }, labels: { 'toolyard.dev/state': null } } };
      expect((await change(declaration, gone)).status).toBe(200);
    });

    test('may do so by server-side apply', async () => {
      const { name, namespace } = declaration.metadata;
      const applied = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace, annotations: { 'toolyard.dev/status': '{}' } } };
      const path = `${pathOf(declaration)}?fieldManager=toolyard-operator`;
      const answer = await api.request('PATCH', path, { body: applied, type: 'application/apply-patch+yaml', as: OPERATOR });
      expect(answer.status).toBe(200);
    });

    test.each([
      ['data', { data: { 'server.json': '{"name":"other"}' } }, 'does not change data'],
      ['data that were not there', { data: { more: 'x' } }, 'does not change data'],
      ['all data', { data: null }, 'does not change data'],
      ['binary data', { binaryData: { blob: 'BBBB' } }, 'does not change binaryData'],
      ['all binary data', { binaryData: null }, 'does not change binaryData'],
      ['whether it may change', { immutable: true }, 'does not change immutable'],
      ['finalizers', { metadata: { finalizers: null } }, 'does not change metadata.finalizers'],
      [
        'owners',
        { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'ordinary', uid: '1' }] } },
        'does not change metadata.ownerReferences',
      ],
      ['somebody’s label', label('team', 'b'), 'changes no labels outside toolyard.dev/'],
      ['somebody’s label away', label('team', null), 'changes no labels outside toolyard.dev/'],
      ['a label of its own outside', label('new', 'x'), 'changes no labels outside toolyard.dev/'],
      [
        'whether it is a declaration',
        label('toolyard.dev/kind', null),
        'changes no labels outside toolyard.dev/, and not toolyard.dev/kind',
      ],
      ['which kind it is', label('toolyard.dev/kind', 'other'), 'changes no labels outside toolyard.dev/, and not toolyard.dev/kind'],
      ['somebody’s annotation', { metadata: { annotations: { owner: 'me' } } }, 'changes no annotations outside toolyard.dev/'],
      ['all annotations', { metadata: { annotations: null } }, 'changes no annotations outside toolyard.dev/'],
    ])('may not change %s of a declaration', async (_what, patch, message) => {
      const answer = await change(declaration, patch);
      expect(answer.body.message).toContain(message);
      expect(answer.status).toBe(422);
    });

    test.each([
      ['mark them', label('toolyard.dev/state', 'x'), 'writes only to ConfigMaps labelled toolyard.dev/kind=server.json'],
      ['make declarations of them', label('toolyard.dev/kind', 'server.json'), 'writes only to ConfigMaps labelled'],
      ['change their data', { data: { a: 'b' } }, 'does not change data of a ConfigMap'],
    ])('may not touch other ConfigMaps: %s', async (_what, patch, message) => {
      const answer = await change(ordinary, patch);
      expect(answer.body.message).toContain(message);
      expect(answer.status).toBe(422);
    });

    test('may make and renew its authority’s ConfigMap, in its own namespace only', async () => {
      const authority = {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'toolyard-ca', namespace: NAMESPACE },
        data: { 'ca.crt': '1' },
      };
      const path = `/api/v1/namespaces/${NAMESPACE}/configmaps`;
      expect((await api.request('POST', path, { body: authority, as: OPERATOR })).status).toBe(201);
      expect((await change(authority, { data: { 'ca.crt': '2' } })).status).toBe(200);
      const other = { ...authority, metadata: { name: 'other', namespace: NAMESPACE } };
      expect((await api.request('POST', path, { body: other, as: OPERATOR })).body.message).toContain('creates no ConfigMap but that');
      const elsewhere = { ...authority, metadata: { name: 'toolyard-ca', namespace: 'elsewhere' } };
      expect((await api.request('POST', '/api/v1/namespaces/elsewhere/configmaps', { body: elsewhere, as: OPERATOR })).status).toBe(403);
    });

    test('leaves everybody else alone', async () => {
      expect((await api.apply({ ...ordinary, metadata: { ...ordinary.metadata, labels: { team: 'b' } } } as Manifest)).status).toBe(200);
    });
  });

  test.each(rightsOfChosenNamespaces())(
    'an operator for chosen namespaces: %s %s in %s: %s',
    async (verb, resource, namespace, allowed) => {
      await grantChosen(api);
      expect(await mayDo(api, `system:serviceaccount:${NAMESPACE}2:operator`, { verb, resource, namespace })).toBe(allowed);
    },
  );
});

interface Template {
  readonly podTemplate: { readonly spec: object };
}

/** The definitions of agent-sandbox's objects, as its releases install them. */
async function defineSandboxes(api: ApiServer, directory: string): Promise<void> {
  for (const file of readdirSync(directory).filter((name) => name.endsWith('.yaml'))) {
    const definition = parse(readFileSync(join(directory, file), 'utf8')) as Manifest;
    await accepted(api.apply(definition));
    await vi.waitUntil(async () => {
      const { body } = await api.request('GET', pathOf(definition));
      const conditions = (body.status?.conditions ?? []) as readonly { type: string; status: string }[];
      return conditions.some(({ type, status }) => type === 'Established' && status === 'True');
    }, 60_000);
  }
}

interface Deed {
  readonly verb: string;
  /** group/resource, and /name for one object */
  readonly resource: string;
  readonly namespace: string;
}

async function mayDo(api: ApiServer, user: string, { verb, resource, namespace }: Deed): Promise<boolean> {
  const [group = '', name = '', object = ''] = resource.split('/');
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: {
      user,
      resourceAttributes: { verb, group: group === 'core' ? '' : group, resource: name, namespace, ...(object !== '' && { name: object }) },
    },
  };
  const { body } = await api.request('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', { body: review });
  return body.status.allowed as boolean;
}

let sandboxesGranted: Promise<void> | undefined;

function grantSandboxes(api: ApiServer): Promise<void> {
  return (sandboxesGranted ??= applyAll(api, `${NAMESPACE}3`, ({ path }) => path === 'sandboxes/roles.yaml'));
}

async function applyAll(api: ApiServer, namespace: string, wanted: (file: Finished) => boolean): Promise<void> {
  for (const { objects } of finished({ sandbox: { enabled: true } }, namespace).filter(wanted))
    for (const object of objects as readonly Manifest[]) await accepted(api.apply(object));
}

interface Right extends Deed {
  readonly account: string;
  readonly allowed: boolean;
}

function rightsOfSandboxes(): readonly Right[] {
  const extensions = 'extensions.agents.x-k8s.io';
  const claims = `${extensions}/sandboxclaims`;
  const own = `${NAMESPACE}3`;
  const may = (account: string, verbs: readonly string[], resource: string): readonly Right[] =>
    verbs.map((verb) => ({ account, verb, resource, namespace: SANDBOXES, allowed: true }));
  const mayNot = (account: string, verb: string, resource: string, namespace = SANDBOXES): Right => ({
    account,
    verb,
    resource,
    namespace,
    allowed: false,
  });
  return [
    ...may('sandbox', ['create', 'get', 'list', 'watch', 'patch', 'delete'], claims),
    ...may('sandbox', ['get', 'list'], `${extensions}/sandboxwarmpools`),
    ...may('sandbox', ['get', 'list'], `${extensions}/sandboxtemplates`),
    ...may('sandbox', ['get', 'list'], 'agents.x-k8s.io/sandboxes'),
    ...may('operator', ['get', 'list', 'watch', 'patch', 'delete'], claims),
    ...may('operator', ['get', 'list', 'watch'], `${extensions}/sandboxwarmpools`),
    ...may('operator', ['get', 'list', 'watch'], 'agents.x-k8s.io/sandboxes'),
    mayNot('operator', 'create', claims),
    mayNot('sandbox', 'create', claims, 'team-a'),
    mayNot('sandbox', 'patch', `${extensions}/sandboxtemplates`),
    mayNot('sandbox', 'get', 'core/pods'),
    mayNot('sandbox', 'create', 'core/pods'),
    mayNot('sandbox', 'list', 'core/secrets'),
    mayNot('sandbox', 'get', 'core/secrets/toolyard-registry', own),
  ];
}

function label(key: string, value: string | null): object {
  return { metadata: { labels: { [key]: value } } };
}

let granted: Promise<void> | undefined;

/** In a namespace beside the one whose operator may look everywhere. */
function grantChosen(api: ApiServer): Promise<void> {
  return (granted ??= grant(api));
}

async function grant(api: ApiServer): Promise<void> {
  const own = `${NAMESPACE}2`;
  await accepted(api.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: own } }));
  const files = finished({ operator: { namespaces: ['team-a'], probeAllow: { namespaces: ['shared'] } } }, own);
  const objects = files.filter(({ path }) => path.startsWith('operator/role')).flatMap(({ objects }) => objects as readonly Manifest[]);
  for (const object of objects) await accepted(api.apply(object));
}

/** What the operator's code asks for, and what it must not be able to do. */
function rightsOfChosenNamespaces(): readonly (readonly [verb: string, resource: string, namespace: string, allowed: boolean])[] {
  const own = `${NAMESPACE}2`;
  const watched = [own, 'team-a'].flatMap((namespace) =>
    [
      ...['list', 'watch', 'patch'].map((verb) => [verb, 'core/configmaps'] as const),
      ...['list', 'watch'].map((verb) => [verb, 'core/services'] as const),
      ['list', 'discovery.k8s.io/endpointslices'] as const,
      ['create', 'events.k8s.io/events'] as const,
      ['patch', 'events.k8s.io/events'] as const,
    ].map(([verb, resource]) => [verb, resource, namespace, true] as const),
  );
  return [
    ...watched,
    ['list', 'core/services', 'shared', true],
    ['patch', 'core/configmaps', 'shared', false],
    ['list', 'core/configmaps', 'team-b', false],
    ['update', 'core/configmaps/weather', 'team-a', false],
    ['create', 'core/configmaps', 'team-a', false],
    ['delete', 'core/configmaps/weather', 'team-a', false],
    ['get', 'core/secrets/toolyard-registry', 'team-a', false],
    ['get', 'core/secrets/toolyard-registry', own, true],
    ['create', 'core/secrets', own, true],
    ['list', 'core/secrets', own, false],
    ['get', 'core/secrets/of-somebody', own, false],
    ['delete', 'core/secrets/toolyard-registry', own, false],
    ['create', 'coordination.k8s.io/leases', own, true],
    ['update', 'coordination.k8s.io/leases/toolyard-operator', own, true],
    ['update', 'coordination.k8s.io/leases/of-somebody', own, false],
    ['get', 'core/pods', own, false],
    ['create', 'core/pods', own, false],
  ];
}

async function accepted(answer: Promise<Answer>): Promise<void> {
  const { status, body } = await answer;
  expect(status < 300 ? 'accepted' : (body.message as string)).toBe('accepted');
}
