import type { FileListing } from '../backend.ts';

/**
 * Why the runtime inside a sandbox did not do what it was asked.
 *
 * `refused`: no connection, so nothing was sent. `lost`: the connection broke, and it is not known how far it had come. `protocol`: it
 * answered with what nobody asked for, or with too much. `answered`: it said no, in its own words.
 */
export type RuntimeFaultCode = 'refused' | 'lost' | 'protocol' | 'answered';

export class RuntimeFault extends Error {
  override readonly name = 'RuntimeFault';
  readonly code: RuntimeFaultCode;
  /** HTTP status of an answer about a file */
  readonly status: number | undefined;

  constructor(code: RuntimeFaultCode, message: string, options: { status?: number; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.code = code;
    this.status = options.status;
  }
}

export interface Program {
  /** run as it is, without a shell; starts in the workspace */
  readonly argv: readonly string[];
  /** all that it can read; then its input is over */
  readonly input: Uint8Array;
  /** ends it, softly at first */
  readonly signal: AbortSignal;
  readonly onOutput: (stream: 'stdout' | 'stderr', bytes: Uint8Array) => void;
}

export interface FileCall {
  /** absolute, below the workspace */
  readonly path: string;
  readonly signal: AbortSignal;
}

/**
 * The service inside one sandbox's pod. A guest may have taken its place: nothing it says is believed beyond that sandbox, and everything it
 * sends is bounded. No call is ever sent twice. Every method throws RuntimeFault, or the signal's reason.
 */
export interface Runtime {
  /** A connection is open, so this still is the runtime that it was opened to, whoever has its address by now. */
  readonly alive: boolean;
  /** Opens a connection, trying again while it is refused. */
  connect(signal: AbortSignal): Promise<void>;
  /** @returns its exit code, 128 + the signal's number when a signal ended it */
  run(program: Program): Promise<number>;
  /** @returns undefined for a directory; at most `maxBytes` + 1 bytes of a file that has more */
  readFile(call: FileCall, maxBytes: number): Promise<Uint8Array | undefined>;
  /** Makes missing directories. */
  writeFile(call: FileCall, content: Uint8Array): Promise<void>;
  /** By name. @returns undefined for what is no directory */
  listFiles(call: FileCall, maxEntries: number): Promise<FileListing | undefined>;
  fileExists(call: FileCall): Promise<boolean>;
  close(): void;
}
