import { startChild, type Child } from '../differential/official/child.ts';

export interface ProgramOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** A program that is ended and started again, as often as a test likes, and that should never end by itself. */
export class Program {
  readonly name: string;
  readonly #options: ProgramOptions;
  #child: Child | undefined;

  constructor(name: string, options: ProgramOptions) {
    this.name = name;
    this.#options = options;
  }

  get pid(): number {
    return this.#child?.process.pid ?? 0;
  }

  /** the end of its output, for messages */
  said(): string {
    return this.#child?.said() ?? '';
  }

  /** Starts it, and waits for nothing. */
  start(): void {
    const { command, args, env } = this.#options;
    this.#child = startChild(command, args, { env: { ...env } });
  }

  /** Ends it at once, as a crash, the kernel short of memory or a lost node do. */
  async kill(): Promise<void> {
    this.#expectRunning();
    await this.#child?.stop('SIGKILL');
    this.#child = undefined;
  }

  async stop(): Promise<void> {
    await this.#child?.stop('SIGTERM');
    this.#child = undefined;
  }

  /** @throws Error with what it said, when it ended by itself */
  #expectRunning(): void {
    const wrong = this.wrong();
    if (wrong !== undefined) throw new Error(wrong);
  }

  /** undefined while it runs, and after it was told to end */
  wrong(): string | undefined {
    const { exitCode, signalCode } = this.#child?.process ?? {};
    if ((exitCode ?? signalCode ?? null) === null) return undefined;
    return `${this.name} ended by itself (${String(exitCode ?? signalCode)}): ${this.said()}`;
  }
}
