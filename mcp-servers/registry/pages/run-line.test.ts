import { expect, test } from 'vitest';
import type { Package } from '../../../lib/registry-api/server-json.ts';
import { runLine } from './run-line.ts';

const transport = { type: 'stdio' };

function lineOf(entry: Partial<Package>): string | undefined {
  return runLine({ registryType: 'npm', identifier: '@x/y', transport, ...entry });
}

test.each([
  [{ version: '1.2.3' }, 'npx -y @x/y@1.2.3'],
  [{ registryType: 'pypi', identifier: 'some-server' }, 'uvx some-server'],
  [{ registryType: 'nuget', identifier: 'Some.Server', version: '2.0.0' }, 'dnx --yes Some.Server@2.0.0'],
  [{ registryType: 'oci', identifier: 'ghcr.io/x/y:1.0.0', version: '1.0.0' }, 'docker run -i --rm ghcr.io/x/y:1.0.0'],
  [{ registryType: 'oci', identifier: 'localhost:5000/y', version: '1.0.0' }, 'docker run -i --rm localhost:5000/y:1.0.0'],
  [{ runtimeHint: 'bunx' }, 'bunx @x/y'],
])('%o is run by %s', (entry, line) => {
  expect(lineOf(entry)).toBe(line);
});

test.each([{ registryType: 'mcpb' }, { registryType: 'constructor' }, { runtimeHint: 'sh' }, { runtimeHint: 'toString' }])(
  '%o is not made into a command',
  (entry) => {
    expect(lineOf(entry)).toBeUndefined();
  },
);

test('what the user has to give stands as a placeholder, what is optional is left out', () => {
  const environmentVariables = [{ name: 'API_KEY', isRequired: true, isSecret: true }, { name: 'REGION' }, { name: 'MODE', value: 'fast' }];
  const packageArguments = [
    { type: 'named', name: '--flag', isRequired: true },
    { type: 'named', name: '--port', default: '80', isRequired: true },
    { type: 'positional', valueHint: 'directory', isRequired: true },
    { type: 'positional', valueHint: 'optional' },
  ];
  expect(lineOf({ environmentVariables, packageArguments })).toBe(
    "API_KEY='<API_KEY>' MODE=fast npx -y @x/y --flag --port 80 '<directory>'",
  );
  expect(lineOf({ environmentVariables, registryType: 'oci', identifier: 'i' })).toBe(
    "docker run -i --rm -e 'API_KEY=<API_KEY>' -e MODE=fast i",
  );
});

test('nothing of a record is more than a word to a shell', () => {
  const hostile = `x'; $(id) \n\u202e`;
  const line = lineOf({
    identifier: hostile,
    environmentVariables: [
      { name: hostile, value: hostile },
      { name: 'A', value: '`id`' },
    ],
    packageArguments: [{ type: 'positional', value: '; id' }],
  });
  const name = String.raw`x'\''; $(id) ??`;
  expect(line).toBe(`'${name}=${name}' A='\`id\`' npx -y '${name}' '; id'`);
});
