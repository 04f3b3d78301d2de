import { chmod, cp, mkdir, realpath, symlink, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';
import { version } from '../../lib/version.ts';
import { bundle } from '../../scripts/bundle.ts';
import { install, keyOf, libraries } from './layer-files.ts';
import { writeLayout, type Image, type Layer } from './oci.ts';
import { run } from './run.ts';
import { sandboxImage } from './sandbox-image.ts';

/*
 * The images of the test cluster, without Docker: root file systems of nothing but a program and the libraries that it is linked with, taken
 * from this machine; a Debian for what runs in sandboxes. Called with a directory for its bundles, it writes an OCI layout outside the checkout and prints where.
 */

const home = join(import.meta.dirname, '..', '..');
const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'toolyard');
const NONROOT = '65532:65532';

/** Node as the distroless image has it: the program, its libraries, certificates, a user. */
async function nodeLayer(): Promise<Layer> {
  const node = process.execPath;
  const own = await libraries(node);
  return {
    name: 'node',
    key: await keyOf(['node'], [node, ...own]),
    write: async (root) => {
      await install(node, root, '/nodejs/bin/node');
      await run('strip', [join(root, 'nodejs/bin/node')]).catch(() => {});
      for (const library of own) await install(library, root);
      await install('/etc/ssl/certs/ca-certificates.crt', root);
      await etc(root, 'nonroot:x:65532:65532::/tmp:/sbin/nologin');
    },
  };
}

async function etc(root: string, user: string): Promise<void> {
  await mkdir(join(root, 'etc'), { recursive: true });
  await writeFile(join(root, 'etc/passwd'), `root:x:0:0:root:/root:/bin/sh\n${user}\n`);
  await writeFile(join(root, 'etc/group'), `root:x:0:\n${user.split(':')[0]}:x:${user.split(':')[3]}:\n`);
  await writeFile(join(root, 'etc/nsswitch.conf'), 'hosts: files dns\n');
  await mkdir(join(root, 'tmp'));
  await chmod(join(root, 'tmp'), 0o1777);
}

/** A directory's files below /app. */
async function appLayer(name: string, directory: string): Promise<Layer> {
  const listing = await run('sh', ['-c', 'cd "$1" && find . -type f | sort | xargs sha256sum', 'sh', directory]);
  return { name, key: await keyOf([listing]), write: (root) => cp(directory, join(root, 'app'), { recursive: true }) };
}

/** One static program. */
async function staticLayer(program: string, at: string): Promise<Layer> {
  return {
    name: at,
    key: await keyOf([at], [program]),
    write: async (root) => {
      await install(program, root, at);
      await install('/etc/ssl/certs/ca-certificates.crt', root);
      await etc(root, 'nonroot:x:65532:65532::/tmp:/sbin/nologin');
    },
  };
}

async function pauseLayer(): Promise<Layer> {
  const busybox = await busyboxPath();
  return { name: 'pause', key: await keyOf(['pause'], [busybox]), write: (root) => install(busybox, root, '/bin/sleep') };
}

const busyboxPath = async (): Promise<string> => realpath((await run('sh', ['-c', 'command -v busybox'])).trim());

/** PostgreSQL's server programs where Debian puts them, with bash and the few tools that start scripts use. */
async function postgresLayer(): Promise<Layer> {
  const bin = (await run(join(home, 'scripts/ensure-postgres'), [])).trim();
  const busybox = await busyboxPath();
  const lib = join(dirname(bin), 'lib');
  const programs = [...['postgres', 'initdb', 'pg_isready', 'psql'].map((name) => join(bin, name)), '/bin/bash', '/usr/bin/find'];
  const extensions = ['uuid-ossp', 'pg_trgm'].map((name) => join(lib, `${name}.so`));
  const linked = (await Promise.all([...programs, ...extensions].map(libraries))).flat();
  const share = join('/usr/share/postgresql', bin.split('/').at(-2) ?? '');
  return {
    name: 'postgres',
    key: await keyOf(['postgres'], [...programs, busybox]),
    write: async (root) => {
      for (const library of new Set(linked)) await install(library, root);
      for (const path of [bin, lib, share, '/usr/share/zoneinfo', '/usr/lib/locale/C.utf8', '/bin/bash', '/usr/bin/find'])
        await install(path, root);
      // a compiler for queries, larger than all the rest and of no use here
      await run('sh', ['-c', 'rm -rf "$1"/llvmjit* "$1"/bitcode', 'sh', join(root, lib)]);
      await install(busybox, root, '/bin/busybox');
      for (const tool of ['sh', 'cat', 'sort', 'tail', 'rm', 'rmdir', 'mv', 'mkdir', 'chmod'])
        await symlink('busybox', join(root, 'bin', tool));
      await etc(root, 'postgres:x:999:999::/var/lib/postgresql:/bin/sh');
      await mkdir(join(root, 'var/lib/postgresql/data'), { recursive: true });
    },
  };
}

/** Programs that run in the tests' pods. */
async function podsBundle(directory: string): Promise<void> {
  await build({
    absWorkingDir: import.meta.dirname,
    entryPoints: ['pods/client.ts', 'pods/server.ts'],
    outdir: directory,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    platform: 'node',
    target: 'node26',
    format: 'esm',
    banner: { js: `import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);` },
  });
}

async function images(work: string): Promise<readonly Image[]> {
  await bundle(join(work, 'app'));
  await podsBundle(join(work, 'pods'));
  const node = await nodeLayer();
  const onNode = { entrypoint: ['/nodejs/bin/node'], user: NONROOT, workingDir: '/app', env: ['NODE_ENV=production'] };
  const registry = (await run(join(home, 'scripts/ensure-official-registry'), [])).trim();
  const bin = join(cache, 'cluster-bin');
  return [
    { name: `local.test/toolyard:${version}`, layers: [node, await appLayer('toolyard', join(work, 'app'))], ...onNode },
    await sandboxImage(`local.test/toolyard-sandbox:${version}`, join(bin, 'sandboxd')),
    { name: 'local.test/pods:1', layers: [node, await appLayer('pods', join(work, 'pods'))], ...onNode },
    {
      name: 'ghcr.io/modelcontextprotocol/registry:1.8.8',
      layers: [await staticLayer(registry, '/ko-app/registry')],
      entrypoint: ['/ko-app/registry'],
      user: NONROOT,
    },
    {
      name: 'docker.io/library/postgres:17-bookworm',
      layers: [await postgresLayer()],
      user: '999:999',
    },
    { name: 'local.test/coredns:1', layers: [await staticLayer(join(bin, 'coredns'), '/coredns')], entrypoint: ['/coredns'] },
    { name: 'local.test/pause:1', layers: [await pauseLayer()], entrypoint: ['/bin/sleep', 'infinity'] },
  ];
}

const [work = ''] = process.argv.slice(2);
const layout = join(cache, 'cluster-images');
const made = await writeLayout(layout, await images(work));
if (made.length > 0) process.stderr.write(`made image layers: ${made.join(', ')}\n`);
process.stdout.write(`${layout}\n`);
