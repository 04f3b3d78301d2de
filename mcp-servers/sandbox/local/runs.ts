import { randomBytes } from 'node:crypto';
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { basename, join, resolve } from 'node:path';
import { z } from 'zod';
import type { Log } from '../../../lib/log.ts';
import { removeGroup } from './cgroup.ts';
import { GUEST_ID, guestPaths } from './isolation.ts';
import { kill, processesNaming, processStart } from './processes.ts';
import { seccompFilter } from './seccomp.ts';

/** Files that every sandbox is given, read-only. */
export interface GuestFiles {
  /** holds etc, agent and seccomp, and an empty file `node` to mount the real one over */
  readonly directory: string;
  /** the Node program that the guest gets: the one this server runs on */
  readonly node: string;
  /** directory: the guest's /etc */
  readonly etc: string;
  /** files and directories of the machine's /etc that belong into it, at the same place */
  readonly neededOfEtc: readonly string[];
  readonly agent: string;
  /** undefined where there is none for this processor */
  readonly seccomp: string | undefined;
}

const RUN_NAME = /^run-(\d+)-(\d+)-[0-9a-f]+$/;
const groupsFile = z.array(z.string());

/**
 * Everything that one server process keeps on disk and in control groups, so that a later one can clear up after it: STATE_DIR/run-PID-START-RANDOM,
 * of which only its owner reads anything.
 */
export class RunDirectory {
  readonly path: string;
  readonly files: GuestFiles;
  /** OCI bundle */
  readonly bundle: string;
  /** what runsc keeps about its sandboxes */
  readonly runscState: string;

  /** @throws Error when stateDir cannot be written */
  constructor(stateDir: string, { node, neededOfEtc }: Pick<GuestFiles, 'node' | 'neededOfEtc'>) {
    const unique = randomBytes(4).toString('hex');
    this.path = join(resolve(stateDir), `run-${process.pid}-${processStart(process.pid) ?? '0'}-${unique}`);
    this.bundle = join(this.path, 'bundle');
    this.runscState = join(this.path, 'runsc');
    mkdirSync(resolve(stateDir), { recursive: true, mode: 0o700 });
    for (const directory of [this.path, this.bundle, this.runscState]) mkdirSync(directory, { mode: 0o700 });
    this.files = { node, neededOfEtc, ...writeGuestFiles(join(this.path, 'guest'), neededOfEtc) };
  }

  /** Name of the control group of this run, unique on this machine. */
  get groupName(): string {
    return groupName(this.path);
  }

  /** Records the control groups that are to be removed should this process be killed. */
  own(cgroups: readonly string[]): void {
    writeFileSync(join(this.path, 'cgroups.json'), JSON.stringify(cgroups));
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

function writeGuestFiles(directory: string, neededOfEtc: readonly string[]): Omit<GuestFiles, 'node' | 'neededOfEtc'> {
  const etc = join(directory, 'etc');
  // the guest's user reads them
  mkdirSync(etc, { recursive: true, mode: 0o755 });
  const user = `sandbox:x:${GUEST_ID}:${GUEST_ID}:sandbox:${guestPaths.workspace}:/bin/bash\n`;
  const content = {
    passwd: `root:x:0:0:root:/root:/bin/sh\n${user}nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n`,
    group: `root:x:0:\nsandbox:x:${GUEST_ID}:\nnogroup:x:65534:\n`,
    hosts: '127.0.0.1 localhost sandbox\n::1 localhost\n',
    'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files\n',
  };
  for (const [name, text] of Object.entries(content)) writeFileSync(join(etc, name), text, { mode: 0o644 });
  for (const path of neededOfEtc) placeFor(path, join(etc, basename(path)));
  const agent = join(directory, 'agent.mjs');
  writeFileSync(agent, plainJavaScript(join(import.meta.dirname, 'agent.ts')), { mode: 0o644 });
  writeFileSync(join(directory, 'node'), '', { mode: 0o755 });
  const filter = seccompFilter(process.arch);
  const seccomp = join(directory, 'seccomp.bpf');
  if (filter !== undefined) writeFileSync(seccomp, filter, { mode: 0o644 });
  return { directory, etc, agent, seccomp: filter === undefined ? undefined : seccomp };
}

/** Stripped here and not by the guest's Node: that would take it 100 ms at every start. */
function plainJavaScript(path: string): string {
  const emitWarning = process.emitWarning.bind(process);
  // the function is marked experimental while what it does, run by Node itself, is not
  process.emitWarning = () => {};
  try {
    return stripTypeScriptTypes(readFileSync(path, 'utf8'));
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** Something of the same kind to mount over. */
function placeFor(original: string, path: string): void {
  if (lstatSync(original).isDirectory()) mkdirSync(path);
  else writeFileSync(path, '');
}

/** Clears up after servers that were killed: their processes, control groups and files. Those of living servers are left alone. */
export async function sweep(stateDir: string, log: Log): Promise<void> {
  const root = resolve(stateDir);
  if (!existsSync(root)) return;
  for (const name of readdirSync(root)) {
    const [, pid, start] = RUN_NAME.exec(name) ?? [];
    if (pid === undefined || processStart(Number(pid)) === start) continue;
    const path = join(root, name);
    for (const orphan of processesNaming(path)) kill(orphan);
    for (const directory of recordedGroups(path)) await removeGroup(directory);
    rmSync(path, { recursive: true, force: true });
    log.info({ run: name }, 'cleared up after a server that was killed');
  }
}

function groupName(path: string): string {
  return `toolyard-${basename(path)}`;
}

/** Nothing but groups that bear the run's name: a damaged record must not end anything else. */
function recordedGroups(path: string): string[] {
  try {
    const groups = groupsFile.parse(JSON.parse(readFileSync(join(path, 'cgroups.json'), 'utf8')));
    return groups.filter((directory) => basename(directory) === groupName(path));
  } catch {
    return [];
  }
}
