import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { Guarantee } from '../backend.ts';
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
  type Launch,
  type Seat,
} from './isolation.ts';
import type { GuestFiles } from './runs.ts';

/** Holds guests in namespaces of the host's own kernel: https://github.com/containers/bubblewrap */
export function bubblewrap(program: string, host: Host, files: GuestFiles, limits: GuestLimits): Isolation {
  const noMoreNamespaces = supportedOptions(program).has('--disable-userns');
  const setup: Setup = { program, host, files, limits, commandPrefix: nested(program, noMoreNamespaces) };
  return {
    name: 'bubblewrap',
    commandPrefix: setup.commandPrefix,
    launch: (seat) => launch(setup, seat),
    guarantees: guarantees(host, { noMoreNamespaces, filter: files.seccomp !== undefined }),
  };
}

interface Setup {
  readonly program: string;
  readonly host: Host;
  readonly files: GuestFiles;
  readonly limits: GuestLimits;
  readonly commandPrefix: readonly string[];
}

const asGuest = ['--unshare-user', '--uid', String(GUEST_ID), '--gid', String(GUEST_ID), '--cap-drop', 'ALL', '--die-with-parent'];

/** Inside, the same program nests once more: a process tree of the command's own, out of reach of the agent and of other commands. */
function nested(program: string, noMoreNamespaces: boolean): readonly string[] {
  const surroundings = ['--bind', '/', '/', '--dev-bind', '/dev', '/dev', '--proc', '/proc'];
  return [program, ...asGuest, '--unshare-pid', ...(noMoreNamespaces ? ['--disable-userns'] : []), ...surroundings, '--'];
}

function launch({ program, host, files, limits, commandPrefix }: Setup, seat: Seat): Launch {
  const from = host.root ? staged : files;
  const readOnly = (source: string, inside: string): string[] => ['--ro-bind', source, inside];
  const memory = (bytes: number, inside: string): string[] => ['--size', String(bytes), '--tmpfs', inside];

  const asOther = host.root ? [...stage(files), ...dropRoot(seat.uid)] : [];
  const apart = [...asGuest, '--unshare-all', '--new-session', '--hostname', 'sandbox'];
  const environment = Object.entries(guestEnvironment).flatMap(([name, value]) => ['--setenv', name, value]);
  const system = [
    ...host.system.mounted.flatMap((path) => readOnly(path, path)),
    ...host.system.links.flatMap(([path, target]) => ['--symlink', target, path]),
    ...readOnly(from.etc, '/etc'),
    ...files.neededOfEtc.flatMap((path) => readOnly(path, path)),
  ];
  const writable = [
    ...memory(SHARED_MEMORY_BYTES, '/dev/shm'),
    ...memory(limits.diskBytes, '/tmp'),
    ...memory(limits.diskBytes, guestPaths.workspace),
  ];
  const own = [...readOnly(from.node, guestPaths.node), ...readOnly(from.agent, guestPaths.agent)];
  // what bubblewrap makes by itself is memory without a size
  const frozen = ['--remount-ro', '/dev', '--remount-ro', '/'];
  const filter = files.seccomp === undefined ? [] : ['--seccomp', '3'];
  // set inside, where a plain user's processes are counted apart from his others
  const limited = ['prlimit', `--nproc=${limits.processes}`, `--nofile=${OPEN_FILES}`, `--fsize=${limits.diskBytes}`, '--core=0'];

  const mounts = [...system, '--proc', '/proc', '--dev', '/dev', ...writable, ...own, ...frozen, '--chdir', guestPaths.workspace];
  const options = [...apart, '--clearenv', ...environment, ...mounts, ...filter];
  const argv = [...asOther, program, ...options, '--', ...limited, ...agentCommand({ commandPrefix })];
  return { argv, files: files.seccomp === undefined ? [] : [files.seccomp] };
}

/** Any directory that every user may enter. */
const STAGE = '/mnt';
const staged = { etc: join(STAGE, 'etc'), agent: join(STAGE, 'agent.mjs'), node: join(STAGE, 'node') };

/**
 * The guest's user may have no way to what it is given: Node and the state directory may lie in root's home. So root mounts them where it
 * has, seen by this sandbox's processes only.
 */
function stage({ directory, node }: GuestFiles): string[] {
  const script = `mount --bind "$1" ${STAGE} && mount --bind "$2" ${staged.node} && shift 2 && exec "$@"`;
  return ['unshare', '--mount', '/bin/sh', '-c', script, 'sh', directory, node];
}

/** Without this bubblewrap, called by root, leaves root and all its capabilities to the guest. */
function dropRoot(uid: number): string[] {
  const user = ['--reuid', String(uid), '--regid', String(uid), '--clear-groups'];
  return ['setpriv', ...user, '--no-new-privs', '--bounding-set=-all', '--inh-caps=-all', '--'];
}

function supportedOptions(program: string): ReadonlySet<string> {
  const help = spawnSync(program, ['--help'], { encoding: 'utf8', timeout: 5_000 });
  return new Set(help.stdout.match(/^ +(--[a-z0-9-]+)/gm)?.map((option) => option.trim()));
}

function guarantees(host: Host, { noMoreNamespaces, filter }: { noMoreNamespaces: boolean; filter: boolean }): Guarantee[] {
  return [
    {
      what: 'host kernel',
      holds: false,
      how: 'the guest talks to the host kernel: a fault in the kernel can break the isolation. Use gVisor where guests are hostile',
    },
    {
      what: 'own user',
      holds: host.root,
      how: host.root
        ? 'each sandbox runs as a host user that owns nothing, without capabilities, in a user namespace'
        : "runs as the server's own user, without capabilities, in a user namespace",
    },
    {
      what: 'reduced kernel interface',
      holds: filter && noMoreNamespaces,
      how: [
        filter ? 'system calls are filtered' : 'no system call filter for this processor',
        noMoreNamespaces ? 'the guest can make no namespaces' : 'this bubblewrap is older than 0.8: the guest can make user namespaces',
      ].join('; '),
    },
  ];
}
