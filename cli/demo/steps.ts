import { CliError, exit } from '../exit.ts';
import { safe, type Terminal } from '../terminal.ts';

/** Numbers and times the steps of the demo, and prints what each of them found. */
export class Steps {
  readonly #terminal: Terminal;
  readonly #interrupted: AbortSignal;
  readonly #startedAt = performance.now();
  #number = 0;

  /** `interrupted` ends the step that runs, with its own reason. */
  constructor(terminal: Terminal, interrupted: AbortSignal) {
    this.#terminal = terminal;
    this.#interrupted = interrupted;
  }

  /** Runs one step; its title is printed when it begins, what it says while it runs below that. */
  async run<T>(title: string, work: (say: (line: string) => void) => Promise<T>): Promise<T> {
    const { paint, live } = this.#terminal;
    this.#number += 1;
    const number = this.#number;
    const since = performance.now();
    const said: string[] = [];
    live?.draw([`${number}  ${title} …`]);
    try {
      this.#interrupted.throwIfAborted();
      const result = await untilAborted(
        work((line) => said.push(safe(line))),
        this.#interrupted,
      );
      this.#print(`${paint.good('✔')} ${number}  ${paint.strong(title)}  ${paint.dim(seconds(since))}`, said);
      this.#terminal.data({ step: number, title, ok: true, ms: Math.round(performance.now() - since), said });
      return result;
    } catch (error) {
      this.#print(`${paint.bad('✖')} ${number}  ${paint.strong(title)}`, said);
      this.#terminal.data({ step: number, title, ok: false, ms: Math.round(performance.now() - since), said });
      throw error;
    }
  }

  done(): void {
    this.#terminal.line(`\nEvery step did what it should, in ${seconds(this.#startedAt)}.`);
    this.#terminal.data({ ok: true, ms: Math.round(performance.now() - this.#startedAt) });
  }

  #print(head: string, said: readonly string[]): void {
    this.#terminal.live?.clear();
    this.#terminal.prose(head, 5);
    for (const line of said) this.#terminal.prose(`       ${line}`);
  }
}

async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** @throws CliError `no` saying what was expected and what came instead */
export function must(holds: boolean, expected: string, got: string): asserts holds {
  if (!holds) throw new CliError(exit.no, `expected ${expected}, got ${got}`);
}

function seconds(since: number): string {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`;
}
