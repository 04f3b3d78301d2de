import { setTimeout as delay } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import { readPage, readRecord, readReport, strayRecord, type Page, type UnreadableRecord, type ValidationReport } from './answers.ts';
import { RegistryError } from './errors.ts';
import { AnswerTooLarge, exchange, type Answer, type Exchange } from './exchange.ts';
import { versionPath, versionsPath } from './paths.ts';
import { refusalOf } from './refusals.ts';
import type { RecordStatus, ServerJson, ServerRecord } from './server-json.ts';
import { isTooMuch, nothing, tallied } from './tally.ts';
import type { TokenSource } from './token.ts';
import type { Fault } from './fault.ts';
import { messageOf } from '../error-message.ts';

export interface RegistryClientOptions {
  /** Address of the registry, without `/v0.1`. */
  readonly url: string;
  /** Needed for writes only: reads are open. */
  readonly tokens?: TokenSource;
  /** For one request and its answer. @default 10_000 */
  readonly timeoutMs?: number;
  /** For a private certificate authority or an address guard. @default undici's global one */
  readonly dispatcher?: Dispatcher;
  /** Waits between the tries of a read; injected by tests. */
  readonly sleep?: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

export interface CallOptions {
  /** Ends the call with the signal's own reason. */
  readonly signal?: AbortSignal | undefined;
}

export interface ReadOptions extends CallOptions {
  readonly includeDeleted?: boolean;
  /** Told of each record that a list leaves out because it is in no shape to be read. */
  readonly onUnreadable?: (record: UnreadableRecord) => void;
}

export interface ListOptions extends ReadOptions {
  /** Only records changed after this time; deleted ones are then always included. */
  readonly updatedSince?: Date;
  /** Part of a name, at least 3 characters. */
  readonly search?: string;
  /** `latest`, or one version. */
  readonly version?: string;
}

export interface StatusChange {
  readonly name: string;
  readonly version: string;
  readonly status: RecordStatus;
  /** At most 500 characters; not with `active`. Left out, an old message goes. */
  readonly message?: string;
}

const DEFAULT_TIMEOUT_MS = 10_000;

/** Tries of one read in all; a caller that wants more has its own loop. */
const READ_TRIES = 3;
const FIRST_WAIT_MS = 200;
/** A registry that asks for a longer pause gets an error out of us instead: the caller knows better what to do meanwhile. */
const LONGEST_WAIT_MS = 5000;

/** Records asked for at a time; fewer when a page is too large to read. 100 is the registry's maximum. */
const PAGE_SIZES = [100, 10, 1] as const;
/**
 * A client of the MCP registry API v0.1. Reads are tried again after a refused connection, a 5xx or a 429; a write is sent once, except
 * that a token refused with 401 is renewed once. All methods throw RegistryError, or the caller's own abort reason.
 */
export class RegistryClient {
  /** without a slash at its end */
  readonly url: string;
  readonly #options: RegistryClientOptions;

  /** @throws TypeError for an address that is none, or that holds a secret: it goes into messages */
  constructor(options: RegistryClientOptions) {
    const { username, password, href } = new URL(options.url);
    if (username !== '' || password !== '') throw new TypeError("a registry's address may hold no user name or password");
    this.url = href.replace(/\/+$/, '');
    this.#options = options;
  }

  /** Every record that fits, page by page, in the registry's order. */
  async *list(options: ListOptions = {}): AsyncGenerator<ServerRecord, void> {
    const seen = new Set<string>();
    let read = nothing;
    let cursor: string | undefined;
    do {
      const page: Page = await this.#page(options, cursor);
      yield* readable(page, options);
      read = tallied(read, page);
      cursor = page.nextCursor;
      if (cursor !== undefined && (seen.has(cursor) || isTooMuch(read))) {
        throw new RegistryError(
          'protocol',
          `registry ${this.url} lists without end: after ${read.records} records it gave ${JSON.stringify(cursor)} as next`,
        );
      }
      seen.add(cursor ?? '');
    } while (cursor !== undefined);
  }

  async listAll(options: ListOptions = {}): Promise<ServerRecord[]> {
    return Array.fromAsync(this.list(options));
  }

  /** Undefined when there is no such record, or it is deleted and that was not asked for. */
  async getVersion(name: string, version: string, options: ReadOptions = {}): Promise<ServerRecord | undefined> {
    const path = `${versionPath(name, version)}${queryOf({ include_deleted: options.includeDeleted })}`;
    return unlessNotFound(this.#read({ path, action: `read ${name}@${version}`, signal: options.signal }, readRecord));
  }

  /** All versions of a name, published last first; none when the name is unknown. A record of another name counts as unreadable. */
  async versions(name: string, options: ReadOptions = {}): Promise<readonly ServerRecord[]> {
    const path = `${versionsPath(name)}${queryOf({ include_deleted: options.includeDeleted })}`;
    const page = await unlessNotFound(this.#read({ path, action: `list versions of ${name}`, signal: options.signal }, readPage));
    if (page === undefined) return [];
    const strays = page.records.filter(({ server }) => server.name !== name).map(({ server }) => strayRecord(server));
    const own = page.records.filter(({ server }) => server.name === name);
    return readable({ records: own, unreadable: [...page.unreadable, ...strays] }, options);
  }

  /** Publishes a new version. @throws RegistryError `duplicate`, `invalid` (with faults), `forbidden`, … */
  async publish(document: ServerJson, options: CallOptions = {}): Promise<ServerRecord> {
    const action = `publish ${document.name}@${document.version}`;
    return this.#writeDocument(document, { method: 'POST', path: '/publish', body: document, action, signal: options.signal });
  }

  /** Replaces the document of a version that is not deleted. */
  async edit(document: ServerJson, options: CallOptions = {}): Promise<ServerRecord> {
    const { name, version } = document;
    const action = `edit ${name}@${version}`;
    return this.#writeDocument(document, {
      method: 'PUT',
      path: versionPath(name, version),
      body: document,
      action,
      signal: options.signal,
    });
  }

  /** @throws RegistryError `no-change` when the record already has this status and message */
  async setStatus(change: StatusChange, options: CallOptions = {}): Promise<ServerRecord> {
    const { name, version, status, message } = change;
    const body = { status, ...(message === undefined ? {} : { statusMessage: message }) };
    const path = `${versionPath(name, version)}/status`;
    return this.#write({ method: 'PATCH', path, body, action: `set ${name}@${version} ${status}`, signal: options.signal });
  }

  /** The registry's own judgement of a document; nothing is stored. */
  async validate(document: unknown, options: CallOptions = {}): Promise<ValidationReport> {
    const call: Call = { method: 'POST', path: '/validate', body: document, action: 'validate a document', signal: options.signal };
    try {
      return understood(await this.#send(call), readReport, this.#describe(call));
    } catch (error) {
      if (error instanceof RegistryError && error.faults !== undefined) return reportOf(error.faults);
      throw error;
    }
  }

  /** Resolves when the registry answers; its health does not include its database. */
  async health(options: CallOptions = {}): Promise<void> {
    await this.#read({ path: '/health', action: 'ask for health', signal: options.signal }, () => undefined);
  }

  async #page(options: ListOptions, cursor: string | undefined): Promise<Page> {
    for (const limit of PAGE_SIZES) {
      const query = queryOf({
        cursor,
        limit,
        include_deleted: options.includeDeleted,
        updated_since: options.updatedSince?.toISOString(),
        search: options.search,
        version: options.version,
      });
      try {
        return await this.#read({ path: `/servers${query}`, action: 'list records', signal: options.signal }, readPage);
      } catch (error) {
        if (!(error instanceof AnswerTooLarge) || limit === PAGE_SIZES.at(-1)) throw error;
      }
    }
    throw new RegistryError('protocol', 'no page size is left to try');
  }

  async #read<T>(asked: Pick<Call, 'path' | 'action' | 'signal'>, reader: Reader<T>): Promise<T> {
    const call: Call = { ...asked, method: 'GET' };
    for (let attempt = 1; ; attempt += 1) {
      try {
        return understood(await this.#send(call), reader, this.#describe(call));
      } catch (error) {
        const wait = waitBeforeRetry(error, attempt);
        if (wait === undefined) throw error;
        await (this.#options.sleep ?? sleep)(wait, call.signal);
      }
    }
  }

  async #writeDocument(document: ServerJson, call: Call): Promise<ServerRecord> {
    try {
      return await this.#write(call);
    } catch (error) {
      // The official registry keeps the reasons for its `/validate`.
      if (!(error instanceof RegistryError) || error.code !== 'invalid' || error.faults !== undefined) throw error;
      const report = await this.validate(document, { signal: call.signal }).catch(() => undefined);
      throw withFaults(error, report);
    }
  }

  async #write(call: Call): Promise<ServerRecord> {
    const { tokens } = this.#options;
    if (tokens === undefined) {
      throw new RegistryError('unauthorized', `${this.#describe(call)}: writing needs a token, and none is configured`);
    }
    const answer = await this.#send(call, await this.#token(call, () => tokens.token()));
    if (answer.status !== 401) return understood(answer, readRecord, this.#describe(call));
    // A refused token means that nothing was written: the one case in which a write may be sent again.
    const renewed = await this.#token(call, () => tokens.renew());
    return understood(await this.#send(call, renewed), readRecord, this.#describe(call));
  }

  async #token(call: Call, make: () => Promise<string>): Promise<string> {
    return make().catch((cause: unknown) => {
      const why = messageOf(cause);
      throw new RegistryError('unauthorized', `${this.#describe(call)}: no token could be made: ${why}`, { cause });
    });
  }

  #send({ method, path, body, signal }: Call, token?: string): Promise<Answer> {
    const { timeoutMs = DEFAULT_TIMEOUT_MS, dispatcher } = this.#options;
    return exchange({ method, url: `${this.url}/v0.1${path}`, body, token, signal }, { timeoutMs, dispatcher });
  }

  #describe({ action }: Call): string {
    return `${action} at ${this.url}`;
  }
}

/** A request below `/v0.1`, and what it is for, in words. */
interface Call {
  readonly method: Exchange['method'];
  readonly path: string;
  readonly body?: unknown;
  readonly action: string;
  readonly signal?: AbortSignal | undefined;
}

type Reader<T> = (body: unknown, characters: number) => T;

/** What a 2xx answer says. @throws RegistryError for any other, and for one that cannot be read */
function understood<T>({ status, body, characters, retryAfterMs }: Answer, reader: Reader<T>, action: string): T {
  if (status < 200 || status > 299) throw refusalOf({ status, body, retryAfterMs, action });
  if (body === undefined) throw new RegistryError('protocol', `${action}: the answer is not JSON, or cut off`, { status });
  try {
    return reader(body, characters);
  } catch (cause) {
    throw cause instanceof RegistryError ? new RegistryError(cause.code, `${action}: ${cause.message}`, { status, cause }) : cause;
  }
}

function readable({ records, unreadable }: Pick<Page, 'records' | 'unreadable'>, { onUnreadable }: ReadOptions): readonly ServerRecord[] {
  if (onUnreadable !== undefined) unreadable.forEach(onUnreadable);
  return records;
}

/** Milliseconds until a failed read may be tried again; undefined when it should not be. */
function waitBeforeRetry(error: unknown, attempt: number): number | undefined {
  if (!(error instanceof RegistryError) || attempt >= READ_TRIES) return undefined;
  if (error.code !== 'unavailable' && error.code !== 'rate-limited') return undefined;
  const wait = error.retryAfterMs ?? FIRST_WAIT_MS * 2 ** (attempt - 1);
  return wait <= LONGEST_WAIT_MS ? wait : undefined;
}

async function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await delay(ms, undefined, signal === undefined ? {} : { signal }).catch((error: unknown) => {
    throw signal?.aborted === true ? signal.reason : error;
  });
}

async function unlessNotFound<T>(answer: Promise<T>): Promise<T | undefined> {
  return answer.catch((error: unknown) => {
    if (error instanceof RegistryError && error.code === 'not-found') return undefined;
    throw error;
  });
}

function withFaults(error: RegistryError, report: ValidationReport | undefined): RegistryError {
  const errors = (report?.issues ?? []).filter(({ severity }) => severity === 'error');
  if (errors.length === 0) return error;
  const faults = errors.map(({ path, message, reference }): Fault => ({ stage: 'semantic', path, message, reference }));
  const listed = faults.map(({ path, message }) => `${path}: ${message}`).join('; ');
  return new RegistryError('invalid', `${error.message}: ${listed}`, {
    cause: error,
    faults,
    ...(error.status === undefined ? {} : { status: error.status }),
  });
}

function reportOf(faults: readonly Fault[]): ValidationReport {
  return {
    valid: false,
    issues: faults.map(({ path, message }) => ({ type: 'schema', path, message, severity: 'error', reference: '' })),
  };
}

function queryOf(parameters: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const given = Object.entries(parameters).flatMap(([key, value]) => (value === undefined ? [] : [[key, String(value)]]));
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
}
