import { LRUCache } from 'lru-cache';
import type { Readiness } from '../../../lib/http-host/host.ts';
import type { Log } from '../../../lib/log.ts';
import {
  SandboxError,
  type BackendDescription,
  type Command,
  type CommandResult,
  type FileAccess,
  type FileListing,
  type SandboxBackend,
  type SandboxInfo,
  type SandboxOrder,
} from '../backend.ts';
import { unlessAborted } from './abort.ts';
import type { Cell } from './cell.ts';
import { sandboxErrorOf } from './faults.ts';
import { GuestFault, GuestGone, type Exchange, type Guest } from './guest.ts';
import { prepareMachine, type Machine, type MachineSettings, type Prepared } from './prepare.ts';

export interface LocalSettings extends MachineSettings {
  /** sandboxes kept started for the next caller */
  readonly warm: number;
  /** of stdout and of stderr of one command */
  readonly outputBytes: number;
  /** of one file up or down */
  readonly fileBytes: number;
}

/** One sandbox that lives. */
interface Tenant {
  info: SandboxInfo;
  readonly cell: Promise<Cell>;
  deadline: NodeJS.Timeout;
  /** requests under way */
  active: number;
}

/** Requests at once in one sandbox; each costs it processes and open files. */
const MAX_ACTIVE = 16;
/** So many sandboxes that are over can still say why. */
const REMEMBERED = 1_000;
/** A machine without isolation is looked at again when somebody asks, but not more often. */
const LOOK_AGAIN_MS = 10_000;

/** Sandboxes on this machine, held by gVisor or bubblewrap. They live in this process: when it goes, so do they. */
export class LocalBackend implements SandboxBackend {
  readonly #settings: LocalSettings;
  readonly #log: Log;
  readonly #tenants = new Map<string, Tenant>();
  readonly #ended = new LRUCache<string, SandboxInfo>({ max: REMEMBERED });
  readonly #spares: Cell[] = [];
  #prepared: Prepared = { ready: false, reason: 'finding out which isolation works on this machine; this takes a second' };
  #preparing: Promise<Prepared>;
  #lookAgainAt = Infinity;
  #closing = false;

  constructor(settings: LocalSettings, log: Log) {
    this.#settings = settings;
    this.#log = log;
    this.#preparing = this.#prepare();
  }

  ready(): Readiness {
    if (performance.now() > this.#lookAgainAt) this.#preparing = this.#prepare();
    return this.#prepared.ready ? { ready: true } : { ready: false, reason: this.#prepared.reason };
  }

  describe(): BackendDescription {
    const { limits, outputBytes, fileBytes } = this.#settings;
    const base = { backend: 'local', limits: { ...limits, outputBytes, fileBytes } };
    if (!this.#prepared.ready) return { ...base, isolation: 'none', languages: [], guarantees: [] };
    const { isolation, languages, site } = this.#prepared;
    return { ...base, isolation: isolation.name, languages, guarantees: [...isolation.guarantees, ...site.guarantees] };
  }

  async create(order: SandboxOrder): Promise<SandboxInfo> {
    const tenant = this.#tenants.get(order.handle) ?? this.#admit(order);
    await tenant.cell;
    return tenant.info;
  }

  find(handle: string): Promise<SandboxInfo | undefined> {
    return Promise.resolve(this.#tenants.get(handle)?.info ?? this.#ended.get(handle));
  }

  list(): Promise<readonly SandboxInfo[]> {
    return Promise.resolve([...this.#tenants.values()].map(({ info }) => info));
  }

  async renew(handle: string, shutdownAt: number): Promise<void> {
    const tenant = this.#tenant(handle);
    tenant.info = { ...tenant.info, lifetime: { ...tenant.info.lifetime, shutdownAt } };
    clearTimeout(tenant.deadline);
    tenant.deadline = this.#deadline(handle, shutdownAt);
  }

  async delete(handle: string): Promise<void> {
    await this.#end(this.#tenant(handle), 'it was deleted');
  }

  async execute(handle: string, { command, timeoutMs, signal }: Command): Promise<CommandResult> {
    const { outputBytes } = this.#settings;
    return this.#use(handle, 'the command', async (cell) => {
      const result = await cell.run(command, { timeoutMs, outputBytes, signal });
      if (signal.aborted) throw new SandboxError('cancelled', 'the caller left; the command was stopped');
      return result;
    });
  }

  async writeFile(handle: string, access: FileAccess, content: Uint8Array): Promise<void> {
    const { path } = access;
    await this.#access(handle, access, (guest) => guest.ask('write', { path, content: Buffer.from(content).toString('base64') }));
  }

  async readFile(handle: string, access: FileAccess): Promise<Uint8Array> {
    const request = { path: access.path, maxBytes: this.#settings.fileBytes };
    const { content } = await this.#access(handle, access, (guest) => guest.ask('read', request));
    return Buffer.from(content, 'base64').subarray(0, request.maxBytes);
  }

  async listFiles(handle: string, access: FileAccess, maxEntries: number): Promise<FileListing> {
    const request = { path: access.path, maxEntries };
    const { entries, total } = await this.#access(handle, access, (guest) => guest.ask('list', request));
    return { entries: entries.slice(0, maxEntries), total };
  }

  async fileExists(handle: string, access: FileAccess): Promise<boolean> {
    const { exists } = await this.#access(handle, access, (guest) => guest.ask('exists', { path: access.path }));
    return exists;
  }

  async close(): Promise<void> {
    this.#closing = true;
    const why = 'the server was stopped';
    const prepared = await this.#preparing;
    this.#lookAgainAt = Infinity;
    this.#prepared = { ready: false, reason: why };
    const ending = [...this.#tenants.values()].map((tenant) => this.#end(tenant, why));
    await Promise.all([...ending, ...this.#spares.splice(0).map((cell) => cell.remove(why))]);
    if (prepared.ready) await prepared.site.close();
  }

  async #prepare(): Promise<Prepared> {
    this.#lookAgainAt = Infinity;
    try {
      this.#prepared = await prepareMachine(this.#settings, this.#log);
    } catch (error) {
      const { stateDir } = this.#settings;
      this.#prepared = { ready: false, reason: `STATE_DIR ${stateDir} cannot be used: ${(error as Error).message}` };
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

  #keepWarm({ site, isolation }: Machine): void {
    while (!this.#closing && this.#spares.length < this.#settings.warm) {
      const cell = site.start(isolation);
      this.#spares.push(cell);
      void cell.guest.gone.then((why) => this.#dropSpare(cell, why));
    }
  }

  /** A spare that ended before anybody had it is replaced with the next one taken, not at once: it may end again. */
  async #dropSpare(cell: Cell, why: string): Promise<void> {
    const place = this.#spares.indexOf(cell);
    if (place === -1) return;
    this.#spares.splice(place, 1);
    this.#log.warn({ why }, 'a waiting sandbox ended');
    await cell.remove(why);
  }

  /** From here on the sandbox counts, before anything is waited for. */
  #admit(order: SandboxOrder): Tenant {
    const { handle, owner, lifetime } = order;
    const tenant: Tenant = {
      info: { handle, owner, lifetime, state: 'starting', message: 'it is being started' },
      cell: this.#start(order),
      deadline: this.#deadline(handle, lifetime.shutdownAt),
      active: 0,
    };
    this.#tenants.set(handle, tenant);
    this.#ended.delete(handle);
    tenant.cell.then(
      (cell) => this.#moveIn(tenant, cell),
      () => this.#forget(tenant),
    );
    return tenant;
  }

  /** @throws SandboxError */
  async #start({ handle, readyTimeoutMs, signal }: SandboxOrder): Promise<Cell> {
    const until = AbortSignal.any([signal, AbortSignal.timeout(readyTimeoutMs)]);
    let cell: Cell | undefined;
    try {
      const machine = this.#usable(await unlessAborted(this.#preparing, until));
      cell = this.#spares.shift() ?? machine.site.start(machine.isolation);
      this.#keepWarm(machine);
      await unlessAborted(cell.guest.ready, until);
      return cell;
    } catch (error) {
      await cell?.remove('it did not start');
      this.#log.warn({ handle, reason: (error as Error).message, complaint: cell?.guest.complaint }, 'a sandbox did not start');
      if (error instanceof SandboxError) throw error;
      if (signal.aborted) throw new SandboxError('cancelled', `the caller left before sandbox ${handle} had started; it was removed`);
      if (until.aborted)
        throw new SandboxError('start-timeout', `sandbox ${handle} did not start within ${readyTimeoutMs / 1000} s; try again`);
      throw new SandboxError('failed', `sandbox ${handle} did not start: ${(error as Error).message}; try again`, { cause: error });
    }
  }

  #usable(prepared: Prepared): Machine {
    if (!prepared.ready) throw new SandboxError('not-ready', prepared.reason);
    if (this.#closing) throw new SandboxError('not-ready', 'the server is stopping; connect again in a while');
    return prepared;
  }

  #moveIn(tenant: Tenant, cell: Cell): void {
    tenant.info = { ...tenant.info, state: 'ready', message: 'commands can run in it' };
    this.#log.info({ handle: tenant.info.handle, owner: tenant.info.owner }, 'sandbox started');
    void cell.guest.gone.then((why) => this.#end(tenant, why));
  }

  #forget(tenant: Tenant): boolean {
    clearTimeout(tenant.deadline);
    const { handle } = tenant.info;
    return this.#tenants.get(handle) === tenant && this.#tenants.delete(handle);
  }

  /** Resolves when nothing is left of it, also when it is already being ended. */
  async #end(tenant: Tenant, why: string): Promise<void> {
    if (this.#forget(tenant)) {
      this.#ended.set(tenant.info.handle, { ...tenant.info, state: 'ended', message: why });
      this.#log.info({ handle: tenant.info.handle, why }, 'sandbox ended');
    }
    const cell = await tenant.cell.catch(() => undefined);
    await cell?.remove(why);
  }

  #deadline(handle: string, at: number): NodeJS.Timeout {
    const end = () => {
      const tenant = this.#tenants.get(handle);
      if (tenant !== undefined) void this.#end(tenant, 'its time was over');
    };
    return setTimeout(end, Math.max(0, at - Date.now()));
  }

  /** @throws SandboxError `not-found`, `ended` */
  #tenant(handle: string): Tenant {
    const tenant = this.#tenants.get(handle);
    if (tenant !== undefined) return tenant;
    const ended = this.#ended.get(handle);
    if (ended === undefined) throw new SandboxError('not-found', `there is no sandbox ${handle}`);
    throw over(handle, ended.message);
  }

  async #use<T>(handle: string, subject: string, act: (cell: Cell) => Promise<T>): Promise<T> {
    const tenant = this.#tenant(handle);
    if (tenant.active >= MAX_ACTIVE) {
      throw new SandboxError(
        'busy',
        `${MAX_ACTIVE} calls are under way in sandbox ${handle}, which is all it takes; try again when one has ended`,
      );
    }
    tenant.active += 1;
    try {
      return await act(await tenant.cell);
    } catch (error) {
      if (error instanceof GuestFault) throw sandboxErrorOf(error, subject);
      if (!(error instanceof GuestGone)) throw error;
      await this.#end(tenant, error.message);
      throw over(handle, this.#ended.get(handle)?.message ?? error.message, error);
    } finally {
      tenant.active -= 1;
    }
  }

  async #access<T>(handle: string, access: FileAccess, ask: (guest: Guest) => Exchange<T>): Promise<T> {
    const { path, timeoutMs, signal } = access;
    const until = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    return this.#use(handle, path, async ({ guest }) => {
      const { id, end } = ask(guest);
      try {
        return await unlessAborted(end, until);
      } catch (error) {
        if (!until.aborted) throw error;
        guest.forget(id);
        if (signal.aborted) throw new SandboxError('cancelled', 'the caller left');
        throw new SandboxError('timeout', `${path}: no answer from the sandbox within ${timeoutMs / 1000} s; try again, or delete it`);
      }
    });
  }
}

function over(handle: string, why: string, cause?: Error): SandboxError {
  return new SandboxError('ended', `sandbox ${handle} is over: ${why}; create another with create_sandbox`, { cause });
}
