import { afterAll, beforeAll, expect, test } from 'vitest';
import { openapi, toYaml } from './openapi.ts';
import { operations, prefixes } from './routes.ts';
import { send, startTestRegistry, type TestRegistry } from './testing.ts';

let registry: TestRegistry;

beforeAll(async () => {
  registry = await startTestRegistry();
});

afterAll(() => registry.close());

test('every operation is described under both prefixes', () => {
  const described = Object.entries(openapi.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const served = prefixes.flatMap((prefix) =>
    operations.map(({ method, path }) => `${method} ${prefix}${path.replace('{name}', '{serverName}')}`),
  );
  expect(described.toSorted()).toEqual(served.toSorted());
});

test('every reference leads somewhere', () => {
  const references = [...JSON.stringify(openapi).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name);
  expect(references.length).toBeGreaterThan(10);
  expect(Object.keys(openapi.components.schemas)).toEqual(expect.arrayContaining(references));
});

test('it says how long texts may be, as the registry enforces it, and nothing that only we understand', () => {
  const { ServerJSON } = openapi.components.schemas as unknown as { ServerJSON: { properties: Record<string, unknown> } };
  expect(ServerJSON.properties).toMatchObject({
    name: { minLength: 3, maxLength: 200, pattern: '^[a-zA-Z0-9.-]+\\/[a-zA-Z0-9._-]+$' },
    description: { minLength: 1, maxLength: 100 },
    version: { minLength: 1, maxLength: 255 },
    websiteUrl: { type: 'string', format: 'uri' },
  });
  expect(JSON.stringify(openapi)).not.toContain('keepEmpty');
});

test('it carries what clients tell an MCP registry by', async () => {
  const yaml = await send(registry.url, 'GET', '/openapi.yaml');
  expect([yaml.status, yaml.headers['content-type']]).toEqual([200, 'application/openapi+yaml']);
  expect(yaml.body).toMatch(
    /^"openapi": "3\.1\.0"\n"info":\n {2}"title": .+\n {2}"version": "1\.0\.0"\n {2}"description": .*https:\/\/github\.com\/modelcontextprotocol\/registry/,
  );
  const json = await send(registry.url, 'GET', '/openapi.json');
  expect(json.body).toEqual(openapi);
});

test('YAML is written in block style, scalars as JSON', () => {
  expect(toYaml({ a: [1, { b: 'x: "y"', c: [] }], d: {}, 'e f': null, g: [[true]] })).toBe(`
"a":
  - 1
  -
    "b": "x: \\"y\\""
    "c": []
"d": {}
"e f": null
"g":
  -
    - true
`);
});
