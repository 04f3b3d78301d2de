import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { letAllRead } from './guest-files.ts';
import { pathOf } from './host.ts';
import {
  agentCommand,
  GUEST_ID,
  guestEnvironment,
  guestPaths,
  OPEN_FILES,
  SHARED_MEMORY_BYTES,
  type Ground,
  type Isolation,
} from './isolation.ts';

/** The first process of a namespace: reaps what loses its parent, and passes an exit code on. */
const init = ['/bin/sh', '-c', '"$@"; exit $?', 'sh'];

/**
 * Holds guests in gVisor, a kernel of their own in user space: https://gvisor.dev. One OCI bundle serves every sandbox of a run.
 * @throws Error when its files cannot be written
 */
export function gvisor(program: string, ground: Ground): Isolation {
  const { host } = ground;
  // a command gets user, process and mount namespaces of gVisor's, and a session: what it signals with kill 0 is its own
  const apart = ['unshare', '--user', '--map-current-user', '--pid', '--fork', '--kill-child=KILL', '--mount-proc', '--'];
  const commandPrefix = [...apart, ...init, 'setsid'];
  const bundle = join(ground.directory, 'bundle');
  writeBundle(bundle, ground, commandPrefix);
  const state = join(ground.directory, 'runsc');
  mkdirSync(state, { mode: 0o700 });
  // mounts that runsc makes for itself vanish with the namespace; as root they would show on the host
  const unseen = [pathOf('unshare', host), '--mount', ...(host.root ? [] : ['--user', '--map-root-user'])];
  // runsc would live on without its parent, and its sandbox with it
  const mortal = [pathOf('setpriv', host), '--pdeathsig', 'KILL', '--'];
  const runsc = [program, '--root', state, '--network=none', '--ignore-cgroups', '--overlay2=none'];
  return {
    name: 'gvisor',
    commandPrefix,
    launch: ({ id }) => ({ argv: [...unseen, ...mortal, ...runsc, 'run', '--bundle', bundle, id], files: [], memoryMounts: [] }),
    guarantees: [
      { what: 'host kernel', holds: true, how: 'the guest talks to a kernel of its own, in user space; that one runs without privileges' },
      { what: 'own user', holds: true, how: "users of the guest are users of its own kernel, not the host's" },
    ],
  };
}

/** Writes config.json and the root directory of https://github.com/opencontainers/runtime-spec. */
function writeBundle(bundle: string, ground: Ground, commandPrefix: readonly string[]): void {
  const { system } = ground.host;
  const root = join(bundle, 'rootfs');
  const directories = ['/proc', '/dev', '/tmp', '/etc', guestPaths.workspace, ...system.mounted];
  for (const inside of directories) mkdirSync(join(root, inside), { recursive: true });
  for (const [path, target] of system.links) symlinkSync(target, join(root, path));
  for (const inside of [guestPaths.node, guestPaths.agent]) {
    mkdirSync(dirname(join(root, inside)), { recursive: true });
    writeFileSync(join(root, inside), '');
  }
  letAllRead(root);
  writeFileSync(join(bundle, 'config.json'), JSON.stringify(configuration(ground, commandPrefix)));
}

function configuration({ host, files, limits }: Ground, commandPrefix: readonly string[]): object {
  const readOnly = (source: string, destination: string) => ({
    destination,
    source,
    type: 'bind',
    options: ['ro', 'rbind', 'nosuid', 'nodev'],
  });
  const memory = (destination: string, bytes: number) => ({
    destination,
    source: 'tmpfs',
    type: 'tmpfs',
    options: ['nosuid', 'nodev', `size=${bytes}`, 'mode=1777'],
  });
  const limit = (type: string, value: number) => ({ type, hard: value, soft: value });
  return {
    ociVersion: '1.0.2',
    hostname: 'sandbox',
    root: { path: 'rootfs', readonly: true },
    process: {
      user: { uid: GUEST_ID, gid: GUEST_ID },
      args: [...init, ...agentCommand({ commandPrefix })],
      env: Object.entries(guestEnvironment).map(([name, value]) => `${name}=${value}`),
      cwd: guestPaths.workspace,
      noNewPrivileges: true,
      capabilities: {},
      rlimits: [
        limit('RLIMIT_NPROC', limits.processes),
        limit('RLIMIT_NOFILE', OPEN_FILES),
        limit('RLIMIT_FSIZE', limits.diskBytes),
        limit('RLIMIT_CORE', 0),
      ],
    },
    mounts: [
      { destination: '/proc', source: 'proc', type: 'proc' },
      { destination: '/dev', source: 'tmpfs', type: 'tmpfs' },
      memory('/dev/shm', SHARED_MEMORY_BYTES),
      ...host.system.mounted.map((path) => readOnly(path, path)),
      readOnly(files.etc, '/etc'),
      ...host.etc.map((path) => readOnly(path, path)),
      memory('/tmp', limits.diskBytes),
      memory(guestPaths.workspace, limits.diskBytes),
      readOnly(host.node, guestPaths.node),
      readOnly(files.agent, guestPaths.agent),
    ],
    linux: { namespaces: ['pid', 'network', 'ipc', 'uts', 'mount'].map((type) => ({ type })) },
  };
}
