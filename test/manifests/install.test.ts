import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { withProgram } from '../interop/ensure.ts';
import { ApiServer } from './api-server.ts';

const run = promisify(execFile);
const home = join(import.meta.dirname, '..', '..');

let found: string | undefined;
await withProgram('an API server', ['ensure-cluster-tools'], (programs) => (found = programs));
await withProgram('Helm', ['ensure-helm'], (helm) => {
  if (found !== undefined) defineTests(found, helm);
});

/** The commands of docs/kubernetes.md, as far as they need no nodes. */
function defineTests(programs: string, helm: string): void {
  let api: ApiServer;
  let env: NodeJS.ProcessEnv;
  beforeAll(async () => {
    api = await ApiServer.start();
    env = { ...process.env, PATH: `${programs}:${process.env['PATH']}`, KUBECONFIG: await api.kubeconfig() };
  });
  afterAll(async () => await api?.close());

  async function shell(command: string): Promise<string> {
    const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', command], { cwd: home, env, maxBuffer: 1 << 24 });
    return stdout;
  }

  /** What an apply says of everything but PodDisruptionBudgets: their selector is always sent anew, since it is patched as a whole or not at all. */
  async function changes(apply: string): Promise<readonly string[]> {
    const lines = (await shell(apply)).trim().split('\n');
    return lines.filter((line) => !line.endsWith(' unchanged') && !/^poddisruptionbudget\.policy.* configured$/.test(line));
  }

  /** Resource versions, by object: no matter what kubectl sends and says, these stay when nothing changes. */
  async function versions(source: string): Promise<string> {
    return shell(`${source} | kubectl get -f - -o custom-columns=K:.kind,N:.metadata.name,V:.metadata.resourceVersion --no-headers`);
  }

  describe('kubectl', () => {
    test('plain YAML is applied, and applied again it changes nothing', async () => {
      const made = "sed 's|IMAGE_REGISTRY|registry.example.com/team|' charts/plain/toolyard.yaml";
      expect(await shell(`${made} | kubectl apply -f -`)).toContain('deployment.apps/operator created');
      const before = await versions(made);
      expect(await changes(`${made} | kubectl apply -f -`)).toEqual([]);
      expect(await versions(made)).toBe(before);
    });

    test('the example overlay is applied by make, and applied again it changes nothing', async () => {
      const apply = 'make -s apply OVERLAY=charts/kustomize/overlays/example';
      expect(await shell(apply)).toContain('validatingadmissionpolicy.admissionregistration.k8s.io/toolyard-operator-toolyard created');
      const before = await versions('kubectl kustomize charts/kustomize/overlays/example');
      expect(await changes(apply)).toEqual([]);
      expect(await versions('kubectl kustomize charts/kustomize/overlays/example')).toBe(before);
    });

    test('what the operator writes to a declaration is not undone by applying the declaration again', async () => {
      const label = { metadata: { labels: { 'toolyard.dev/state': 'Published' }, annotations: { 'toolyard.dev/status': '{}' } } };
      const path = '/api/v1/namespaces/toolyard/configmaps/fetch?fieldManager=toolyard-operator';
      await api.request('PATCH', path, { body: label, type: 'application/merge-patch+json' });
      await shell('make -s apply OVERLAY=charts/kustomize/overlays/example');
      const state = 'kubectl get configmaps -A -l toolyard.dev/kind=server.json -L toolyard.dev/state --no-headers';
      expect(await shell(state)).toMatch(/^toolyard +fetch .* Published$/m);
    });

    test('a client’s namespace gets the certificate of the authority', async () => {
      const authority = {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'toolyard-ca', namespace: 'toolyard' },
        data: { 'ca.crt': 'PEM\n' },
      };
      await api.apply(authority);
      await shell('kubectl create namespace agents && kubectl label namespace agents toolyard.dev/client=true');
      await shell(`kubectl -n toolyard get configmap toolyard-ca -o jsonpath='{.data.ca\\.crt}' |
        kubectl -n agents create configmap toolyard-ca --from-file=ca.crt=/dev/stdin`);
      expect(await shell("kubectl -n agents get configmap toolyard-ca -o jsonpath='{.data.ca\\.crt}'")).toBe('PEM\n');
    });
  });

  describe('the sandbox', () => {
    const apply = 'kubectl apply -k charts/kustomize/overlays/example-with-sandbox';

    test('without agent-sandbox everything else is applied, and what is missing is named', async () => {
      const said = await shell(`${apply} 2>&1 || true`);
      expect(said).toContain('no matches for kind "SandboxTemplate" in version "extensions.agents.x-k8s.io/v1beta1"');
      expect(await shell('kubectl -n toolyard get deployment sandbox -o name')).toBe('deployment.apps/sandbox\n');
    });

    test('with its definitions the rest follows, and applied again it changes nothing', async () => {
      await shell(`kubectl apply --server-side -f ${join(programs, 'agent-sandbox-crds')}`);
      const known = () =>
        shell('kubectl get sandboxtemplates,sandboxwarmpools -A').then(
          () => true,
          () => false,
        );
      await vi.waitUntil(known, { timeout: 60_000, interval: 500 });
      expect(await shell(apply)).toContain('sandboxwarmpool.extensions.agents.x-k8s.io/default created');
      const before = await versions('kubectl kustomize charts/kustomize/overlays/example-with-sandbox');
      expect(await changes(apply)).toEqual([]);
      expect(await versions('kubectl kustomize charts/kustomize/overlays/example-with-sandbox')).toBe(before);
    });
  });

  describe('helm', () => {
    const values = '--namespace tools --set image.registry=registry.example.com/team';

    test('installs, says what next, and upgrades', async () => {
      const said = await shell(`${helm} install toolyard charts/toolyard --create-namespace ${values}`);
      expect(said).toContain('Declarations are taken from tools.');
      expect(said).toContain('http://registry.tools.svc:8080/v0.1/servers');
      await shell(
        `kubectl create namespace team-a && ${helm} upgrade toolyard charts/toolyard ${values} --set 'operator.namespaces={team-a}'`,
      );
      expect(await shell('kubectl -n team-a get roles -o name')).toContain('role.rbac.authorization.k8s.io/toolyard-operator-tools');
    });

    test('an upgrade leaves what the operator wrote to a declaration', async () => {
      const label = { metadata: { labels: { 'toolyard.dev/state': 'Published' } } };
      const path = '/api/v1/namespaces/tools/configmaps/fetch?fieldManager=toolyard-operator';
      await api.request('PATCH', path, { body: label, type: 'application/merge-patch+json' });
      await shell(`${helm} upgrade toolyard charts/toolyard ${values} --set fetch.replicas=3`);
      expect(await shell("kubectl -n tools get configmap fetch -o jsonpath='{.metadata.labels.toolyard\\.dev/state}'")).toBe('Published');
      expect(await shell("kubectl -n tools get deployment fetch -o jsonpath='{.spec.replicas}'")).toBe('3');
    });

    test('adds the sandbox in a namespace that is there', async () => {
      await shell(
        `kubectl create namespace guests && ${helm} upgrade toolyard charts/toolyard ${values} --set sandbox.enabled=true,sandboxNamespace=guests`,
      );
      expect(await shell('kubectl -n guests get sandboxwarmpools,resourcequotas,networkpolicies -o name')).toBe(
        [
          'sandboxwarmpool.extensions.agents.x-k8s.io/default',
          'resourcequota/sandboxes',
          'networkpolicy.networking.k8s.io/sandboxes',
          '',
        ].join('\n'),
      );
    });

    test('uninstalling leaves the Secrets that the operator made', async () => {
      await shell('kubectl -n tools create secret generic toolyard-registry --from-literal=seed=00');
      await shell(`${helm} uninstall toolyard --namespace tools`);
      expect((await shell('kubectl -n tools get secrets,deployments,statefulsets,roles -o name')).trim()).toBe('secret/toolyard-registry');
    });
  });
}
