import type { Readiness } from '../../lib/http-host/host.ts';

/**
 * Why a request about a sandbox failed. The first words of what a caller reads, so that a program can tell the cases apart.
 *
 * `not-found` also stands for somebody else's sandbox; `ended` is the caller's own one that is over, with the reason; `not-ready` means
 * that no sandbox can be had at all at present.
 */
export type SandboxErrorCode =
  | 'not-found'
  | 'ended'
  | 'quota'
  | 'not-ready'
  | 'start-timeout'
  | 'busy'
  | 'timeout'
  | 'cancelled'
  | 'invalid'
  | 'too-large'
  | 'no-such-file'
  | 'wrong-kind'
  | 'denied'
  | 'disk-full'
  | 'failed';

/** Thrown by everything that acts on sandboxes. The message says what happened, with which value, and what to do next. */
export class SandboxError extends Error {
  override readonly name = 'SandboxError';
  readonly code: SandboxErrorCode;

  constructor(code: SandboxErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Where a sandbox is placed, in agent-sandbox's words. A machine has one place only and takes any. */
export interface Placement {
  readonly namespace: string;
  readonly warmpool: string;
}

export interface SandboxOrder {
  /** the claim name */
  readonly handle: string;
  /** opaque; kept with the sandbox and given back by `find` and `list` */
  readonly owner: string;
  readonly placement: Placement;
  /** begins when the sandbox is ready: a slow start uses up nothing of it */
  readonly lifetime: Lifetime;
  /** how long the start may take, ms */
  readonly readyTimeoutMs: number;
  readonly signal: AbortSignal;
}

/** When a sandbox ends; all times are ms since 1970. */
export interface Lifetime {
  readonly createdAt: number;
  /** each use moves `shutdownAt` to at least this long after it, ms */
  readonly idleMs: number;
  readonly shutdownAt: number;
}

export interface SandboxInfo {
  readonly handle: string;
  readonly owner: string;
  readonly lifetime: Lifetime;
  /** `ended`: it cannot be used any more; the message says why */
  readonly state: 'starting' | 'ready' | 'ended';
  readonly message: string;
}

/** Told of what a command prints when it prints it, in its order, up to the limit of output. */
export type OnOutput = (stream: 'stdout' | 'stderr', chunk: Uint8Array) => void;

export interface Command {
  /** for bash, or sh where there is none */
  readonly command: string;
  readonly timeoutMs: number;
  /** ends the command and everything it started */
  readonly signal: AbortSignal;
  readonly onOutput?: OnOutput | undefined;
}

export interface CommandResult {
  /** 128 + the signal's number for a command ended by a signal; 124 when `timedOut` */
  readonly exitCode: number;
  /** at most the backend's `outputBytes` of each, of more the beginning and the end; what a timed-out command had written is kept */
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  /** bytes between that beginning and that end, which are gone */
  readonly dropped: { readonly stdout: number; readonly stderr: number };
  readonly timedOut: boolean;
  /** set when a limit of the sandbox, not the command itself, ended it: what happened, in one sentence */
  readonly note?: string;
}

/** How much of `outputBytes` the beginning takes when not all is kept: half of it. The rest is for the end, where errors are told. */
export function headBytes(outputBytes: number): number {
  return Math.ceil(outputBytes / 2);
}

/** How long one file operation may take, and what ends it early. */
export interface FileAccess {
  /** absolute inside the sandbox, or relative to its working directory */
  readonly path: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export interface FileEntry {
  readonly name: string;
  /** bytes */
  readonly size: number;
  readonly type: 'file' | 'directory';
  /** seconds since 1970 */
  readonly modifiedAt: number;
}

export interface FileListing {
  /** by name */
  readonly entries: readonly FileEntry[];
  /** entries in the directory, also those beyond the limit */
  readonly total: number;
}

/** One thing a sandbox is expected to hold against, and whether it does on this machine. */
export interface Guarantee {
  readonly what: string;
  readonly holds: boolean;
  readonly how: string;
}

/** What a caller may know about where code runs. */
export interface BackendDescription {
  readonly backend: string;
  /** `gvisor`, `bubblewrap`, or another RuntimeClass; `none` while no isolation works, and then nothing runs */
  readonly isolation: string;
  readonly languages: readonly { readonly name: string; readonly version: string }[];
  /** undefined where there is none, or none is known */
  readonly limits: {
    readonly memoryBytes: number | undefined;
    readonly diskBytes: number | undefined;
    readonly processes: number | undefined;
    readonly cpus: number | undefined;
    /** of stdout and of stderr */
    readonly outputBytes: number;
    /** of one file up or down */
    readonly fileBytes: number;
  };
  readonly guarantees: readonly Guarantee[];
}

/**
 * Something that runs sandboxes. It keeps who owns each and when it ends, and ends it then; who may do what is decided before it is asked.
 *
 * Every method that takes a handle throws SandboxError `not-found` for one it does not know and `ended` for one that is over.
 */
export interface SandboxBackend {
  ready(): Readiness;
  describe(): BackendDescription;
  /**
   * The sandbox is listed from the moment of the call on and resolved when commands can run in it.
   * An order for a handle that is there already waits for that one.
   * @throws SandboxError `not-ready`, `quota`, `start-timeout`, `cancelled`, `failed`, `invalid` for a place that is not there for callers, `ended` when it was deleted
   * meanwhile; nothing is left behind then
   */
  create(order: SandboxOrder): Promise<SandboxInfo>;
  find(handle: string): Promise<SandboxInfo | undefined>;
  /** all sandboxes that take up room: not those that ended */
  list(): Promise<readonly SandboxInfo[]>;
  /** Moves the end of a sandbox. */
  renew(handle: string, shutdownAt: number): Promise<void>;
  /** Resolves when nothing of the sandbox is left. */
  delete(handle: string): Promise<void>;
  /** @throws SandboxError `busy`, `ended`, `cancelled` */
  execute(handle: string, command: Command): Promise<CommandResult>;
  /** Creates missing directories. @throws SandboxError `denied`, `wrong-kind`, `disk-full`, `timeout` */
  writeFile(handle: string, access: FileAccess, content: Uint8Array): Promise<void>;
  /** @throws SandboxError `no-such-file`, `wrong-kind`, `too-large`, `denied`, `timeout` */
  readFile(handle: string, access: FileAccess): Promise<Uint8Array>;
  /** @throws SandboxError `no-such-file`, `wrong-kind`, `denied`, `timeout` */
  listFiles(handle: string, access: FileAccess, maxEntries: number): Promise<FileListing>;
  fileExists(handle: string, access: FileAccess): Promise<boolean>;
  /**
   * Lets go of everything that this process holds. Sandboxes that live in it end, and nothing is left of them when this resolves; those that
   * live in a cluster go on, for whichever server is asked next.
   */
  close(): Promise<void>;
}
