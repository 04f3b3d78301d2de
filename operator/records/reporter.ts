import type { Log } from '../../lib/log.ts';
import { defined } from './defined.ts';
import type { Keeper } from './keeper.ts';
import { eventsBetween, withTimes, type DeclarationStatus, type Description, type OperatorView, type Unreadable } from './status.ts';

/** A server that builds its tools anew each time must not fill the log. */
const TOOL_CHANGE_EVERY_MS = 10 * 60_000;

/** Turns what the keeper knows into a view, and tells each change once. */
export class Reporter {
  readonly #install: string;
  readonly #log: Log;
  readonly #now: () => number;
  readonly #toolsToldAt = new Map<string, number>();
  /** what an earlier operator knew and this one does not know better yet */
  readonly #inherited: Map<string, DeclarationStatus>;
  #statuses: ReadonlyMap<string, DeclarationStatus>;
  #suspicious = false;
  #unreadable = '';

  /** @param before what an earlier operator knew: its times of transition stay */
  constructor(install: string, before: readonly DeclarationStatus[], { log, now = Date.now }: { log: Log; now?: () => number }) {
    this.#install = install;
    this.#log = log;
    this.#now = now;
    this.#inherited = new Map(before.map((status) => [status.source, status]));
    this.#statuses = new Map(this.#inherited);
  }

  view(keeper: Keeper, selfSuspicion: boolean): OperatorView {
    const now = new Date(this.#now()).toISOString();
    const declarations = keeper
      .describeAll()
      .map((description) => this.#inheritance(description) ?? withTimes(description, this.#statuses.get(description.source), now));
    for (const status of declarations) this.#tell(this.#statuses.get(status.source), status);
    const statuses = new Map(declarations.map((status) => [status.source, status]));
    if (keeper.ready) this.#tellGone(statuses);
    this.#statuses = keeper.ready ? statuses : new Map([...this.#statuses, ...statuses]);
    this.#suspect(selfSuspicion);
    const { registry, incomplete } = keeper;
    this.#tellUnreadable(registry.unreadable);
    return {
      version: 1,
      install: this.#install,
      updatedAt: now,
      registry,
      ...defined({
        source: incomplete === undefined ? undefined : { message: incomplete },
        selfSuspicion: selfSuspicion ? (true as const) : undefined,
      }),
      declarations,
    };
  }

  #tellGone(now: ReadonlyMap<string, DeclarationStatus>): void {
    for (const [source, { name }] of this.#statuses) {
      if (!now.has(source)) this.#log.info({ source, name, reason: 'Gone' }, 'nothing of it is left');
    }
  }

  /** A restart changes no status: of the same record at the same address the last one stands until there is news. */
  #inheritance({ source, provisional, digest, endpoint }: Description): DeclarationStatus | undefined {
    const before = this.#inherited.get(source);
    if (before !== undefined && provisional && before.digest === digest && before.endpoint === endpoint) return before;
    this.#inherited.delete(source);
    return undefined;
  }

  #tell(before: DeclarationStatus | undefined, after: DeclarationStatus): void {
    for (const { type, reason, message, source, name } of eventsBetween(before, after)) {
      this.#log[type === 'Warning' ? 'warn' : 'info']({ source, name, reason }, message);
    }
    const { source, name, tools } = after;
    if (tools === undefined || before?.tools === undefined || before.tools.digest === tools.digest) return;
    const now = this.#now();
    if (now < (this.#toolsToldAt.get(source) ?? -Infinity) + TOOL_CHANGE_EVERY_MS) return;
    this.#toolsToldAt.set(source, now);
    this.#log.info(
      { source, name, reason: 'ToolsChanged', count: tools.count, digest: tools.digest },
      'its server lists other tools than before',
    );
  }

  #tellUnreadable(unreadable: Unreadable | undefined): void {
    const told = unreadable === undefined ? '' : JSON.stringify(unreadable);
    if (told === this.#unreadable) return;
    this.#unreadable = told;
    if (unreadable !== undefined)
      this.#log.warn(unreadable, 'the registry has records that cannot be read: nothing is done to their names');
    else this.#log.info('all records of the registry can be read');
  }

  #suspect(selfSuspicion: boolean): void {
    if (selfSuspicion === this.#suspicious) return;
    this.#suspicious = selfSuspicion;
    if (selfSuspicion) this.#log.warn('most servers stopped answering at once: the fault is probably here, so no record is deprecated');
    else this.#log.info('servers answer again, or stopped for reasons of their own');
  }
}
