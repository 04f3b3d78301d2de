import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { parseAllDocuments } from 'yaml';
import { afterAll, expect, test } from 'vitest';
import { finished } from '../../cdk8s/output.ts';
import { installations } from '../../cdk8s/testing/installations.ts';
import { IMAGE_REGISTRY, type ValuesInput } from '../../cdk8s/values.ts';
import { withProgram } from '../interop/ensure.ts';

const run = promisify(execFile);
const chart = join(import.meta.dirname, '..', '..', 'charts', 'toolyard');
const work = mkdtempSync(join(tmpdir(), 'toolyard-helm-'));
afterAll(() => rmSync(work, { recursive: true }));

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

await withProgram('the Helm chart', ['ensure-helm'], (helm) => {
  async function rendered(values: ValuesInput, namespace: string): Promise<readonly Manifest[]> {
    const file = join(work, 'values.yaml');
    writeFileSync(file, JSON.stringify({ ...values, image: { registry: IMAGE_REGISTRY, ...values.image } }));
    const { stdout } = await run(helm, ['template', 'any', chart, '--namespace', namespace, '--values', file], { maxBuffer: 1 << 24 });
    return parseAllDocuments(stdout)
      .map((document) => document.toJS() as Manifest | null)
      .filter((manifest) => manifest !== null);
  }

  async function refusal(...args: readonly string[]): Promise<string> {
    const outcome = await run(helm, ['template', 'any', chart, '--set', 'image.registry=r', ...args]).catch((error: unknown) => error);
    return outcome instanceof Error && 'stderr' in outcome ? String(outcome.stderr) : 'nothing was refused';
  }

  test.each(Object.entries(installations))(
    'the chart makes the same objects as the code, without the namespace: %s',
    async (_name, values) => {
      const own = finished(values, 'tools').flatMap(({ objects }) => objects as readonly Manifest[]);
      const wanted = own.filter(({ kind }) => kind !== 'Namespace');
      expect(sorted(await rendered(values, 'tools'))).toEqual(sorted(wanted));
    },
  );

  test('the chart has no fault that helm lint finds', async () => {
    const { stdout } = await run(helm, ['lint', '--strict', chart, '--set', 'image.registry=r']);
    expect(stdout).toContain('0 chart(s) failed');
  });

  test.each([
    [['--set', 'image.registry='], 'image.registry is needed'],
    [['--set', 'registry.kind=external'], 'registry.url is needed when registry.kind is external'],
    [['--set', 'exposure.kind=gateway,exposure.fromNamespace=x'], 'exposure.host is needed'],
    [['--set', 'exposure.kind=gateway,exposure.host=a.example.com'], 'exposure.fromNamespace is needed'],
    [['--set', 'exposure.kind=ingress,exposure.host=a.example.com,exposure.fromNamespace=x'], 'exposure.ingress.'],
    [['--set', 'fetch.replicas=none'], 'fetch/replicas'],
    [['--set', 'fetch.replica=3'], "additional properties 'replica' not allowed"],
    [['--set', 'sandbox.enabled=perhaps'], 'sandbox/enabled'],
    [['--set', 'sandboxNamespace=Guests'], 'sandboxNamespace'],
    [['--set', 'operator.namespaces={Team A}'], 'operator/namespaces/0'],
  ])('what is missing or wrong is named: %s', async (args, said) => {
    expect(await refusal(...args)).toContain(said);
  });

  test('a parent chart may have the chart as its part, with global values', async () => {
    const { stdout } = await run(helm, ['template', 'any', chart, '--set', 'image.registry=r,global.colour=blue']);
    expect(stdout).toContain('image: "r/toolyard:');
  });

  test('volumes outlive the release: no claim of one belongs to it', async () => {
    const kinds = (await rendered({ registry: { kind: 'embedded' } }, 'tools')).map(({ kind }) => kind);
    expect(kinds).toContain('StatefulSet');
    expect(kinds).not.toContain('PersistentVolumeClaim');
  });
});

function sorted(manifests: readonly Manifest[]): readonly Manifest[] {
  const key = ({ kind, metadata: { namespace = '', name } }: Manifest) => `${kind}/${namespace}/${name}`;
  return [...manifests].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}
