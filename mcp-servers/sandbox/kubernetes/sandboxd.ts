import { setTimeout as delay } from 'node:timers/promises';
import { Code, ConnectError, createClient, type Client } from '@connectrpc/connect';
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node';
import { Pool, type Dispatcher } from 'undici';
import { z } from 'zod';
import { gather } from '../../../lib/bytes.ts';
import { messageOf } from '../../../lib/error-message.ts';
import { parseJson } from '../../../lib/json.ts';
import type { FileListing } from '../backend.ts';
import { WORKSPACE } from '../shell.ts';
import { ProcessService, Signal, type StartResponse } from './process_pb.ts';
import { RuntimeFault, type FileCall, type Program, type Runtime } from './runtime.ts';

export interface SandboxdPorts {
  readonly grpc: number;
  readonly rest: number;
}

/** Where upstream's service listens. */
export const sandboxdPorts: SandboxdPorts = { grpc: 9090, rest: 8080 };

const CONNECT_TIMEOUT_MS = 2_000;
const CONNECT_AGAIN_MS = 25;
/** One piece of output: the service sends 4 KiB at a time. */
const MAX_MESSAGE_BYTES = 256 * 1024;
/** What a program may print before it is ended: it is read and counted here, whoever wants it. */
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
const MESSAGE_COST_BYTES = 64;
/** Time a program gets to end when told to, before the connection to it is given up. */
const STOP_GRACE_MS = 3_000;
const PING_INTERVAL_MS = 10_000;
/** A guest that uses up its processors keeps the runtime from answering for a while. */
const PING_TIMEOUT_MS = 30_000;
const IDLE_CONNECTION_MS = 120_000;
/** No file is this slow to open, except a pipe that waits for its other end. */
const FILE_ANSWER_MS = 5_000;
const FILE_CONNECTIONS = 16;
const MAX_HEADER_BYTES = 8 * 1024;
const MAX_REFUSAL_BYTES = 4 * 1024;
const MAX_LISTING_BYTES = 8 * 1024 * 1024;
const SIGKILL = 9;

/** agent-sandbox's `sandboxd` 0.5.6 and later: programs over gRPC, files over HTTP, both without encryption or credentials. */
export class Sandboxd implements Runtime {
  readonly #session: Http2SessionManager;
  readonly #processes: Client<typeof ProcessService>;
  readonly #files: Pool;

  constructor(address: string, ports: SandboxdPorts = sandboxdPorts) {
    const host = address.includes(':') ? `[${address}]` : address;
    const baseUrl = `http://${host}:${ports.grpc}`;
    this.#session = new Http2SessionManager(
      baseUrl,
      {
        pingIntervalMs: PING_INTERVAL_MS,
        pingTimeoutMs: PING_TIMEOUT_MS,
        idleConnectionTimeoutMs: IDLE_CONNECTION_MS,
        connectTimeoutMs: CONNECT_TIMEOUT_MS,
      },
      { maxSessionMemory: 10, settings: { enablePush: false } },
    );
    const transport = createGrpcTransport({
      baseUrl,
      sessionManager: this.#session,
      readMaxBytes: MAX_MESSAGE_BYTES,
      // what is small when it comes stays small
      acceptCompression: [],
    });
    this.#processes = createClient(ProcessService, transport);
    this.#files = new Pool(`http://${host}:${ports.rest}`, {
      connections: FILE_CONNECTIONS,
      connect: { timeout: CONNECT_TIMEOUT_MS },
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: FILE_ANSWER_MS,
    });
  }

  get alive(): boolean {
    const state = this.#session.state();
    return state === 'open' || state === 'idle' || state === 'verifying';
  }

  async connect(signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      const [health, session] = await Promise.all([this.#healthy(signal), this.#session.connect()]);
      if (health === undefined && session !== 'error') return;
      signal.throwIfAborted();
      await delay(CONNECT_AGAIN_MS, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }

  async run({ argv, input, signal, onOutput }: Program): Promise<number> {
    signal.throwIfAborted();
    await this.#open();
    const giveUp = new AbortController();
    const stopping = new Stopping(signal, giveUp, (id) => this.#signal(id));
    const output = new Output(onOutput);
    try {
      const events = this.#processes.start({ config: { command: [...argv] } }, { signal: giveUp.signal });
      return await outcomeOf(events, output, (id) => {
        stopping.started(id);
        void this.#feed(id, input);
      });
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw faultOf(error);
    } finally {
      // whoever has not ended by now is given up with the stream
      giveUp.abort();
      stopping.done();
    }
  }

  async readFile(call: FileCall, maxBytes: number): Promise<Uint8Array | undefined> {
    return this.#file('GET', call, {}, async (answer) => {
      if (isDirectory(answer)) return undefined;
      const { body } = answer;
      const pieces: Buffer[] = [];
      let size = 0;
      for await (const piece of body as AsyncIterable<Buffer>) {
        pieces.push(piece);
        size += piece.length;
        if (size > maxBytes) break;
      }
      return Buffer.concat(pieces).subarray(0, maxBytes + 1);
    });
  }

  async writeFile(call: FileCall, content: Uint8Array): Promise<void> {
    await this.#file('PUT', call, { body: content }, async ({ body }) => void (await gather(body, MAX_REFUSAL_BYTES)));
  }

  async listFiles(call: FileCall, maxEntries: number): Promise<FileListing | undefined> {
    return this.#file('GET', call, {}, async (answer) => {
      if (!isDirectory(answer)) return undefined;
      const bytes = await gather(answer.body, MAX_LISTING_BYTES);
      if (bytes === undefined) throw new RuntimeFault('answered', 'the directory has too many entries to list', { status: 413 });
      const listing = listingSchema.safeParse(parseJson(bytes.toString()));
      if (!listing.success) throw new RuntimeFault('protocol', 'the runtime answered with a listing that is none');
      const entries = [...listing.data].sort((a, b) => (a.name < b.name ? -1 : 1));
      return { entries: entries.slice(0, maxEntries), total: entries.length };
    });
  }

  async fileExists(call: FileCall): Promise<boolean> {
    return this.#file('HEAD', call, { absent: true }, async ({ statusCode, body }) => {
      await gather(body, MAX_REFUSAL_BYTES);
      return statusCode !== 404;
    });
  }

  close(): void {
    this.#session.abort();
    void this.#files.destroy();
  }

  /** Nothing was sent yet when this fails. */
  async #open(): Promise<void> {
    if ((await this.#session.connect()) !== 'error') return;
    throw new RuntimeFault('refused', `no connection to the runtime: ${messageOf(this.#session.error())}`);
  }

  /** @returns undefined, or what is wrong */
  async #healthy(signal: AbortSignal): Promise<string | undefined> {
    try {
      const { statusCode, body } = await this.#files.request({ method: 'GET', path: '/v1/health', signal });
      await gather(body, MAX_REFUSAL_BYTES);
      return statusCode === 200 ? undefined : `HTTP ${statusCode}`;
    } catch (error) {
      return messageOf(error);
    }
  }

  /** A program that cannot be given all of its input is ended, if it has not ended by itself. */
  async #feed(processId: number, input: Uint8Array): Promise<void> {
    try {
      if (input.length > 0) await this.#processes.writeStdin({ processId, payload: { case: 'input', value: Uint8Array.from(input) } });
      await this.#processes.writeStdin({ processId, payload: { case: 'eof', value: {} } });
    } catch {
      this.#signal(processId);
    }
  }

  #signal(processId: number): void {
    this.#processes.sendSignal({ processId, signal: Signal.SIGTERM }, { timeoutMs: STOP_GRACE_MS }).catch(() => {});
  }

  async #file<T>(
    method: 'GET' | 'HEAD' | 'PUT',
    { path, signal }: FileCall,
    { body, absent = false }: { body?: Uint8Array; absent?: boolean },
    take: (answer: Dispatcher.ResponseData) => Promise<T>,
  ): Promise<T> {
    try {
      const answer = await this.#files.request({ method, path: filePath(path), signal, ...(body !== undefined && { body }) });
      if (answer.statusCode < 300 || (absent && answer.statusCode === 404)) return await take(answer);
      throw await refusalOf(answer);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw fileFaultOf(error);
    }
  }
}

/** Everything below the workspace is one part of the address: no server on the way takes it apart. */
function filePath(path: string): string {
  return `/v1/files/${encodeURIComponent(path.slice(WORKSPACE.length + 1))}`;
}

function isDirectory({ headers }: Dispatcher.ResponseData): boolean {
  return String(headers['content-type']).startsWith('application/json');
}

const refusalSchema = z.object({ message: z.string() });
const MAX_REASON = 500;

async function refusalOf({ statusCode: status, body }: Dispatcher.ResponseData): Promise<RuntimeFault> {
  const bytes = await gather(body, MAX_REFUSAL_BYTES);
  const said = refusalSchema.safeParse(parseJson(bytes?.toString() ?? ''));
  return new RuntimeFault('answered', said.success ? said.data.message.slice(0, MAX_REASON) : `HTTP ${status}`, { status });
}

const count = z.number().nonnegative().max(Number.MAX_SAFE_INTEGER);
const entrySchema = z
  .object({
    name: z.string().min(1).max(1024),
    size: count,
    type: z.enum(['file', 'directory']),
    /** sandboxd */
    modified_at: z.iso.datetime({ offset: true }).optional(),
    /** the older Python runtime's way */
    mod_time: z.number().optional(),
  })
  .transform(({ name, size, type, modified_at: at, mod_time: seconds }) => ({
    name,
    size,
    type,
    modifiedAt: at === undefined ? (seconds ?? 0) : Date.parse(at) / 1000,
  }));
const listingSchema = z.union([
  z.array(entrySchema),
  z.object({ entries: z.array(entrySchema).nullish() }).transform(({ entries }) => entries ?? []),
]);

/** Counts what a program prints, until it is too much to go on. */
class Output {
  readonly #onOutput: Program['onOutput'];
  #bytes = 0;

  constructor(onOutput: Program['onOutput']) {
    this.#onOutput = onOutput;
  }

  take(stream: 'stdout' | 'stderr', bytes: Uint8Array): void {
    this.count(bytes.length);
    this.#onOutput(stream, bytes);
  }

  /** Small messages cost as well. */
  count(bytes: number): void {
    this.#bytes += Math.max(bytes, MESSAGE_COST_BYTES);
    if (this.#bytes > MAX_OUTPUT_BYTES) throw new OutputFlood();
  }
}

/** More was printed than anybody reads. */
export class OutputFlood extends Error {
  override readonly name = 'OutputFlood';

  constructor() {
    super(`more than ${MAX_OUTPUT_BYTES / 1024 / 1024} MiB were printed`);
  }
}

async function outcomeOf(events: AsyncIterable<StartResponse>, output: Output, onStart: (id: number) => void): Promise<number> {
  let code: number | undefined;
  let started = false;
  for await (const { event } of events) {
    if (code !== undefined) throw new RuntimeFault('protocol', 'the runtime went on after the end of a program');
    if (event.case === 'stdout' || event.case === 'stderr') output.take(event.case, event.value);
    else if (event.case === 'exit') code = event.value.exitCode;
    else if (event.case === 'init' && !started) {
      started = true;
      onStart(event.value.processId);
    } else if (event.case === undefined) output.count(0);
    else throw new RuntimeFault('protocol', 'the runtime said of a program what makes no sense');
  }
  if (code === undefined) throw new RuntimeFault('protocol', 'the runtime ended its answer before the program ended');
  return exitCodeOf(code);
}

/** Before 1.0.7 a program that was ended by a signal had -1, whichever signal it was: killed is what it is most often. */
export function exitCodeOf(code: number): number {
  if (code < 0) return 128 + SIGKILL;
  return code & 0xff;
}

/** Ends one program when the caller wants it: by a signal, and if that does not help by giving up its stream, at which the service kills it. */
class Stopping {
  readonly #signal: AbortSignal;
  readonly #giveUp: AbortController;
  readonly #send: (id: number) => void;
  #id: number | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(signal: AbortSignal, giveUp: AbortController, send: (id: number) => void) {
    this.#signal = signal;
    this.#giveUp = giveUp;
    this.#send = send;
    signal.addEventListener('abort', this.#stop, { once: true });
  }

  started(id: number): void {
    this.#id = id;
    if (this.#signal.aborted) this.#send(id);
  }

  done(): void {
    clearTimeout(this.#timer);
    this.#signal.removeEventListener('abort', this.#stop);
  }

  readonly #stop = (): void => {
    if (this.#id !== undefined) this.#send(this.#id);
    this.#timer = setTimeout(() => this.#giveUp.abort(), STOP_GRACE_MS);
  };
}

function faultOf(error: unknown): unknown {
  if (error instanceof RuntimeFault || error instanceof OutputFlood) return error;
  const { rawMessage, code, metadata } = ConnectError.from(error);
  const message = rawMessage.slice(0, MAX_REASON);
  // only what the service itself sent carries its headers
  if ([...metadata.keys()].length > 0) return new RuntimeFault('answered', message, { cause: error });
  if (code === Code.ResourceExhausted || code === Code.InvalidArgument) return new RuntimeFault('protocol', message, { cause: error });
  return new RuntimeFault('lost', message, { cause: error });
}

function fileFaultOf(error: unknown): unknown {
  if (error instanceof RuntimeFault) return error;
  const { code } = error as NodeJS.ErrnoException;
  const message = messageOf(error);
  if (code === 'ECONNREFUSED' || code === 'UND_ERR_CONNECT_TIMEOUT') return new RuntimeFault('refused', message, { cause: error });
  if (code === 'UND_ERR_HEADERS_TIMEOUT') return new RuntimeFault('answered', 'no answer', { status: 504, cause: error });
  if (code?.startsWith('HPE_') === true || code === 'UND_ERR_HEADERS_OVERFLOW')
    return new RuntimeFault('protocol', message, { cause: error });
  return new RuntimeFault('lost', message, { cause: error });
}
