import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { install, keyOf } from './layer-files.ts';
import type { Image, Layer } from './oci.ts';
import { run } from './run.ts';

/** As in Dockerfile.sandbox, with what Node is linked with, and the forwarder. */
const PACKAGES = ['python3', 'python-is-python3', 'procps', 'libatomic1', 'libstdc++6', 'socat'];
const RELEASE = 'bookworm';
const USER = 1000;

/** The image of Dockerfile.sandbox without Docker: Debian with Python, this machine's Node, and the sandboxd that the tests' module has. */
export async function sandboxImage(name: string, sandboxd: string): Promise<Image> {
  return {
    name,
    layers: [await debian(), await runtime(sandboxd)],
    entrypoint: ['/usr/local/bin/start'],
    user: `${USER}:${USER}`,
    workingDir: '/workspace',
    env: ['HOME=/workspace', 'USER=sandbox', 'LANG=C.UTF-8', 'TMPDIR=/tmp'],
  };
}

async function debian(): Promise<Layer> {
  return {
    name: 'sandbox-debian',
    key: await keyOf([RELEASE, ...PACKAGES, prepare]),
    write: async (root) => {
      await run('debootstrap', ['--variant=minbase', `--include=${PACKAGES.join(',')}`, RELEASE, root]);
      await run('chroot', [root, 'sh', '-euc', prepare]);
      await rm(join(root, 'dev'), { recursive: true });
      for (const directory of ['dev', 'workspace']) await mkdir(join(root, directory));
      await chmod(join(root, 'workspace'), 0o777);
    },
  };
}

/** Layers carry no times, by which Python else tells whether compiled modules are up to date. */
const prepare = `
useradd --uid ${USER} --home-dir /workspace --no-create-home --shell /bin/bash sandbox
rm -rf /var/cache/* /var/lib/apt/lists/* /usr/share/doc /usr/share/man /usr/share/locale
python3 -m compileall -q -f --invalidation-mode unchecked-hash /usr/lib/python3*
`;

async function runtime(sandboxd: string): Promise<Layer> {
  const node = process.execPath;
  const start = join(import.meta.dirname, 'files', 'sandbox-start');
  return {
    name: 'sandbox-runtime',
    key: await keyOf([await readFile(start, 'utf8')], [node, sandboxd]),
    write: async (root) => {
      await install(sandboxd, root, '/usr/local/bin/sandboxd');
      await install(node, root, '/usr/local/bin/node');
      await run('strip', [join(root, 'usr/local/bin/node')]).catch(() => {});
      await writeFile(join(root, 'usr/local/bin/start'), await readFile(start));
      await chmod(join(root, 'usr/local/bin/start'), 0o755);
    },
  };
}
