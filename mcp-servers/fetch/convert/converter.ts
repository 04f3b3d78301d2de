import PQueue from 'p-queue';
import { entryPoint } from '../../../lib/entry-point.ts';
import { WorkerDied, WorkerPool } from './pool.ts';
import type { Conversion, Converted } from './conversion.ts';

export interface ConverterOptions {
  /** workers kept for further conversions */
  readonly keep: number;
  /** conversions at once */
  readonly most: number;
  /** heap of one worker, MiB */
  readonly memoryMb: number;
}

/** Longest that finding a page's article may take, milliseconds; pages of 1 MB take 300. */
const ARTICLE_MS = 8_000;

/** Of that time, a PDF is read for so long; one of its pages more may be read then. */
const READING_SHARE = 0.6;
/** Pages come in bursts; a worker takes a quarter of a second to start, milliseconds. */
const LINGER_MS = 5_000;

/** Turns bytes of pages into text, away from this process, which goes on answering. */
export class Converter {
  readonly #pool: WorkerPool<Conversion, Converted>;
  readonly #queue: PQueue;

  constructor({ keep, most, memoryMb }: ConverterOptions) {
    const script = entryPoint('./worker.ts', 'fetch-worker', import.meta.url);
    this.#pool = new WorkerPool({ script, keep, memoryMb, lingerMs: LINGER_MS });
    this.#queue = new PQueue({ concurrency: most });
  }

  /**
   * A page that exhausts its worker's time or memory on the way to its article is converted again, in the way that never takes long.
   * @param endsAt when the text has to be there, by `performance.now()`
   * @throws the signal's reason, be it before the conversion has started; WorkerDied when even that was too much
   */
  async convert(conversion: Conversion, signal: AbortSignal, endsAt: number): Promise<Converted> {
    return this.#queue.add(() => this.#convert(conversion, signal, endsAt), { signal });
  }

  async #convert(conversion: Conversion, signal: AbortSignal, endsAt: number): Promise<Converted> {
    if (conversion.to === 'text' || conversion.to === 'linear') return this.#pool.run(conversion, signal);
    // so that, should the article not be found in time, there is as much left for the plain text
    const articleMs = Math.min(ARTICLE_MS, Math.max(0, Math.floor((endsAt - performance.now()) / 2)));
    try {
      const inTime = { ...conversion, withinMs: articleMs * READING_SHARE };
      return await this.#pool.run(inTime, AbortSignal.any([signal, AbortSignal.timeout(articleMs)]));
    } catch {
      signal.throwIfAborted();
      if (conversion.to === 'pdf') throw new WorkerDied('the PDF took too long, or too much memory');
      return this.#pool.run({ ...conversion, to: conversion.to === 'feed' ? 'text' : 'linear' }, signal);
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

  close(): void {
    this.#queue.clear();
    this.#pool.close();
  }
}
