import { cp, mkdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';

/** What an image carries: a file for each process that runs there, by name in dist/. */
export const entryPoints = {
  operator: 'operator/main.ts',
  fetch: 'mcp-servers/fetch/main.ts',
  'fetch-worker': 'mcp-servers/fetch/convert/worker.ts',
  registry: 'mcp-servers/registry/main.ts',
  sandbox: 'mcp-servers/sandbox/main.ts',
  'sandbox-agent': 'mcp-servers/sandbox/local/agent.ts',
} as const;

const home = join(import.meta.dirname, '..');

/** Packages written as CommonJS ask for Node's modules by `require`, which a module of today does not have. */
const requireForPackages = `import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);`;

/** Writes every bundle into an emptied directory; each needs nothing but Node and its neighbours there. */
export async function bundle(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  await build({
    absWorkingDir: home,
    entryPoints,
    outdir: resolve(directory),
    outExtension: { '.js': '.mjs' },
    bundle: true,
    platform: 'node',
    target: 'node26',
    format: 'esm',
    banner: { js: requireForPackages },
    // names stay, so that a stack trace says something
    minifyWhitespace: true,
    minifySyntax: true,
    logLevel: 'warning',
  });
  await cp(join(home, 'LICENSE'), join(directory, 'LICENSE'));
}

if (import.meta.main) await bundle(process.argv[2] ?? join(home, 'dist'));
