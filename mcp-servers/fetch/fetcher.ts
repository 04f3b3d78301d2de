import type { Dispatcher } from 'undici';
import { DENIED } from '../../lib/address-guard/policy.ts';
import { readBody, type Body, type BodyLimits } from './body.ts';
import type { Conversion, Converted } from './convert/conversion.ts';
import { WorkerDied } from './convert/pool.ts';
import { unchanged, type Document } from './documents.ts';
import { FetchFailure, type FailureCode } from './failure.ts';
import { Hosts, NoTurn } from './hosts.ts';
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

/** How far a page has come. */
export interface Progress {
  readonly stage: 'asking' | 'receiving' | 'converting';
  readonly host: string;
  /** bytes received */
  readonly bytes: number;
  /** bytes announced, if they were */
  readonly total?: number;
}

/** What to fetch, and in whose name: `autonomous` asks the site's robots.txt at each hop; `manual` is a person's own wish. */
export interface Request {
  readonly url: URL;
  /** what was sent, not what it says */
  readonly raw: boolean;
  readonly by: 'autonomous' | 'manual';
}

export interface FetcherOptions {
  /** vets the address of every connection */
  readonly dispatcher: Dispatcher;
  readonly convert: (conversion: Conversion, signal: AbortSignal, endsAt: number) => Promise<Converted>;
  readonly userAgents: Readonly<Record<Request['by'], string>>;
  readonly ignoreRobots: boolean;
  /** time for one page with its redirects, robots.txt and conversion, milliseconds */
  readonly timeoutMs: number;
  readonly limits: BodyLimits;
  /** requests to one host at a time, and the least time between their starts, milliseconds */
  readonly perHost: { readonly atOnce: number; readonly delayMs: number };
  /** what to do about a refused address */
  readonly remedy: (url: URL) => string;
  readonly metrics: FetchMetrics;
}

export interface Downloading {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
  /** what is here already, and what to ask the site whether it has changed */
  readonly stale?: { readonly document: Document; readonly conditions: Readonly<Record<string, string>> } | undefined;
}

/** What became of a download, a failure that was to be expected included. */
export type Downloaded = { readonly wireBytes: number; readonly status?: number; readonly href?: string } & (
  { readonly ok: true; readonly document: Document; readonly revalidated: boolean } | { readonly ok: false; readonly failure: FetchFailure }
);

/** What is known of one download while it goes on. */
interface Facts {
  status?: number;
  /** where its redirects led */
  href?: string;
  wireBytes: number;
}

/** What a download works within. */
interface Frame extends Request, Downloading {
  readonly facts: Facts;
  /** when the deadline is, by `performance.now()` */
  readonly endsAt: number;
}

/** Bodies of full size that one process holds at once. */
const FULL_BODIES = 16;

/** Of a Content-Type no more is shown, characters. */
const MAX_TYPE_LENGTH = 256;

const NOT_SIMPLIFIED = '<error>Page failed to be simplified from HTML</error>';

/** Fetches one page at a time from its site: robots, turns, redirects, limits, decoding, conversion, all within one deadline. */
export class Fetcher {
  readonly #options: FetcherOptions;
  readonly #hosts: Hosts;
  readonly #robots: RobotsGate;
  readonly #memory: BodyMemory;

  constructor(options: FetcherOptions) {
    const { dispatcher, metrics, perHost, userAgents, limits } = options;
    this.#options = options;
    this.#hosts = new Hosts({ ...perHost, onWaiting: (count) => metrics.waiting(count), onTurn: (ms) => metrics.turn(ms) });
    const turns = this.#hosts;
    this.#robots = new RobotsGate({ get: (url, o) => get(dispatcher, url, { ...o, turns }), userAgent: userAgents.autonomous });
    this.#memory = new BodyMemory(FULL_BODIES * limits.decodedBytes);
  }

  /** @throws the signal's reason, and what should not happen */
  async fetch(request: Request, downloading: Downloading): Promise<Downloaded> {
    const { timeoutMs, metrics } = this.#options;
    const deadline = AbortSignal.timeout(Math.ceil(timeoutMs));
    const facts: Facts = { wireBytes: 0 };
    const signal = AbortSignal.any([downloading.signal, deadline]);
    const frame: Frame = { ...request, ...downloading, signal, facts, endsAt: performance.now() + timeoutMs };
    const ended = metrics.downloading();
    try {
      const fetched = await this.#page(frame);
      return { ok: true, ...fetched, ...facts };
    } catch (error) {
      downloading.signal.throwIfAborted();
      return { ok: false, failure: this.#explained(error, request.url, deadline.aborted), ...facts };
    } finally {
      ended();
    }
  }

  async #page(frame: Frame): Promise<{ document: Document; revalidated: boolean }> {
    const { url, facts, stale } = frame;
    frame.onProgress({ stage: 'asking', host: url.host, bytes: 0 });
    const answer = await this.#ask(frame);
    facts.status = answer.status;
    if (answer.url.href !== url.href) facts.href = answer.url.href;
    if (stale !== undefined && answer.status === 304) {
      answer.body.destroy();
      const document = unchanged(stale.document, answer.trail);
      return document === undefined ? this.#page({ ...frame, stale: undefined }) : { document, revalidated: true };
    }
    if (answer.status >= 400) {
      answer.body.destroy();
      const advice = this.#hosts.advice(answer.url);
      throw new FetchFailure('status', `Failed to fetch ${url.href} - status code ${answer.status}${advice}`);
    }
    return { document: await this.#document(answer, frame), revalidated: false };
  }

  #ask({ url, by, signal, stale }: Frame): Promise<Answer> {
    const { dispatcher, userAgents, ignoreRobots } = this.#options;
    const href = stale?.document.trail.at(-1)?.href;
    const options: GetOptions = {
      userAgent: userAgents[by],
      signal,
      turns: this.#hosts,
      ...(by === 'autonomous' && !ignoreRobots && { beforeHop: (hop) => this.#robots.check(hop, signal) }),
      ...(stale !== undefined && href !== undefined && { conditions: { href, headers: stale.conditions } }),
    };
    return get(dispatcher, url, options);
  }

  async #document(answer: Answer, frame: Frame): Promise<Document> {
    const { url, facts } = frame;
    const memory = this.#memory.open(url);
    try {
      const { body, content } = await this.#read(answer, memory.reserve, frame);
      facts.wireBytes = body.wireBytes;
      if (content.kind === 'binary') throw new FetchFailure('binary', binaryText(url, content, sizeOf(answer, body)));
      frame.onProgress({ stage: 'converting', host: answer.url.host, bytes: body.wireBytes });
      const { page, lasting } = await this.#shown({ answer, body, content: { ...content, kind: content.kind } }, frame);
      return { page, lasting, trail: answer.trail, status: answer.status };
    } finally {
      memory.close();
    }
  }

  async #read(answer: Answer, reserve: (bytes: number) => void, { onProgress }: Frame): Promise<{ body: Body; content: Content }> {
    const contentType = answer.header('content-type');
    const total = announced(answer);
    let content: Content | undefined;
    const accepts = (head: Buffer): boolean => {
      content = contentOf(head, contentType);
      return content.kind !== 'binary';
    };
    const received = (bytes: number): void =>
      onProgress({ stage: 'receiving', host: answer.url.host, bytes, ...(total !== undefined && { total }) });
    const body = await readBody(answer.body, answer.header('content-encoding') ?? '', this.#options.limits, { accepts, reserve, received });
    this.#options.metrics.read(body);
    return { body, content: content ?? contentOf(body.bytes, contentType) };
  }

  async #shown({ answer, body, content }: Received, { raw, signal, endsAt }: Frame): Promise<{ page: Page; lasting: boolean }> {
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
    // how far a conversion comes before it is cut short depends on what else this machine does
    return { page: { text: `${shown}${cutNote(body)}`, prefix }, lasting: method !== 'linear' };
  }

  #explained(error: unknown, url: URL, late: boolean): FetchFailure {
    if (error instanceof FetchFailure) return error;
    if (error instanceof HopRefused) return new FetchFailure('refused', this.#refusal(error), { cause: error });
    if (error instanceof NoTurn) {
      return new FetchFailure(codeOf[error.why], `Failed to fetch ${url.href}: ${error.message}`, { cause: error });
    }
    if (late) {
      const seconds = this.#options.timeoutMs / 1000;
      return new FetchFailure('unreachable', `Failed to fetch ${url.href}: ReadTimeout('not finished within ${seconds} s')`);
    }
    if (error instanceof WorkerDied) {
      return new FetchFailure('conversion', `Failed to fetch ${url.href}: the page is too much for its converter`, { cause: error });
    }
    const problem = problemOf(error);
    return new FetchFailure('unreachable', `Failed to fetch ${url.href}: ${problem.message}`, { cause: problem });
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
}

const codeOf: Readonly<Record<NoTurn['why'], FailureCode>> = { resting: 'resting', crowded: 'busy', late: 'busy' };

function cutNote({ cut, bytes }: Body): string {
  return cut === undefined
    ? ''
    : `\n\n<error>The page is larger than this server reads; only its first ${bytes.length} bytes are here.</error>`;
}

function binaryText(url: URL, { type }: Content, size: string): string {
  return `Failed to fetch ${url.href}: the content is ${printable(type, MAX_TYPE_LENGTH)} (${size}), which cannot be shown as text`;
}

function sizeOf(answer: Answer, { bytes, cut }: Body): string {
  const total = announced(answer);
  if (answer.header('content-encoding') === undefined && total !== undefined) return `${total} bytes`;
  return cut === undefined ? `${bytes.length} bytes` : 'of unknown size';
}

/** The Content-Length, bytes as sent. */
function announced(answer: Answer): number | undefined {
  const length = Number(answer.header('content-length'));
  return Number.isSafeInteger(length) && length > 0 ? length : undefined;
}
