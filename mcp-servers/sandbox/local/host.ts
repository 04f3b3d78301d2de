import { accessSync, constants, existsSync, lstatSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';

/** What the machine offers, looked up once. */
export interface Host {
  /** this server is root and may choose another user for its guests */
  readonly root: boolean;
  /** lowest host user id for guests; each sandbox has its own above it. Used as root only */
  readonly firstGuestUid: number;
  /** the running Node, where it really lies */
  readonly node: string;
  /** absolute path of a program, undefined when there is none */
  find(program: string): string | undefined;
  /** the machine's programs and libraries, for read-only use inside: /usr and what goes with it */
  readonly system: SystemTree;
  /** what of the machine's /etc programs need to start: nothing that says anything about it */
  readonly etc: readonly string[];
}

export interface SystemTree {
  /** directories and files, mounted at the same place */
  readonly mounted: readonly string[];
  /** `/bin` → `usr/bin` where the machine has it that way */
  readonly links: readonly (readonly [path: string, target: string])[];
}

/** Room for this many sandboxes at once, far more than any limit allows. */
const GUEST_UIDS = 4096;
/** Unused by convention (systemd, UIDS-GIDS): no real user, no container's range. */
const UNUSED_RANGE = 1_900_000_000;

export function inspectHost(): Host {
  return {
    root: process.getuid?.() === 0,
    firstGuestUid: firstGuestUid(readFileSync('/proc/self/uid_map', 'utf8')),
    node: realpathSync(process.execPath),
    find: findProgram,
    system: systemTree(),
    etc: ['/etc/alternatives', '/etc/ld.so.cache', '/etc/ld.so.conf', '/etc/ld.so.conf.d'].filter((path) => existsSync(path)),
  };
}

/**
 * In a container with few user ids the unused range is not among them: then the top of those there are.
 * @param uidMap /proc/self/uid_map: inside, outside, count a line
 */
export function firstGuestUid(uidMap: string): number {
  const ranges = uidMap
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .map(([inside = 0, , count = 0]) => ({ from: inside, to: inside + count }));
  if (ranges.some(({ from, to }) => from <= UNUSED_RANGE && UNUSED_RANGE + GUEST_UIDS <= to)) return UNUSED_RANGE;
  return Math.max(1, Math.max(...ranges.map(({ to }) => to)) - GUEST_UIDS);
}

/** Absolute path of a program that was seen to be there; its bare name when it has gone since, for the error to name. */
export function pathOf(program: string, host: Pick<Host, 'find'>): string {
  return host.find(program) ?? program;
}

function findProgram(program: string): string | undefined {
  const candidates = isAbsolute(program) ? [program] : (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, program));
  return candidates.find((candidate) => isAbsolute(candidate) && executable(candidate));
}

function executable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return lstatSync(realpathSync(path)).isFile();
  } catch {
    return false;
  }
}

function systemTree(): SystemTree {
  const present = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'].filter((path) => existsSync(path));
  const links = present.filter((path) => lstatSync(path).isSymbolicLink());
  return {
    mounted: present.filter((path) => !links.includes(path)),
    links: links.map((path) => [path, readlinkSync(path)] as const),
  };
}
