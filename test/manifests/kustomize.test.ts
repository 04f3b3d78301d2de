import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { expect, test } from 'vitest';
import { finished } from '../../cdk8s/output.ts';
import type { ValuesInput } from '../../cdk8s/values.ts';
import { withProgram } from '../interop/ensure.ts';

const run = promisify(execFile);
const kustomize = join(import.meta.dirname, '..', '..', 'charts', 'kustomize');

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

async function built(kubectl: string, directory: string): Promise<readonly Manifest[]> {
  const { stdout } = await run(kubectl, ['kustomize', join(kustomize, directory)], { maxBuffer: 1 << 24 });
  return sorted(parseAllDocuments(stdout).map((document) => document.toJS() as Manifest));
}

function wanted(values: ValuesInput): readonly Manifest[] {
  return sorted(finished(values).flatMap(({ objects }) => objects as readonly Manifest[]));
}

await withProgram('kustomize', ['ensure-cluster-tools'], (programs) => {
  const kubectl = join(programs, 'kubectl');

  test('the base is what the code makes', async () => {
    expect(await built(kubectl, 'base')).toEqual(wanted({}));
  });

  test('the example takes declarations from every namespace as the values do, and images from a registry', async () => {
    const everywhere = wanted({ operator: { allNamespaces: true }, image: { registry: 'registry.example.com/team' } });
    // rights in the own namespace, which the rights everywhere contain, stay from the base
    const own = (await built(kubectl, 'overlays/example')).filter(({ metadata }) => metadata.name !== 'operator-declarations');
    expect(own).toEqual(everywhere);
  });

  test('with the sandbox the example is what the values make, with both images from a registry', async () => {
    const values: ValuesInput = {
      operator: { allNamespaces: true },
      sandbox: { enabled: true },
      image: { registry: 'registry.example.com/team' },
    };
    const made = (await built(kubectl, 'overlays/example-with-sandbox')).filter(
      ({ metadata }) => metadata.name !== 'operator-declarations',
    );
    expect(withSortedEnv(made)).toEqual(withSortedEnv(wanted(values)));
  });

  test('the kustomization of the sandboxes’ namespace stands by itself', async () => {
    const inside = finished({ sandbox: { enabled: true } })
      .filter(({ path }) => path.startsWith('sandboxes/'))
      .flatMap(({ objects }) => objects as readonly Manifest[]);
    expect(await built(kubectl, 'sandboxes')).toEqual(sorted(inside));
  });
});

test('plain YAML comes with the sandbox and without', () => {
  const read = (name: string) =>
    parseAllDocuments(readFileSync(join(kustomize, '..', 'plain', name), 'utf8')).map((document) => document.toJS() as Manifest);
  expect(sorted(read('toolyard.yaml'))).toEqual(wanted({}));
  expect(sorted(read('toolyard-with-sandbox.yaml'))).toEqual(wanted({ sandbox: { enabled: true } }));
});

/** Merging puts variables of a patch before those that were there. */
function withSortedEnv(manifests: readonly Manifest[]): unknown {
  const byName = (key: string, value: unknown) =>
    key === 'env' ? (value as readonly { name: string }[]).toSorted((a, b) => (a.name < b.name ? -1 : 1)) : value;
  return JSON.parse(JSON.stringify(manifests, byName));
}

function sorted(manifests: readonly Manifest[]): readonly Manifest[] {
  const key = ({ kind, metadata: { namespace = '', name } }: Manifest) => `${kind}/${namespace}/${name}`;
  return [...manifests].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}
