import { readFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Log } from '../../../lib/log.ts';
import type { Guarantee } from '../backend.ts';
import { Cell } from './cell.ts';
import { cgroupPlace, Cgroups } from './cgroup.ts';
import { writeGuestFiles } from './guest-files.ts';
import type { Host } from './host.ts';
import type { Ground, GuestLimits, Isolation } from './isolation.ts';
import { WATCH_INTERVAL_MS } from './memory-watch.ts';
import { RunDirectory } from './runs.ts';

/** What holds memory and processor time: control groups, or where there are none, watching. */
type Keeper = { readonly by: 'cgroups'; readonly cgroups: Cgroups } | { readonly by: 'watching'; readonly why: string };

/** What sandboxes take up on this machine: control groups, files, user ids. */
export class Site {
  readonly ground: Ground;
  readonly #run: RunDirectory;
  readonly #keeper: Keeper;
  readonly #log: Log;
  readonly #seats = new Map<number, Cell>();

  private constructor(ground: Ground, run: RunDirectory, { keeper, log }: { keeper: Keeper; log: Log }) {
    this.ground = ground;
    this.#run = run;
    this.#keeper = keeper;
    this.#log = log;
  }

  /** @throws Error when stateDir cannot be written; then nothing is left in it */
  static async open(host: Host, { stateDir, limits }: { stateDir: string; limits: GuestLimits }, log: Log): Promise<Site> {
    const run = new RunDirectory(stateDir);
    try {
      const files = writeGuestFiles(join(run.path, 'guest'), host);
      const keeper = await findKeeper(host, run);
      const ground = { host, directory: run.path, files, limits, memoryCounted: keeper.by === 'cgroups' };
      return new Site(ground, run, { keeper, log });
    } catch (error) {
      run.remove();
      throw error;
    }
  }

  /** Starts one sandbox. @throws Error when something that it is made of is not there any more */
  start(isolation: Isolation): Cell {
    let seat = 0;
    while (this.#seats.has(seat)) seat += 1;
    const id = `s${seat}-${randomBytes(4).toString('hex')}`;
    const { host, limits } = this.ground;
    const launch = isolation.launch({ id, uid: host.firstGuestUid + seat });
    const cgroup = this.#keeper.by === 'cgroups' ? this.#keeper.cgroups.create(id, limits) : undefined;
    try {
      const cell = new Cell({ launch, cgroup, memoryBytes: limits.memoryBytes, log: this.#log });
      this.#seats.set(seat, cell);
      void cell.guest.gone.then(() => this.#seats.delete(seat));
      return cell;
    } catch (error) {
      cgroup?.remove().catch((failure: unknown) => this.#log.warn({ err: failure }, 'a control group is left behind'));
      throw error;
    }
  }

  /** Removes all there is of it as soon as no sandbox is left. */
  async close(): Promise<void> {
    while (this.#seats.size > 0) await Promise.all([...this.#seats.values()].map((cell) => cell.guest.gone));
    try {
      if (this.#keeper.by === 'cgroups') await this.#keeper.cgroups.close();
      this.#run.remove();
    } catch (error) {
      this.#log.warn({ err: error }, 'something is left behind for the next server to remove');
    }
  }

  /** What holds whatever the isolation is. */
  get guarantees(): readonly Guarantee[] {
    const keeper = this.#keeper;
    const kept = (what: string, otherwise: string): Guarantee =>
      keeper.by === 'cgroups'
        ? { what, holds: true, how: `control group (version ${keeper.cgroups.version})` }
        : { what, holds: false, how: `${otherwise} (${keeper.why})` };
    return [
      { what: 'network', holds: true, how: 'none but a loopback interface of its own' },
      kept(
        'memory',
        `looked at every ${WATCH_INTERVAL_MS} ms and stopped when above: a fast program gets further for a moment, and what the kernel holds for it, as in sockets, is not seen`,
      ),
      kept('cpu', 'no share is enforced, only time limits'),
      { what: 'processes', holds: true, how: 'resource limit; threads count' },
      { what: 'disk', holds: true, how: 'nothing is writable but /workspace, /tmp and /dev/shm, which are sized and kept in memory' },
      {
        what: 'time',
        holds: true,
        how: 'a command and all it started, also in the background, is killed when it ends or its time is over',
      },
    ];
  }
}

async function findKeeper(host: Host, run: RunDirectory): Promise<Keeper> {
  const watching = (why: string): Keeper => ({ by: 'watching', why });
  if (!host.root) return watching('control groups need root');
  const place = cgroupPlace(readFileSync('/proc/self/mountinfo', 'utf8'), readFileSync('/proc/self/cgroup', 'utf8'));
  if (place === undefined) return watching('no control groups are mounted');
  try {
    const cgroups = new Cgroups(run.groupName, place);
    run.own(cgroups.directories);
    await cgroups.open();
    return { by: 'cgroups', cgroups };
  } catch (error) {
    return watching(`control groups cannot be used: ${(error as Error).message}`);
  }
}
