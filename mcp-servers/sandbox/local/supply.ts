import type { Log } from '../../../lib/log.ts';
import { SandboxError } from '../backend.ts';
import { unlessAborted } from '../abort.ts';
import type { Cell } from './cell.ts';
import { prepareMachine, type Machine, type MachineSettings, type Prepared } from './prepare.ts';

export interface SupplySettings extends MachineSettings {
  /** sandboxes kept started for the next caller */
  readonly warm: number;
}

/** A machine without isolation is looked at again when somebody asks, but not more often. */
const LOOK_AGAIN_MS = 10_000;

/** Where sandboxes come from: finds out what the machine can hold, keeps some started, and looks at the machine anew when it fails. */
export class Supply {
  readonly #settings: SupplySettings;
  readonly #log: Log;
  readonly #spares = new Set<Cell>();
  readonly #closing = new AbortController();
  #prepared: Prepared = { ready: false, reason: 'finding out which isolation works on this machine; this takes a second' };
  #preparing: Promise<Prepared>;
  #lookAgainAt = Infinity;
  /** machines that were given up, until nothing is left of them */
  #leaving: Promise<unknown> = Promise.resolve();

  constructor(settings: SupplySettings, log: Log) {
    this.#settings = settings;
    this.#log = log;
    this.#preparing = this.#prepare();
  }

  /** What is known of the machine now; where nothing works, that is found out anew from time to time. */
  look(): Prepared {
    if (performance.now() > this.#lookAgainAt) this.#preparing = this.#prepare();
    return this.#prepared;
  }

  /**
   * One that commands can run in.
   * @throws SandboxError `not-ready`; Error when it did not start; the signal's reason
   */
  async take(signal: AbortSignal): Promise<Cell> {
    this.look();
    const machine = this.#usable(await unlessAborted(this.#preparing, signal));
    let cell: Cell | undefined;
    try {
      cell = this.#takeSpare() ?? machine.site.start(machine.isolation);
      this.#keepWarm(machine);
      await unlessAborted(cell.guest.ready, signal);
      return cell;
    } catch (error) {
      await cell?.remove('it did not start');
      if (signal.aborted) throw error;
      this.#log.warn({ err: error, complaint: cell?.guest.complaint }, 'a sandbox did not start');
      this.#doubt(machine);
      throw error;
    }
  }

  /** To be called when those taken are being ended; resolves when nothing is left of any. */
  async close(): Promise<void> {
    const why = 'the server is stopping; connect again in a while';
    this.#closing.abort(new SandboxError('not-ready', why));
    const prepared = await this.#preparing;
    this.#lookAgainAt = Infinity;
    this.#prepared = { ready: false, reason: why };
    if (prepared.ready) await this.#leave(prepared, why);
    await this.#leaving;
  }

  async #prepare(): Promise<Prepared> {
    this.#lookAgainAt = Infinity;
    try {
      this.#prepared = await prepareMachine(this.#settings, this.#log, this.#closing.signal);
    } catch (error) {
      const reason = `sandboxes cannot be prepared in STATE_DIR ${this.#settings.stateDir}: ${(error as Error).message}`;
      this.#prepared = { ready: false, reason };
    }
    if (this.#prepared.ready) {
      this.#log.info({ isolation: this.#prepared.isolation.name, languages: this.#prepared.languages }, 'sandboxes can be started');
      this.#keepWarm(this.#prepared);
    } else {
      this.#lookAgainAt = performance.now() + LOOK_AGAIN_MS;
      this.#log.error({ reason: this.#prepared.reason }, 'no sandbox can be started');
    }
    return this.#prepared;
  }

  /** Something that it is made of may be gone: files, programs, control groups. Its sandboxes live on. */
  #doubt(machine: Machine): void {
    if (this.#prepared !== machine) return;
    this.#leaving = Promise.all([this.#leaving, this.#leave(machine, 'the machine is looked at anew')]);
    this.#preparing = this.#prepare();
  }

  async #leave({ site }: Machine, why: string): Promise<void> {
    const spares = [...this.#spares];
    this.#spares.clear();
    await Promise.all(spares.map((cell) => cell.remove(why)));
    await site.close();
  }

  #usable(prepared: Prepared): Machine {
    this.#closing.signal.throwIfAborted();
    if (!prepared.ready) throw new SandboxError('not-ready', prepared.reason);
    return prepared;
  }

  #takeSpare(): Cell | undefined {
    const [cell] = this.#spares;
    if (cell !== undefined) this.#spares.delete(cell);
    return cell;
  }

  #keepWarm({ site, isolation }: Machine): void {
    try {
      while (!this.#closing.signal.aborted && this.#spares.size < this.#settings.warm) {
        const cell = site.start(isolation);
        this.#spares.add(cell);
        void cell.guest.gone.then((why) => this.#dropSpare(cell, why));
      }
    } catch (error) {
      this.#log.warn({ err: error }, 'no sandbox can be kept waiting');
    }
  }

  /** A spare that ended before anybody had it is replaced when the next one is taken, not at once: it may end again. */
  async #dropSpare(cell: Cell, why: string): Promise<void> {
    if (!this.#spares.delete(cell)) return;
    this.#log.warn({ why }, 'a waiting sandbox ended');
    await cell.remove(why);
  }
}
