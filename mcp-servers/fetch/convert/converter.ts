import { WorkerPool } from './pool.ts';
import type { Conversion, Converted } from './conversion.ts';

export interface ConverterOptions {
  /** workers kept ready for conversions */
  readonly warm: number;
  /** conversions at once */
  readonly most: number;
  /** heap of one worker, MiB */
  readonly memoryMb: number;
}

/** Turns bytes of pages into text, away from the main thread, which goes on answering. */
export class Converter {
  readonly #pool: WorkerPool<Conversion, Converted>;

  constructor({ warm, most, memoryMb }: ConverterOptions) {
    this.#pool = new WorkerPool({
      script: new URL('./worker.ts', import.meta.url),
      warm,
      most,
      limits: { maxOldGenerationSizeMb: memoryMb },
    });
  }

  /**
   * A page that exhausts its worker's time or memory on the way to its article is converted again, in the way that never takes long.
   * @param articleMs time for finding the article before its plain text has to do, milliseconds
   * @throws the signal's reason; WorkerDied when even that was too much
   */
  async convert(conversion: Conversion, signal: AbortSignal, articleMs: number): Promise<Converted> {
    if (conversion.to !== 'markdown') return this.#pool.run(conversion, signal);
    try {
      return await this.#pool.run(conversion, signal, articleMs);
    } catch {
      signal.throwIfAborted();
      return this.#pool.run({ ...conversion, to: 'linear' }, signal);
    }
  }

  /** Resolves when a page has been converted. */
  async ready(): Promise<void> {
    const page = {
      bytes: Buffer.from('<p>ready'),
      complete: true,
      kind: 'html',
      charset: undefined,
      base: 'about:blank',
      to: 'markdown',
    } as const;
    await this.#pool.run(page, new AbortController().signal);
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}
