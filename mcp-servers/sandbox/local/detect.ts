import { existsSync, readFileSync } from 'node:fs';
import type { Host } from './host.ts';
import type { IsolationName } from './isolation.ts';

/** What to try, in order of how well it holds. */
export function candidates(wanted: IsolationName | 'auto'): readonly IsolationName[] {
  return wanted === 'auto' ? ['gvisor', 'bubblewrap'] : [wanted];
}

/** The programs each isolation is made of. */
export const programs: Readonly<Record<IsolationName, readonly string[]>> = {
  gvisor: ['runsc', 'unshare', 'setpriv'],
  bubblewrap: ['bwrap', 'unshare', 'mount', 'setpriv', 'prlimit'],
};

/** `undefined` when all is there, else what is missing. */
export function missingPrograms(isolation: IsolationName, host: Host, runsc: string | undefined): string | undefined {
  const missing = programs[isolation].filter((program) => host.find(program === 'runsc' ? (runsc ?? program) : program) === undefined);
  if (missing.length === 0) return undefined;
  return missing.includes('runsc') && runsc !== undefined ? `RUNSC=${runsc} is no program` : `${missing.join(' and ')} not found on PATH`;
}

/** Why one isolation is not to be had. */
export interface Failure {
  readonly name: IsolationName;
  readonly why: string;
  /** it is not installed */
  readonly absent: boolean;
}

/** What to tell whoever runs a machine on which nothing that was tried works: why, and what to do about it. */
export function unusable(failures: readonly Failure[], osRelease = readOsRelease()): string {
  const whys = failures.map(({ name, why }) => `${name}: ${why}.`).join(' ');
  const absent = failures.filter((failure) => failure.absent);
  const toDo = absent.length > 0 ? absent.map(({ name }) => installHint(name, osRelease)).join(', or ') : 'mend that; it is installed';
  return `No isolation works on this machine. ${whys}${kernelHints()} What to do: ${toDo}.`;
}

/** The same where there is no Linux kernel, and nothing to try. */
export function kernelNeeded(platform: NodeJS.Platform): string {
  return `Sandboxes need a Linux kernel: run the sandbox server in a Linux virtual machine or container (this is ${platform}).`;
}

function installHint(name: IsolationName, osRelease: string): string {
  if (name === 'bubblewrap') return bubblewrapHint(osRelease);
  return "install gVisor's runsc (https://gvisor.dev/docs/user_guide/install/) and set RUNSC to its path";
}

function bubblewrapHint(osRelease: string): string {
  const lines = [...osRelease.matchAll(/^ID(?:_LIKE)?=(.*)$/gm)];
  const words = new Set(lines.flatMap(([, value]) => (value ?? '').replaceAll('"', '').split(' ')));
  const manager = managers.find(({ ids }) => ids.some((id) => words.has(id)));
  return manager === undefined ? 'install the package bubblewrap' : `run as root: ${manager.install}`;
}

const managers = [
  { ids: ['debian', 'ubuntu'], install: 'apt-get install bubblewrap' },
  { ids: ['fedora', 'rhel', 'centos'], install: 'dnf install bubblewrap' },
  { ids: ['arch'], install: 'pacman -S bubblewrap' },
  { ids: ['alpine'], install: 'apk add bubblewrap util-linux setpriv' },
  { ids: ['suse', 'opensuse'], install: 'zypper install bubblewrap' },
];

/** Known reasons why a kernel refuses user namespaces to plain users. */
function kernelHints(): string {
  const settings = [
    { path: '/proc/sys/kernel/apparmor_restrict_unprivileged_userns', bad: '1' },
    { path: '/proc/sys/kernel/unprivileged_userns_clone', bad: '0' },
    { path: '/proc/sys/user/max_user_namespaces', bad: '0' },
  ];
  const found = settings.filter(({ path, bad }) => existsSync(path) && readFileSync(path, 'utf8').trim() === bad);
  return found.map(({ path, bad }) => ` The kernel refuses user namespaces to plain users: ${path} is ${bad}.`).join('');
}

function readOsRelease(): string {
  return existsSync('/etc/os-release') ? readFileSync('/etc/os-release', 'utf8') : '';
}
