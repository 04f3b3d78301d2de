import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bundle, entryPoints } from '../../scripts/bundle.ts';
import { answer, startSite } from '../fetch/site.ts';
import { startFetchServer } from '../fetch/fetch-server.ts';
import { startServer } from '../mcp-http/server-process.ts';

/** Nothing but the bundles is in `app`: no sources, no packages. */
let home: string;
const part = (name: keyof typeof entryPoints): string => join(home, 'app', `${name}.mjs`);
const seed = (): string => join(home, 'seed');

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'toolyard-bundle-'));
  await bundle(join(home, 'app'));
  await writeFile(seed(), '0'.repeat(64));
  await mkdir(join(home, 'catalog'));
});
afterAll(async () => rm(home, { recursive: true, force: true }));

const ready = async (url: string): Promise<number> => (await fetch(`${url}/readyz`)).status;

test('a bundle was made of every entry point', async () => {
  const made = await readdir(join(home, 'app'));
  // the operator alone is in parts
  const parts = /^operator-.*-[A-Z0-9]+\.mjs$/;
  expect(made.filter((name) => name.endsWith('.mjs') && !parts.test(name)).toSorted()).toEqual(
    Object.keys(entryPoints)
      .map((name) => `${name}.mjs`)
      .toSorted(),
  );
});

test.each(['operator', 'fetch', 'registry', 'sandbox'] as const)('the bundled %s prints its settings', (name) => {
  const { stdout, stderr, status } = spawnSync(process.execPath, [part(name), '--help'], { encoding: 'utf8', cwd: home });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout).toMatch(new RegExp(`^toolyard ${name}: settings are read from the environment`));
});

test('the bundled registry serves its API and its description', async () => {
  const server = await startServer(part('registry'), { DATABASE_FILE: join(home, 'registry.sqlite'), JWT_PRIVATE_KEY_FILE: seed() });
  try {
    await expect.poll(() => ready(server.url)).toBe(200);
    expect(await (await fetch(`${server.url}/v0.1/servers`)).json()).toMatchObject({ servers: [] });
    expect(await (await fetch(`${server.url}/openapi.yaml`)).text()).toMatch(/^"openapi":/);
  } finally {
    await server.close();
  }
});

test('the bundled fetch server converts pages in its own processes', async () => {
  const site = await startSite({ '/': answer('<title>Yard</title><h1>Yard</h1><p>Some <b>bold</b> words.</p>') });
  const server = await startFetchServer({ FETCH_ALLOW_ORIGINS: site.origin }, undefined, part('fetch'));
  try {
    expect(await server.fetch(`${site.origin}/`)).toMatchObject({ isError: false, text: expect.stringContaining('**bold**') });
  } finally {
    await server.close();
    await site.close();
  }
});

test('the bundled operator becomes ready with an empty catalogue', async () => {
  const registry = await startServer(part('registry'), { DATABASE_FILE: join(home, 'operator.sqlite'), JWT_PRIVATE_KEY_FILE: seed() });
  const operator = await startServer(part('operator'), {
    REGISTRY_URL: registry.url,
    REGISTRY_JWT_SEED_FILE: seed(),
    SOURCE_DIRECTORY: join(home, 'catalog'),
    STATUS_FILE: join(home, 'status.json'),
  });
  try {
    await expect.poll(() => ready(operator.url), { timeout: 10_000 }).toBe(200);
  } finally {
    await operator.close();
    await registry.close();
  }
});

test('the bundled sandbox server finds the program that it starts in sandboxes', async () => {
  const server = await startServer(part('sandbox'), { STATE_DIR: join(home, 'sandboxes') });
  try {
    await expect.poll(() => ready(server.url), { timeout: 30_000 }).toBe(200);
  } finally {
    await server.close();
  }
});

test('the Dockerfile copies only what is there and starts what is bundled', async () => {
  const text = await readFile(new URL('../../Dockerfile', import.meta.url), 'utf8');
  const files = await readdir(new URL('../..', import.meta.url));
  const copied = [...text.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, sources = '']) => sources.split(' '));
  expect(copied.length).toBeGreaterThan(0);
  for (const source of copied) expect(files).toContain(source.replace(/\/$/, ''));
  const manifest = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8')) as { engines: { node: string } };
  const major = /\d+/.exec(manifest.engines.node)?.[0] ?? '';
  for (const [, base = ''] of text.matchAll(/^FROM (?:--platform=\S+ )?(\S+)/gm)) expect(base).toMatch(new RegExp(`node(js|:)${major}`));
});
