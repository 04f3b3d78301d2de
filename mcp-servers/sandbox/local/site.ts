import { readFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import type { Guarantee } from '../backend.ts';
import { Cell } from './cell.ts';
import { cgroupPlace, Cgroups } from './cgroup.ts';
import { neededOfEtc, type Host } from './host.ts';
import type { GuestLimits, Isolation } from './isolation.ts';
import { WATCH_INTERVAL_MS } from './memory-watch.ts';
import { RunDirectory } from './runs.ts';

/** What sandboxes take up on this machine: control groups, files, user ids. One for each server process. */
export class Site {
  readonly run: RunDirectory;
  readonly limits: GuestLimits;
  readonly #host: Host;
  readonly #cgroups: Cgroups | undefined;
  /** why there are no control groups */
  readonly #without: string | undefined;
  readonly #seats = new Set<number>();

  /** @throws Error when stateDir cannot be written */
  constructor(host: Host, stateDir: string, limits: GuestLimits) {
    this.#host = host;
    this.limits = limits;
    this.run = new RunDirectory(stateDir, { node: host.node, neededOfEtc });
    const opened = openCgroups(host, this.run);
    this.#cgroups = opened instanceof Cgroups ? opened : undefined;
    this.#without = opened instanceof Cgroups ? undefined : opened.reason;
  }

  /** Starts one sandbox. @throws Error when its control group cannot be made */
  start(isolation: Isolation): Cell {
    const seat = this.#takeSeat();
    const id = `s${seat}-${randomBytes(4).toString('hex')}`;
    try {
      const launch = isolation.launch({ id, uid: this.#host.firstGuestUid + seat });
      const cell = new Cell({ launch, cgroup: this.#cgroups?.create(id, this.limits), memoryBytes: this.limits.memoryBytes });
      void cell.guest.gone.then(() => this.#seats.delete(seat));
      return cell;
    } catch (error) {
      this.#seats.delete(seat);
      throw error;
    }
  }

  /** To be called when no sandbox is left. */
  async close(): Promise<void> {
    await this.#cgroups?.close();
    this.run.remove();
  }

  /** What holds whatever the isolation is. */
  get guarantees(): readonly Guarantee[] {
    const { version } = this.#cgroups ?? {};
    const group = `control group (version ${version})`;
    return [
      { what: 'network', holds: true, how: 'none but a loopback interface of its own' },
      {
        what: 'memory',
        holds: version !== undefined,
        how:
          version === undefined
            ? `looked at every ${WATCH_INTERVAL_MS} ms and stopped when above: a fast program gets further for a moment, and memory that is not mapped is not seen (${this.#without})`
            : group,
      },
      {
        what: 'cpu',
        holds: version !== undefined,
        how: version === undefined ? `no share is enforced, only time limits (${this.#without})` : group,
      },
      { what: 'processes', holds: true, how: 'resource limit; threads count' },
      { what: 'disk', holds: true, how: 'nothing is writable but /workspace, /tmp and /dev/shm, which are sized and kept in memory' },
      {
        what: 'time',
        holds: true,
        how: 'a command and all it started, also in the background, is killed when it ends or its time is over',
      },
    ];
  }

  #takeSeat(): number {
    let seat = 0;
    while (this.#seats.has(seat)) seat += 1;
    this.#seats.add(seat);
    return seat;
  }
}

function openCgroups(host: Host, run: RunDirectory): Cgroups | { reason: string } {
  if (!host.root) return { reason: 'control groups need root' };
  const place = cgroupPlace(readFileSync('/proc/self/mountinfo', 'utf8'), readFileSync('/proc/self/cgroup', 'utf8'));
  if (place === undefined) return { reason: 'no control groups are mounted' };
  try {
    const cgroups = Cgroups.open(run.groupName, place);
    run.own(cgroups.directories);
    // whether limits can be set shows only when one is
    void cgroups.create('trial', { memoryBytes: 64 * 1024 * 1024, cpus: 1 }).remove();
    return cgroups;
  } catch (error) {
    return { reason: `control groups cannot be used: ${(error as Error).message}` };
  }
}
