import { cp, mkdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { build, type BuildOptions } from 'esbuild';

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
  const { operator, ...others } = entryPoints;
  const common = optionsFor(directory);
  await Promise.all([
    // what it imports in some cases only stays out of its memory in the others
    build({ ...common, entryPoints: { operator }, splitting: true, chunkNames: 'operator-[name]-[hash]' }),
    // of these each has to be one file, since some are run where there is no other
    build({ ...common, entryPoints: others }),
  ]);
  await cp(join(home, 'LICENSE'), join(directory, 'LICENSE'));
}

function optionsFor(directory: string) {
  return {
    absWorkingDir: home,
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
  } satisfies BuildOptions;
}

if (import.meta.main) await bundle(process.argv[2] ?? join(home, 'dist'));
