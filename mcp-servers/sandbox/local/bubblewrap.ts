import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Guarantee } from '../backend.ts';
import { pathOf, type Host } from './host.ts';
import {
  agentCommand,
  GUEST_ID,
  guestEnvironment,
  guestPaths,
  OPEN_FILES,
  SHARED_MEMORY_BYTES,
  type Ground,
  type Isolation,
  type Launch,
  type Seat,
} from './isolation.ts';
import { seccompFilter } from './seccomp.ts';

/** Holds guests in namespaces of the host's own kernel: https://github.com/containers/bubblewrap @throws Error when its files cannot be written */
export function bubblewrap(program: string, ground: Ground): Isolation {
  const noMoreNamespaces = supportedOptions(program).has('--disable-userns');
  const filter = writeFilter(ground);
  const commandPrefix = nested(program, noMoreNamespaces);
  return {
    name: 'bubblewrap',
    commandPrefix,
    launch: (seat) => launch({ program, ground, filter, commandPrefix }, seat),
    guarantees: guarantees(ground.host, { noMoreNamespaces, filtered: filter !== undefined }),
  };
}

interface Setup {
  readonly program: string;
  readonly ground: Ground;
  /** path of the system call filter; undefined where there is none for this processor */
  readonly filter: string | undefined;
  readonly commandPrefix: readonly string[];
}

function writeFilter({ directory, memoryCounted }: Ground): string | undefined {
  const filter = seccompFilter(process.arch, { lastingMemory: memoryCounted });
  if (filter === undefined) return undefined;
  const path = join(directory, 'seccomp.bpf');
  writeFileSync(path, filter);
  return path;
}

const asGuest = ['--unshare-user', '--uid', String(GUEST_ID), '--gid', String(GUEST_ID), '--cap-drop', 'ALL', '--die-with-parent'];

/** Inside, the same program nests once more: a process tree and a session of the command's own, from which it reaches no other and no agent. */
function nested(program: string, noMoreNamespaces: boolean): readonly string[] {
  const surroundings = ['--bind', '/', '/', '--dev-bind', '/dev', '/dev', '--proc', '/proc'];
  return [program, ...asGuest, '--unshare-pid', '--new-session', ...(noMoreNamespaces ? ['--disable-userns'] : []), ...surroundings, '--'];
}

function launch({ program, ground, filter, commandPrefix }: Setup, seat: Seat): Launch {
  const { host, limits } = ground;
  const files = host.root ? staged : { ...ground.files, node: host.node };
  const readOnly = (source: string, inside: string): string[] => ['--ro-bind', source, inside];
  const memory = { '/dev/shm': SHARED_MEMORY_BYTES, '/tmp': limits.diskBytes, [guestPaths.workspace]: limits.diskBytes };

  const asOther = host.root ? [...stage(ground), ...dropRoot(host, seat.uid)] : [];
  const apart = [...asGuest, '--unshare-all', '--new-session', '--hostname', 'sandbox'];
  const environment = Object.entries(guestEnvironment).flatMap(([name, value]) => ['--setenv', name, value]);
  const system = [
    ...host.system.mounted.flatMap((path) => readOnly(path, path)),
    ...host.system.links.flatMap(([path, target]) => ['--symlink', target, path]),
    ...readOnly(files.etc, '/etc'),
    ...host.etc.flatMap((path) => readOnly(path, path)),
  ];
  const writable = Object.entries(memory).flatMap(([inside, bytes]) => ['--size', String(bytes), '--tmpfs', inside]);
  const own = [...readOnly(files.node, guestPaths.node), ...readOnly(files.agent, guestPaths.agent)];
  // what bubblewrap makes by itself is memory without a size
  const frozen = ['--remount-ro', '/dev', '--remount-ro', '/'];
  // set inside, where a plain user's processes are counted apart from his others
  const limited = ['prlimit', `--nproc=${limits.processes}`, `--nofile=${OPEN_FILES}`, `--fsize=${limits.diskBytes}`, '--core=0'];

  const mounts = [...system, '--proc', '/proc', '--dev', '/dev', ...writable, ...own, ...frozen, '--chdir', guestPaths.workspace];
  const options = [...apart, '--clearenv', ...environment, ...mounts, ...(filter === undefined ? [] : ['--seccomp', '3'])];
  const argv = [...asOther, program, ...options, '--', ...limited, ...agentCommand({ commandPrefix })];
  return { argv, files: filter === undefined ? [] : [filter], memoryMounts: Object.keys(memory) };
}

/** Any directory that every user may enter. */
const STAGE = '/mnt';
const staged = { etc: join(STAGE, 'etc'), agent: join(STAGE, 'agent.mjs'), node: join(STAGE, 'node') };

/**
 * The guest's user may have no way to what it is given: Node and the state directory may lie in root's home. So root mounts them where it
 * has, seen by this sandbox's processes only.
 */
function stage({ host, files }: Ground): string[] {
  const script = `mount=$1; "$mount" --bind "$2" ${STAGE} && "$mount" --bind "$3" ${staged.node} && shift 3 && exec "$@"`;
  return [pathOf('unshare', host), '--mount', '/bin/sh', '-c', script, 'sh', pathOf('mount', host), files.directory, host.node];
}

/** Without this bubblewrap, called by root, leaves root and all its capabilities to the guest. */
function dropRoot(host: Host, uid: number): string[] {
  const user = ['--reuid', String(uid), '--regid', String(uid), '--clear-groups'];
  return [pathOf('setpriv', host), ...user, '--no-new-privs', '--bounding-set=-all', '--inh-caps=-all', '--'];
}

function supportedOptions(program: string): ReadonlySet<string> {
  const help = spawnSync(program, ['--help'], { encoding: 'utf8', timeout: 5_000 });
  return new Set(help.stdout.match(/^ +(--[a-z0-9-]+)/gm)?.map((option) => option.trim()));
}

function guarantees(host: Host, { noMoreNamespaces, filtered }: { noMoreNamespaces: boolean; filtered: boolean }): Guarantee[] {
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
      holds: filtered && noMoreNamespaces,
      how: [
        filtered ? 'system calls are filtered' : 'no system call filter for this processor',
        noMoreNamespaces ? 'the guest can make no namespaces' : 'this bubblewrap is older than 0.8: the guest can make user namespaces',
      ].join('; '),
    },
  ];
}
