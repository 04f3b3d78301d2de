import type { Dispatcher } from 'undici';
import { DENIED } from '../../lib/address-guard/policy.ts';
import { readBody, type Body, type BodyLimits } from './body.ts';
import type { Conversion, Converted } from './convert/conversion.ts';
import { WorkerDied } from './convert/pool.ts';
import { FetchFailure } from './failure.ts';
import { get, HopRefused, problemOf, type Answer, type GetOptions } from './http.ts';
import { contentOf, type Content } from './kind.ts';
import { BodyMemory } from './memory.ts';
import type { FetchMetrics } from './metrics.ts';
import { printable } from './printable.ts';
import { RobotsGate } from './robots-gate.ts';

/** The text of a page, whole; what it is paged into is the tool's business. */
export interface Page {
  readonly text: string;
  /** said before the text of what could not be simplified; else empty */
  readonly prefix: string;
}

export interface PageOptions {
  /** what was sent, not what it says */
  readonly raw: boolean;
  /** `autonomous` asks the site's robots.txt at each hop; `manual` is a person's own wish */
  readonly by: 'autonomous' | 'manual';
  readonly signal: AbortSignal;
}

export interface FetcherOptions {
  /** vets the address of every connection */
  readonly dispatcher: Dispatcher;
  readonly convert: (conversion: Conversion, signal: AbortSignal, endsAt: number) => Promise<Converted>;
  readonly userAgents: Readonly<Record<PageOptions['by'], string>>;
  readonly ignoreRobots: boolean;
  /** time for one page with its redirects, robots.txt and conversion, milliseconds */
  readonly timeoutMs: number;
  readonly limits: BodyLimits;
  /** what to do about a refused address */
  readonly remedy: (url: URL) => string;
  readonly metrics: FetchMetrics;
}

/** Bodies of full size that one process holds at once. */
const FULL_BODIES = 16;

/** Of a Content-Type no more is shown, characters. */
const MAX_TYPE_LENGTH = 256;

const NOT_SIMPLIFIED = '<error>Page failed to be simplified from HTML</error>';

/** Fetches one page: robots, redirects, limits, decoding, conversion, all within one deadline. */
export class Fetcher {
  readonly #options: FetcherOptions;
  readonly #robots: RobotsGate;
  readonly #memory: BodyMemory;

  constructor(options: FetcherOptions) {
    this.#options = options;
    this.#robots = new RobotsGate({ get: (url, o) => get(options.dispatcher, url, o), userAgent: options.userAgents.autonomous });
    this.#memory = new BodyMemory(FULL_BODIES * options.limits.decodedBytes);
  }

  /** @throws FetchFailure; the signal's reason when the caller left */
  async page(url: URL, options: PageOptions): Promise<Page> {
    const { timeoutMs, metrics } = this.#options;
    const deadline = AbortSignal.timeout(Math.ceil(timeoutMs));
    const endsAt = performance.now() + timeoutMs;
    try {
      const page = await this.#page(url, { ...options, signal: AbortSignal.any([options.signal, deadline]), endsAt });
      metrics.page('ok');
      return page;
    } catch (error) {
      options.signal.throwIfAborted();
      const failure = this.#explained(error, url, deadline.aborted);
      metrics.page(failure.code);
      throw failure;
    }
  }

  async #page(url: URL, { raw, by, signal, endsAt }: PageOptions & { readonly endsAt: number }): Promise<Page> {
    const { dispatcher, userAgents, ignoreRobots } = this.#options;
    const common: GetOptions = { userAgent: userAgents[by], signal };
    const asking = by === 'autonomous' && !ignoreRobots;
    const answer = await get(dispatcher, url, asking ? { ...common, beforeHop: (hop) => this.#robots.check(hop, signal) } : common);
    if (answer.status >= 400) {
      answer.body.destroy();
      throw new FetchFailure('status', `Failed to fetch ${url.href} - status code ${answer.status}`);
    }
    const memory = this.#memory.open(url);
    try {
      const { body, content } = await this.#read(answer, memory.reserve);
      if (content.kind === 'binary') throw new FetchFailure('binary', binaryText(url, content, sizeOf(answer, body)));
      return await this.#shown({ answer, body, content: { ...content, kind: content.kind }, raw, signal, endsAt });
    } finally {
      memory.close();
    }
  }

  async #read(answer: Answer, reserve: (bytes: number) => void): Promise<{ body: Body; content: Content }> {
    const contentType = answer.header('content-type');
    let content: Content | undefined;
    const accepts = (head: Buffer): boolean => {
      content = contentOf(head, contentType);
      return content.kind !== 'binary';
    };
    const body = await readBody(answer.body, answer.header('content-encoding') ?? '', this.#options.limits, { accepts, reserve });
    this.#options.metrics.read(body);
    return { body, content: content ?? contentOf(body.bytes, contentType) };
  }

  async #shown({ answer, body, content, raw, signal, endsAt }: Received): Promise<Page> {
    const { kind, charset } = content;
    const simplified = kind === 'html' && !raw;
    const conversion: Conversion = {
      bytes: body.bytes,
      complete: body.cut === undefined,
      kind,
      charset,
      base: answer.url.href,
      to: simplified ? 'markdown' : 'text',
    };
    const { text, method } = await this.#options.convert(conversion, signal, endsAt);
    this.#options.metrics.converted(method);
    const shown = simplified && text === '' ? NOT_SIMPLIFIED : text;
    const type = printable(answer.header('content-type') ?? '', MAX_TYPE_LENGTH);
    const prefix = simplified ? '' : `Content type ${type} cannot be simplified to markdown, but here is the raw content:\n`;
    return { text: `${shown}${cutNote(body)}`, prefix };
  }

  #explained(error: unknown, url: URL, late: boolean): FetchFailure {
    if (error instanceof FetchFailure) return error;
    if (error instanceof HopRefused) return new FetchFailure('refused', this.#refusal(error), { cause: error });
    if (late) {
      const seconds = this.#options.timeoutMs / 1000;
      return new FetchFailure('unreachable', `Failed to fetch ${url.href}: ReadTimeout('not finished within ${seconds} s')`);
    }
    if (error instanceof WorkerDied) {
      return new FetchFailure('conversion', `Failed to fetch ${url.href}: the page is too much for its converter`, { cause: error });
    }
    return new FetchFailure('unreachable', `Failed to fetch ${url.href}: ${problemOf(error).message}`, { cause: error });
  }

  #refusal({ url, refusal: { host, address, reason } }: HopRefused): string {
    const why =
      reason === DENIED
        ? 'which this server is configured not to fetch from.'
        : `which is not a public address. ${this.#options.remedy(url)}`;
    return `Refused to fetch ${url.href}: ${host} resolves to ${address}, ${why}`;
  }
}

interface Received {
  readonly answer: Answer;
  readonly body: Body;
  readonly content: Content & { readonly kind: Conversion['kind'] };
  readonly raw: boolean;
  readonly signal: AbortSignal;
  /** when the deadline is, by `performance.now()` */
  readonly endsAt: number;
}

function cutNote({ cut, bytes }: Body): string {
  return cut === undefined
    ? ''
    : `\n\n<error>The page is larger than this server reads; only its first ${bytes.length} bytes are here.</error>`;
}

function binaryText(url: URL, { type }: Content, size: string): string {
  return `Failed to fetch ${url.href}: the content is ${printable(type, MAX_TYPE_LENGTH)} (${size}), which cannot be shown as text`;
}

function sizeOf(answer: Answer, { bytes, cut }: Body): string {
  const announced = Number(answer.header('content-length'));
  if (answer.header('content-encoding') === undefined && Number.isSafeInteger(announced) && announced > 0) return `${announced} bytes`;
  return cut === undefined ? `${bytes.length} bytes` : 'of unknown size';
}
