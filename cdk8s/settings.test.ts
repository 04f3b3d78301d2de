import { expect, test } from 'vitest';
import type { z } from 'zod';
import { readConfig } from '../lib/config.ts';
import { fetchConfig } from '../mcp-servers/fetch/config.ts';
import { registryConfig } from '../mcp-servers/registry/config.ts';
import { sandboxConfig } from '../mcp-servers/sandbox/config.ts';
import { config as operatorConfig } from '../operator/config.ts';
import { finished } from './output.ts';
import { installations } from './testing/installations.ts';

/** What runs the process rather than being read by it. */
const NODE = ['NODE_OPTIONS', 'NODE_EXTRA_CA_CERTS'];
const configs: Readonly<Record<string, z.ZodObject>> = {
  '/app/fetch.mjs': fetchConfig,
  '/app/operator.mjs': operatorConfig,
  '/app/registry.mjs': registryConfig,
  '/app/sandbox.mjs': sandboxConfig,
};

interface Container {
  readonly args?: readonly string[];
  readonly env: readonly { readonly name: string; readonly value?: string; readonly valueFrom?: { readonly fieldRef?: object } }[];
}
interface Workload {
  readonly spec?: { readonly template?: { readonly spec: { readonly containers: readonly Container[] } } };
}

test.each(Object.entries(installations))('each process accepts the settings that it is given, and knows them all: %s', (_name, values) => {
  const objects = finished(values).flatMap(({ objects }) => objects as readonly Workload[]);
  const containers = objects.flatMap(({ spec }) => spec?.template?.spec.containers ?? []);
  const own = containers.filter(({ args: [program = ''] = [] }) => program in configs);
  expect(own.length + (values.fetch?.enabled === false ? 1 : 0)).toBeGreaterThan(0);
  const theirs = [values.fetch, values.sandbox].flatMap((server) => server?.extraEnv ?? []).map(({ name }) => name);
  for (const { args: [program = ''] = [], env } of own) {
    const config = configs[program];
    if (config === undefined) continue;
    expect([...NODE, ...theirs, ...Object.keys(config.shape)]).toEqual(expect.arrayContaining(env.map(({ name }) => name)));
    // names of the pod and of its namespace are known in a cluster only
    const given = env.map(({ name, value, valueFrom }) => [name, valueFrom?.fieldRef === undefined ? value : 'some-name']);
    expect(() => readConfig(config, Object.fromEntries(given))).not.toThrow();
  }
});
