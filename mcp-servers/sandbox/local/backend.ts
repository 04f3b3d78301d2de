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
import { InsideFault, sandboxErrorOf } from '../faults.ts';
import { unlessAborted } from '../abort.ts';
import type { Cell } from './cell.ts';
import { GuestGone, type Exchange, type Guest } from './guest.ts';
import { Supply, type SupplySettings } from './supply.ts';

export interface LocalSettings extends SupplySettings {
  /** of stdout and of stderr of one command */
  readonly outputBytes: number;
  /** of one file up or down */
  readonly fileBytes: number;
}

/** One sandbox that lives. */
interface Tenant {
  info: SandboxInfo;
  readonly cell: Promise<Cell>;
  /** ends the start, with a SandboxError as reason; too late it does nothing */
  readonly start: AbortController;
  /** callers of `create` that wait for the start */
  waiting: number;
  /** ends it; undefined while it starts */
  deadline: NodeJS.Timeout | undefined;
}

/** Requests at once in one sandbox; each costs it processes and open files, and this server what it holds of it. */
const MAX_REQUESTS = 16;
/** So many sandboxes that are over can still say why. */
const REMEMBERED = 1_000;

/** Sandboxes on this machine, held by gVisor or bubblewrap. They live in this process: when it goes, so do they. */
export class LocalBackend implements SandboxBackend {
  readonly #settings: LocalSettings;
  readonly #log: Log;
  readonly #supply: Supply;
  readonly #tenants = new Map<string, Tenant>();
  readonly #ended = new LRUCache<string, SandboxInfo>({ max: REMEMBERED });

  constructor(settings: LocalSettings, log: Log) {
    this.#settings = settings;
    this.#log = log;
    this.#supply = new Supply(settings, log);
  }

  ready(): Readiness {
    const machine = this.#supply.look();
    return machine.ready ? { ready: true } : { ready: false, reason: machine.reason };
  }

  describe(): BackendDescription {
    const { limits, outputBytes, fileBytes } = this.#settings;
    const base = { backend: 'local', limits: { ...limits, outputBytes, fileBytes } };
    const machine = this.#supply.look();
    if (!machine.ready) return { ...base, isolation: 'none', languages: [], guarantees: [] };
    const { isolation, languages, site } = machine;
    return { ...base, isolation: isolation.name, languages, guarantees: [...isolation.guarantees, ...site.guarantees] };
  }

  async create({ handle, readyTimeoutMs, signal, ...order }: SandboxOrder): Promise<SandboxInfo> {
    const tenant = this.#tenants.get(handle) ?? this.#admit(handle, order);
    const late = AbortSignal.timeout(readyTimeoutMs);
    tenant.waiting += 1;
    try {
      await unlessAborted(tenant.cell, AbortSignal.any([signal, late]));
      return tenant.info;
    } catch (error) {
      if (!signal.aborted && !late.aborted) throw error;
      const givenUp = signal.aborted
        ? new SandboxError('cancelled', `the caller left before sandbox ${handle} had started; it was removed`)
        : new SandboxError('start-timeout', `sandbox ${handle} did not start within ${readyTimeoutMs / 1000} s; try again`);
      // a retry of the same order may still wait for it, or have it already
      if (tenant.waiting === 1 && tenant.info.state === 'starting') await this.#end(tenant, givenUp.message, givenUp);
      throw givenUp;
    } finally {
      tenant.waiting -= 1;
    }
  }

  find(handle: string): Promise<SandboxInfo | undefined> {
    return Promise.resolve(this.#tenants.get(handle)?.info ?? this.#ended.get(handle));
  }

  list(): Promise<readonly SandboxInfo[]> {
    return Promise.resolve([...this.#tenants.values()].map(({ info }) => info));
  }

  async renew(handle: string, shutdownAt: number): Promise<void> {
    this.#endAt(this.#tenant(handle), shutdownAt);
  }

  async delete(handle: string): Promise<void> {
    await this.#end(this.#tenant(handle), 'it was deleted');
  }

  async execute(handle: string, { command, timeoutMs, signal, onOutput }: Command): Promise<CommandResult> {
    const { outputBytes } = this.#settings;
    return this.#use(handle, undefined, async (cell) => {
      const result = await cell.run(command, { timeoutMs, outputBytes, signal, onOutput });
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
    const emptied = this.#supply.close();
    await Promise.all([...this.#tenants.values()].map((tenant) => this.#end(tenant, 'the server was stopped')));
    await emptied;
  }

  /** From here on the sandbox counts, before anything is waited for. */
  #admit(handle: string, { owner, lifetime }: Pick<SandboxOrder, 'owner' | 'lifetime'>): Tenant {
    const start = new AbortController();
    const tenant: Tenant = {
      info: { handle, owner, lifetime, state: 'starting', message: 'it is being started' },
      cell: this.#start(handle, start.signal),
      start,
      waiting: 0,
      deadline: undefined,
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
  async #start(handle: string, signal: AbortSignal): Promise<Cell> {
    try {
      return await this.#supply.take(signal);
    } catch (error) {
      if (error instanceof SandboxError) throw error;
      throw new SandboxError('failed', `sandbox ${handle} did not start: ${(error as Error).message}; try again`, { cause: error });
    }
  }

  #moveIn(tenant: Tenant, cell: Cell): void {
    // ended in the very moment in which it had started
    if (this.#tenants.get(tenant.info.handle) !== tenant) return;
    const { createdAt, shutdownAt } = tenant.info.lifetime;
    tenant.info = { ...tenant.info, state: 'ready', message: 'commands can run in it' };
    this.#endAt(tenant, Date.now() + shutdownAt - createdAt);
    this.#log.info({ handle: tenant.info.handle, owner: tenant.info.owner }, 'sandbox started');
    void cell.guest.gone.then((why) => this.#end(tenant, why));
  }

  #forget(tenant: Tenant): boolean {
    clearTimeout(tenant.deadline);
    const { handle } = tenant.info;
    return this.#tenants.get(handle) === tenant && this.#tenants.delete(handle);
  }

  /**
   * Resolves when nothing is left of it, also when it is already being ended.
   * @param refusal what callers are told who still wait for its start
   */
  async #end(tenant: Tenant, why: string, refusal = over(tenant.info.handle, why)): Promise<void> {
    if (this.#forget(tenant)) {
      this.#ended.set(tenant.info.handle, { ...tenant.info, state: 'ended', message: why });
      this.#log.info({ handle: tenant.info.handle, why }, 'sandbox ended');
    }
    tenant.start.abort(refusal);
    const cell = await tenant.cell.catch(() => undefined);
    await cell?.remove(why);
  }

  #endAt(tenant: Tenant, shutdownAt: number): void {
    tenant.info = { ...tenant.info, lifetime: { ...tenant.info.lifetime, shutdownAt } };
    clearTimeout(tenant.deadline);
    tenant.deadline = setTimeout(() => void this.#end(tenant, 'its time was over'), Math.max(0, shutdownAt - Date.now()));
  }

  /** @throws SandboxError `not-found`, `ended` */
  #tenant(handle: string): Tenant {
    const tenant = this.#tenants.get(handle);
    if (tenant !== undefined) return tenant;
    const ended = this.#ended.get(handle);
    if (ended === undefined) throw new SandboxError('not-found', `there is no sandbox ${handle}`);
    throw over(handle, ended.message);
  }

  async #use<T>(handle: string, path: string | undefined, act: (cell: Cell) => Promise<T>): Promise<T> {
    const tenant = this.#tenant(handle);
    const cell = await tenant.cell;
    if (cell.guest.requests >= MAX_REQUESTS) {
      const busy = `${MAX_REQUESTS} calls are under way in sandbox ${handle}, which is all it takes; try again when one has ended`;
      throw new SandboxError('busy', busy);
    }
    try {
      return await act(cell);
    } catch (error) {
      if (error instanceof InsideFault) throw sandboxErrorOf(error, path);
      if (!(error instanceof GuestGone)) throw error;
      await this.#end(tenant, error.message);
      throw over(handle, this.#ended.get(handle)?.message ?? error.message, error);
    }
  }

  /** What is not answered in time is not waited for, but counts until it is: the sandbox still has it to do. */
  async #access<T>(handle: string, { path, timeoutMs, signal }: FileAccess, ask: (guest: Guest) => Exchange<T>): Promise<T> {
    const late = AbortSignal.timeout(timeoutMs);
    const until = AbortSignal.any([signal, late]);
    return this.#use(handle, path, async ({ guest }) => {
      try {
        until.throwIfAborted();
        return await unlessAborted(ask(guest).end, until);
      } catch (error) {
        if (signal.aborted) throw new SandboxError('cancelled', 'the caller left');
        if (!late.aborted) throw error;
        throw new SandboxError('timeout', `${path}: no answer from the sandbox within ${timeoutMs / 1000} s; try again, or delete it`);
      }
    });
  }
}

function over(handle: string, why: string, cause?: Error): SandboxError {
  return new SandboxError('ended', `sandbox ${handle} is over: ${why}; create another with create_sandbox`, { cause });
}
