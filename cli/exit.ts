/** What the command's exit code tells a script. The same list is printed by `toolyard --help`. */
export const exit = {
  done: 0,
  no: 1,
  usage: 2,
  notFound: 3,
  unreachable: 4,
  inUse: 5,
} as const;

export type ExitCode = (typeof exit)[keyof typeof exit];

export const exitHelp = `Exit codes:
  0  done
  1  no: faults found, not published, a tool reported an error, no start
  2  wrong usage: an option, an argument or a setting
  3  not found: no such record, tool, file or directory
  4  not reachable: the registry or a server did not answer
  5  in use: a port or the state directory is held by another process`;

/** An end that the user can do something about: what happened and with which value, what belongs to it, what to do about it. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly code: ExitCode;
  /** one line each */
  readonly details: readonly string[];
  readonly next: string | undefined;

  constructor(code: ExitCode, message: string, options: { details?: readonly string[]; next?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.code = code;
    this.details = options.details ?? [];
    this.next = options.next;
  }
}
