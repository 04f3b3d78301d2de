import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { kill, numbers } from './processes.ts';

/** Where this server may make control groups: one directory for version 2, one for each controller for version 1. */
export type CgroupPlace =
  | { readonly version: 2; readonly directory: string }
  | { readonly version: 1; readonly memory: string; readonly cpu: string };

export interface CgroupLimits {
  readonly memoryBytes: number;
  readonly cpus: number;
}

const CPU_PERIOD_MICROSECONDS = 100_000;
const TRIAL_LIMITS: CgroupLimits = { memoryBytes: 64 * 1024 * 1024, cpus: 1 };

/**
 * Finds the place from what the kernel says about this process. Version 1 groups nest in this process's own; version 2 ones are made at the
 * top of what is mounted, because a group that holds processes cannot also hold limited groups.
 * @param mounts /proc/self/mountinfo
 * @param own /proc/self/cgroup
 */
export function cgroupPlace(mounts: string, own: string): CgroupPlace | undefined {
  const mounted = mounts.split('\n').flatMap(parseMount);
  const memory = controllerDirectory('memory', mounted, own);
  const cpu = controllerDirectory('cpu', mounted, own);
  if (memory !== undefined && cpu !== undefined) return { version: 1, memory, cpu };
  const unified = mounted.find(({ type }) => type === 'cgroup2');
  return unified === undefined ? undefined : { version: 2, directory: unified.point };
}

interface CgroupMount {
  readonly root: string;
  readonly point: string;
  readonly type: string;
  readonly options: readonly string[];
}

/** proc_pid_mountinfo(5): id parent device root point options [tags] - type source options */
function parseMount(line: string): CgroupMount[] {
  const [before, after] = line.split(' - ');
  const [, , , root, point] = (before ?? '').split(' ');
  const [type, , options] = (after ?? '').split(' ');
  if (root === undefined || point === undefined || type === undefined || !type.startsWith('cgroup')) return [];
  return [{ root, point, type, options: (options ?? '').split(',') }];
}

function controllerDirectory(controller: string, mounted: readonly CgroupMount[], own: string): string | undefined {
  const mount = mounted.find(({ type, options }) => type === 'cgroup' && options.includes(controller));
  const entry = own
    .split('\n')
    .map((line) => line.split(':'))
    .find(([, controllers]) => controllers?.split(',').includes(controller));
  const path = entry?.slice(2).join(':');
  if (mount === undefined || path === undefined) return undefined;
  // in a container what is mounted may be just this process's own group
  const below = mount.root === '/' ? path : path.startsWith(mount.root) ? path.slice(mount.root.length) : '';
  return join(mount.point, below);
}

/** The control groups of one server: a group of its own, and one in it for each sandbox. */
export class Cgroups {
  readonly #place: CgroupPlace;
  /** the server's own group, in each hierarchy; to be swept when it dies without removing it */
  readonly directories: readonly string[];

  /** @param name unique to this server */
  constructor(name: string, place: CgroupPlace) {
    this.#place = place;
    const parents = place.version === 1 ? [place.memory, place.cpu] : [place.directory];
    this.directories = [...new Set(parents)].map((parent) => join(parent, name));
  }

  /**
   * Makes the server's group.
   * @throws Error when this user may not, or the kernel lacks a controller; then nothing is left of it
   */
  async open(): Promise<void> {
    try {
      if (this.#place.version === 2) delegate(this.#place.directory);
      for (const directory of this.directories) mkdirSync(directory);
      if (this.#place.version === 2) this.directories.forEach(delegate);
      // whether limits can be set shows only when one is
      await this.create('trial', TRIAL_LIMITS).remove();
    } catch (error) {
      await this.close().catch(() => {});
      throw error;
    }
  }

  get version(): 1 | 2 {
    return this.#place.version;
  }

  /** Makes a sandbox's group, limited before anything is in it. @throws Error; then nothing is left of it */
  create(id: string, limits: CgroupLimits): Cgroup {
    const directories = this.directories.map((directory) => join(directory, id));
    try {
      for (const directory of directories) mkdirSync(directory);
      this.#limit(directories, limits);
    } catch (error) {
      for (const directory of directories.filter((path) => existsSync(path))) rmdirSync(directory);
      throw error;
    }
    return new Cgroup(directories);
  }

  #limit(directories: readonly string[], { memoryBytes, cpus }: CgroupLimits): void {
    const quota = Math.round(cpus * CPU_PERIOD_MICROSECONDS);
    const set = (file: string, value: string, need: 'always' | 'where there' = 'always') =>
      writeSetting(directories, { file, value, need });
    if (this.#place.version === 2) {
      set('memory.max', String(memoryBytes));
      set('memory.swap.max', '0', 'where there');
      set('cpu.max', `${quota} ${CPU_PERIOD_MICROSECONDS}`);
    } else {
      set('memory.limit_in_bytes', String(memoryBytes));
      set('memory.memsw.limit_in_bytes', String(memoryBytes), 'where there');
      set('cpu.cfs_period_us', String(CPU_PERIOD_MICROSECONDS));
      set('cpu.cfs_quota_us', String(quota));
    }
  }

  async close(): Promise<void> {
    for (const directory of this.directories) await removeGroup(directory);
  }
}

/** The control group of one sandbox. */
export class Cgroup {
  readonly #directories: readonly string[];

  constructor(directories: readonly string[]) {
    this.#directories = directories;
  }

  /** Put before a command line, it makes the command join the group before it is anything. */
  get joining(): readonly string[] {
    const script = 'while [ "$1" != -- ]; do echo 0 >"$1" || exit 125; shift; done; shift; exec "$@"';
    return ['/bin/sh', '-c', script, 'sh', ...this.#directories.map((directory) => join(directory, 'cgroup.procs')), '--'];
  }

  /** How often the kernel had to kill for want of memory here. */
  get outOfMemoryKills(): number {
    const files = this.#directories.flatMap((directory) => ['memory.events', 'memory.oom_control'].map((file) => join(directory, file)));
    return files.reduce((sum, path) => sum + Number(/^oom_kill (\d+)$/m.exec(readIfThere(path))?.[1] ?? 0), 0);
  }

  /** Ends whatever is in it. */
  async remove(): Promise<void> {
    for (const directory of this.#directories) await removeGroup(directory);
  }
}

/**
 * Kills what is in a group and removes it; a process that was killed may take a moment to leave.
 * @throws Error when it cannot be removed, or is still in use after deadlineMs
 */
export async function removeGroup(directory: string, deadlineMs = 5_000): Promise<void> {
  const deadline = performance.now() + deadlineMs;
  while (existsSync(directory)) {
    for (const pid of members(directory)) kill(pid);
    try {
      for (const child of subgroups(directory)) await removeGroup(child, deadlineMs);
      rmdirSync(directory);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // somebody else was faster, perhaps at one below
      if (code === 'ENOENT') continue;
      if ((code !== 'EBUSY' && code !== 'ENOTEMPTY') || performance.now() > deadline) throw error;
      await delay(5);
    }
  }
}

function subgroups(directory: string): string[] {
  const entries = readdirSync(directory, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(directory, name));
}

function members(directory: string): number[] {
  return numbers(readIfThere(join(directory, 'cgroup.procs')));
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Lets the groups below be limited. */
function delegate(directory: string): void {
  writeFileSync(join(directory, 'cgroup.subtree_control'), '+memory +cpu');
}

/** In the hierarchy that has it. A kernel may do without swap accounting; without any other of our limits there is none. */
function writeSetting(directories: readonly string[], setting: { file: string; value: string; need: 'always' | 'where there' }): void {
  const path = directories.map((directory) => join(directory, setting.file)).find((candidate) => existsSync(candidate));
  if (path !== undefined) return writeFileSync(path, setting.value);
  if (setting.need === 'always') throw new Error(`the kernel offers no ${setting.file} in ${directories.join(', ')}`);
}
