import type { Guarantee } from '../backend.ts';
import type { GuestFiles } from './guest-files.ts';
import type { Host } from './host.ts';

/** What holds a sandbox on one machine. */
export type IsolationName = 'gvisor' | 'bubblewrap';

/** What one sandbox may use. */
export interface GuestLimits {
  readonly memoryBytes: number;
  /** of the working directory, and again of /tmp; both are kept in memory and count there too */
  readonly diskBytes: number;
  readonly processes: number;
  readonly cpus: number;
}

/** One sandbox's place: nothing else uses these while it lives. */
export interface Seat {
  readonly id: string;
  /** host user that the guest's processes run as, where this server may choose one */
  readonly uid: number;
}

/** What an isolation builds on. */
export interface Ground {
  readonly host: Host;
  /** where it may keep files of its own; absolute */
  readonly directory: string;
  readonly files: GuestFiles;
  readonly limits: GuestLimits;
  /** all memory of a guest is counted by the kernel, in a control group */
  readonly memoryCounted: boolean;
}

/** How to start one sandbox. */
export interface Launch {
  /** the program by its absolute path */
  readonly argv: readonly string[];
  /** files that it finds open for reading as 3, 4, … */
  readonly files: readonly string[];
  /** places inside, seen through the program's first child, whose files are memory of the host's */
  readonly memoryMounts: readonly string[];
}

/** One way to hold guests, on this machine. */
export interface Isolation {
  readonly name: IsolationName;
  /** put before every command inside, so that it gets a process tree of its own that ends with it */
  readonly commandPrefix: readonly string[];
  launch(seat: Seat): Launch;
  /** what this isolation itself promises or does not; limits that cgroups hold are the backend's to tell */
  readonly guarantees: readonly Guarantee[];
}

/** Paths inside every sandbox, whatever holds it. */
export const guestPaths = {
  workspace: '/workspace',
  node: '/opt/toolyard/bin/node',
  agent: '/opt/toolyard/agent.mjs',
} as const;

/** The whole environment of a guest: nothing of the server's reaches it. */
export const guestEnvironment: Readonly<Record<string, string>> = {
  PATH: '/opt/toolyard/bin:/usr/local/bin:/usr/bin:/bin',
  HOME: guestPaths.workspace,
  USER: 'sandbox',
  LANG: 'C.UTF-8',
  TMPDIR: '/tmp',
  // the agent needs few threads, and a guest's own programs count against the same process limit
  UV_THREADPOOL_SIZE: '2',
};

/** User and group that a guest sees itself as. */
export const GUEST_ID = 1000;

/** Of /dev/shm, bytes. */
export const SHARED_MEMORY_BYTES = 16 * 1024 * 1024;

export const OPEN_FILES = 1024;

/** The program that serves a sandbox from inside. */
export function agentCommand(isolation: Pick<Isolation, 'commandPrefix'>): readonly string[] {
  const settings = JSON.stringify({ prefix: isolation.commandPrefix });
  // without --disable-sigusr1 that signal would make Node listen for a debugger
  const options = ['--v8-pool-size=1', '--max-old-space-size=64', '--disable-sigusr1'];
  return [guestPaths.node, ...options, guestPaths.agent, settings];
}
