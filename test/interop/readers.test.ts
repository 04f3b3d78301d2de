import { parse } from 'yaml';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SCHEMA_URL, type ServerJson } from '../../lib/registry-api/server-json.ts';
import { ToolHive, VsCode } from './readers.ts';
import { startRegistry, type Registry } from './registry.ts';

const shipped = { name: 'dev.toolyard/fetch', url: 'http://127.0.0.1:8001/mcp' };
/** more than two of VS Code's pages, more than one of ToolHive's; the last of a page has a version that needs escaping in an address */
const names = Array.from({ length: 120 }, (_, at) => `org.example/server-${String(at).padStart(3, '0')}`);
const everyName = [shipped.name, ...names, 'org.example/zz-deprecated'];

let registry: Registry;

beforeAll(async () => {
  registry = await startRegistry();
  const publish = (name: string, version: string, changes: Partial<ServerJson> = {}) =>
    registry.client.publish({ $schema: SCHEMA_URL, name, description: `is ${name}`, version, ...changes });
  await publish(shipped.name, '1.0.0', { remotes: [{ type: 'streamable-http', url: shipped.url }] });
  for (const name of names) {
    await publish(name, '1.0.0');
    await publish(name, name.endsWith('8') ? '2.0.0+build' : '2.0.0');
  }
  for (const [name, status] of [
    ['org.example/zz-deprecated', 'deprecated'],
    ['org.example/zz-deleted', 'deleted'],
  ] as const) {
    await publish(name, '1.0.0');
    await registry.client.setStatus({ name, version: '1.0.0', status });
  }
});

afterAll(() => registry.close());

const namesOf = (records: readonly { readonly server: { readonly name: string } }[]) => records.map(({ server }) => server.name);

describe('VS Code', () => {
  test('takes the newest version of the API, whether the address ends in a slash or not', async () => {
    expect(await new VsCode(registry.url).apiVersion()).toBe('v0.1');
    expect(await new VsCode(`${registry.url}/`).apiVersion()).toBe('v0.1');
  });

  test('scrolls through every server that is not deleted, page by page, in its latest version', async () => {
    const pages = await Array.fromAsync(new VsCode(registry.url).pages());
    expect(pages.map((page) => page.length).slice(0, -1)).toEqual([50, 50]);
    const seen = namesOf(pages.flat());
    expect([...new Set(seen)]).toEqual(everyName);
    // as on the official registry: the + of an unescaped cursor is read as a blank, so that such a server comes again
    expect(seen.filter((name, at) => seen.indexOf(name) !== at)).toEqual(['org.example/server-048']);
    expect(pages.flat().filter(({ server }) => names.includes(server.name) && !server.version.startsWith('2.0.0'))).toEqual([]);
  });

  test('searches, and finds nothing where there is nothing', async () => {
    const [found = []] = await Array.fromAsync(new VsCode(registry.url).pages(' Toolyard/FETCH '));
    expect(namesOf(found)).toEqual([shipped.name]);
    expect(await Array.fromAsync(new VsCode(registry.url).pages('nothing & nobody?'))).toEqual([[]]);
  });

  test('resolves a server by its name to the address to connect to, and learns that one is unknown or deleted', async () => {
    const vsCode = new VsCode(registry.url);
    expect((await vsCode.server(shipped.name))?.server.remotes).toEqual([{ type: 'streamable-http', url: shipped.url }]);
    expect(await vsCode.server('org.example/unknown')).toBeUndefined();
    expect(await vsCode.server('org.example/zz-deleted')).toBeUndefined();
  });
});

describe('GitHub Copilot', () => {
  const required = {
    'access-control-allow-origin': '*',
    'access-control-allow-methods': expect.stringMatching(/\bGET\b.*\bOPTIONS\b/),
    'access-control-allow-headers': expect.stringMatching(/\bauthorization\b.*\bcontent-type\b/i),
  };
  const server = (name: string) => `/v0.1/servers/${encodeURIComponent(name)}/versions`;
  const routes = () =>
    [
      ['/v0.1/servers', 200],
      ['/v0.1/servers?search=ab', 422],
      [`${server(shipped.name)}/latest`, 200],
      [`${server(shipped.name)}/1.0.0`, 200],
      [`${server(shipped.name)}/9.9.9`, 404],
      [`${server('org.example/unknown')}/latest`, 404],
    ] as const;

  test.each(routes())('may read %s from any page, whatever the answer (%i)', async (path, status) => {
    for (const headers of [{}, { origin: 'https://github.com' }] as const) {
      const answer = await fetch(registry.url + path, { headers });
      expect(answer.status).toBe(status);
      expect(Object.fromEntries(answer.headers)).toMatchObject(required);
    }
  });

  test.each(routes())('may ask for %s with a token', async (path) => {
    const headers = {
      origin: 'https://github.com',
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'authorization,content-type',
    };
    const answer = await fetch(registry.url + path, { method: 'OPTIONS', headers });
    expect(answer.ok).toBe(true);
    expect(Object.fromEntries(answer.headers)).toMatchObject(required);
  });
});

describe('ToolHive', () => {
  test('takes the address for a registry’s API, also while it is empty', async () => {
    expect(await new ToolHive(registry.url).detect()).toBe('api');
    const empty = await startRegistry();
    expect(await new ToolHive(empty.url).detect()).toBe('api');
    expect(await new ToolHive(empty.url).list(1)).toEqual([]);
    await empty.close();
  });

  test('finds that it is the API it knows', async () => {
    await expect(new ToolHive(registry.url).validateEndpoint()).resolves.toBeUndefined();
  });

  test('lists every server once, in its latest version, one by one as when it tries the registry out or by hundreds', async () => {
    for (const limit of [1, 100] as const) expect(namesOf(await new ToolHive(registry.url).list(limit))).toEqual(everyName);
  });

  test('searches, and resolves one by its name', async () => {
    const toolHive = new ToolHive(registry.url);
    expect(namesOf(await toolHive.search('toolyard'))).toEqual([shipped.name]);
    expect((await toolHive.server(shipped.name)).server.remotes).toEqual([{ type: 'streamable-http', url: shipped.url }]);
    await expect(toolHive.server('org.example/unknown')).rejects.toThrow('404');
  });
});

test('the API’s description says the same in YAML, to a parser of YAML, as in JSON', async () => {
  const [yaml, json] = await Promise.all(['yaml', 'json'].map(async (kind) => (await fetch(`${registry.url}/openapi.${kind}`)).text()));
  expect(parse(yaml ?? '')).toEqual(JSON.parse(json ?? ''));
});
