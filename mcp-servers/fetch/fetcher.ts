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
import { RobotsGate } from './robots-gate.ts';
import { announced, imagePage, planFor, textPage, unshowable, type Page, type Received } from './shown.ts';

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
  /** largest image that is shown, bytes */
  readonly imageBytes: number;
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
  | { readonly ok: true; readonly document: Document; readonly revalidated: boolean }
  | { readonly ok: false; readonly failure: FetchFailure }
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

/** Some sites have their pages as Markdown too, for those who ask for it first. */
const PREFERRED = 'text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, */*;q=0.8';

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

  #ask({ url, raw, by, signal, stale }: Frame): Promise<Answer> {
    const { dispatcher, userAgents, ignoreRobots } = this.#options;
    const href = stale?.document.trail.at(-1)?.href;
    const options: GetOptions = {
      userAgent: userAgents[by],
      signal,
      accept: raw ? '*/*' : PREFERRED,
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
      const { page, lasting } = await this.#shown({ asked: url, answer, body, content, raw: frame.raw }, frame);
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

  async #shown(received: Received, { signal, endsAt, onProgress }: Frame): Promise<{ page: Page; lasting: boolean }> {
    const { convert, imageBytes, metrics } = this.#options;
    const plan = planFor(received);
    if (plan.do === 'refuse') throw unshowable(received);
    if (plan.do === 'image') return { page: imagePage(received, imageBytes), lasting: true };
    onProgress({ stage: 'converting', host: received.answer.url.host, bytes: received.body.wireBytes });
    const converted = await convert(plan.conversion, signal, endsAt);
    metrics.converted(converted.method);
    // how far a conversion comes before it is cut short depends on what else this machine does
    return { page: textPage(received, converted), lasting: converted.method !== 'linear' };
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

const codeOf: Readonly<Record<NoTurn['why'], FailureCode>> = { resting: 'resting', crowded: 'busy', late: 'busy' };
