import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Host } from './host.ts';
import {
  agentCommand,
  GUEST_ID,
  guestEnvironment,
  guestPaths,
  OPEN_FILES,
  SHARED_MEMORY_BYTES,
  type GuestLimits,
  type Isolation,
} from './isolation.ts';
import type { GuestFiles, RunDirectory } from './runs.ts';

/** Holds guests in gVisor, a kernel of their own in user space: https://gvisor.dev. One OCI bundle serves every sandbox of a run. */
export function gvisor(program: string, host: Host, run: RunDirectory, limits: GuestLimits): Isolation {
  // a command gets user, process and mount namespaces of gVisor's; the shell before it only reaps and passes its exit code on
  const apart = ['unshare', '--user', '--map-current-user', '--pid', '--fork', '--kill-child=KILL', '--mount-proc', '--'];
  const commandPrefix = [...apart, '/bin/sh', '-c', '"$@"; exit $?', 'sh'];
  const bundle = writeBundle(run, host, limits, commandPrefix);
  // mounts that runsc makes for itself vanish with the namespace; as root they would show on the host
  const unseen = ['unshare', '--mount', ...(host.root ? [] : ['--user', '--map-root-user'])];
  // runsc would live on without its parent, and its sandbox with it
  const mortal = ['setpriv', '--pdeathsig', 'KILL', '--'];
  const runsc = [program, '--root', run.runscState, '--network=none', '--ignore-cgroups', '--overlay2=none'];
  return {
    name: 'gvisor',
    commandPrefix,
    launch: ({ id }) => ({ argv: [...unseen, ...mortal, ...runsc, 'run', '--bundle', bundle, id], files: [] }),
    guarantees: [
      { what: 'host kernel', holds: true, how: 'the guest talks to a kernel of its own, in user space; that one runs without privileges' },
      { what: 'own user', holds: true, how: "users of the guest are users of its own kernel, not the host's" },
    ],
  };
}

/** Writes config.json and the root directory of https://github.com/opencontainers/runtime-spec; answers the absolute path that runsc needs. */
function writeBundle(run: RunDirectory, host: Host, limits: GuestLimits, commandPrefix: readonly string[]): string {
  const root = join(run.bundle, 'rootfs');
  const directories = ['/proc', '/dev', '/tmp', '/etc', guestPaths.workspace, ...host.system.mounted];
  for (const inside of directories) mkdirSync(join(root, inside), { recursive: true });
  for (const [path, target] of host.system.links) symlinkSync(target, join(root, path));
  for (const inside of [guestPaths.node, guestPaths.agent]) {
    mkdirSync(dirname(join(root, inside)), { recursive: true });
    writeFileSync(join(root, inside), '');
  }
  writeFileSync(join(run.bundle, 'config.json'), JSON.stringify(configuration(run.files, host, limits, commandPrefix)));
  return run.bundle;
}

function configuration(files: GuestFiles, host: Host, limits: GuestLimits, commandPrefix: readonly string[]): object {
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
      args: agentCommand({ commandPrefix }),
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
      ...files.neededOfEtc.map((path) => readOnly(path, path)),
      memory('/tmp', limits.diskBytes),
      memory(guestPaths.workspace, limits.diskBytes),
      readOnly(host.node, guestPaths.node),
      readOnly(files.agent, guestPaths.agent),
    ],
    linux: { namespaces: ['pid', 'network', 'ipc', 'uts', 'mount'].map((type) => ({ type })) },
  };
}
