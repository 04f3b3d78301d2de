import { LRUCache } from 'lru-cache';
import { readBody, type Body } from './body.ts';
import { FetchFailure } from './failure.ts';
import { NoTurn } from './hosts.ts';
import { HopRefused, type Answer, type GetOptions } from './http.ts';
import { Merged } from './merged.ts';
import { printable } from './printable.ts';
import { parseRobots, productToken, type RobotsRules } from './robots.ts';

/** What a site's robots.txt, or its absence, means for all its pages. */
export type SitePolicy =
  | { readonly is: 'open' }
  | { readonly is: 'ruled'; readonly rules: RobotsRules }
  | { readonly is: 'closed'; readonly why: string };

/** RFC 9309 section 2.5: at least 500 KiB are parsed; what is longer is cut. */
const MAX_BYTES = 512 * 1024;
const MAX_SITES = 1_000;
/** What is remembered of all sites, bytes, roughly: two for a character of their files, and this many for a rule. */
const MAX_CACHED_BYTES = 32 * 1024 * 1024;
const RULE_BYTES = 256;
/** Of a line that forbids no more is quoted, characters. */
const MAX_LINE_LENGTH = 200;
/** How long an answer is good, and how long a missing one, milliseconds. */
const FRESH_MS = 3_600_000;
const RETRY_MS = 60_000;
/** RFC 9309 sections 2.3.1.4 and 2.4: while a site is unreachable, its last answer counts on, for a day. */
const STALE_MS = 86_400_000;
/** Time for a robots.txt with its redirects, milliseconds; then the site counts as unreachable. */
const TIMEOUT_MS = 10_000;

interface SiteAnswer {
  readonly policy: SitePolicy;
  /** false for 5xx and for no answer at all */
  readonly reachable: boolean;
  /** bytes, roughly */
  readonly size: number;
}

interface Known {
  readonly policy: SitePolicy;
  readonly size: number;
  /** when the site last answered with this policy */
  readonly answeredAt: number;
  readonly askAgainAt: number;
}

export interface RobotsGateOptions {
  readonly get: (url: URL, options: GetOptions) => Promise<Answer>;
  readonly userAgent: string;
  /** milliseconds; injected by tests */
  readonly now?: () => number;
}

/** Asks sites whether they want to be fetched by programs (RFC 9309), and remembers their answers. */
export class RobotsGate {
  readonly #options: RobotsGateOptions;
  readonly #token: string;
  readonly #now: () => number;
  readonly #asking = new Merged<SitePolicy>();
  readonly #known = new LRUCache<string, Known>({ max: MAX_SITES, maxSize: MAX_CACHED_BYTES });

  constructor(options: RobotsGateOptions) {
    this.#options = options;
    this.#token = productToken(options.userAgent);
    this.#now = options.now ?? Date.now;
  }

  /** @throws FetchFailure when the site does not want this page fetched; HopRefused; NoTurn; the signal's reason */
  async check(url: URL, signal: AbortSignal): Promise<void> {
    const robotsUrl = new URL(url);
    [robotsUrl.pathname, robotsUrl.search, robotsUrl.hash] = ['/robots.txt', '', ''];
    const policy = await this.#policyOf(robotsUrl, signal);
    if (policy.is === 'open') return;
    if (policy.is === 'closed') throw new FetchFailure('robots', policy.why);
    const verdict = policy.rules.judge(url.pathname + url.search);
    if (!verdict.allow) throw new FetchFailure('robots', this.#disallowed(robotsUrl, url, verdict.rule));
  }

  async #policyOf(robotsUrl: URL, signal: AbortSignal): Promise<SitePolicy> {
    const now = this.#now();
    const known = this.#known.get(robotsUrl.href);
    if (known !== undefined && now < known.askAgainAt) return known.policy;
    return this.#asking.run(robotsUrl.href, { signal }, async (stop) => {
      const learnt = learn(known, await this.#ask(robotsUrl, stop), now);
      this.#known.set(robotsUrl.href, learnt, { size: learnt.size + robotsUrl.href.length });
      return learnt.policy;
    });
  }

  async #ask(robotsUrl: URL, signal: AbortSignal): Promise<SiteAnswer> {
    const patience = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
    try {
      const answer = await this.#options.get(robotsUrl, { userAgent: this.#options.userAgent, signal: patience });
      const text = await textOf(answer);
      const policy = policyFor(answer.status, text, robotsUrl, this.#token);
      return { policy, reachable: answer.status < 500, size: sizeOf(policy, text) };
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof HopRefused || error instanceof NoTurn) throw error;
      const why = `Failed to fetch robots.txt ${robotsUrl.href} due to a connection issue`;
      return { policy: { is: 'closed', why }, reachable: false, size: 0 };
    }
  }

  /** The line that forbids, where the incumbent quotes the whole file; what the assistant does about it is the assistant's business. */
  #disallowed(robotsUrl: URL, url: URL, rule: string): string {
    return (
      `The sites robots.txt (${robotsUrl.href}), specifies that autonomous fetching of this page is not allowed, ` +
      `<useragent>${this.#options.userAgent}</useragent>\n<url>${url.href}</url><robots>\n${printable(rule, MAX_LINE_LENGTH)}\n</robots>\n` +
      'The user can try manually fetching the page by using the fetch prompt within their UI.'
    );
  }
}

/** Rules hold on to the text that they were read from. */
function sizeOf(policy: SitePolicy, text: string): number {
  return policy.is === 'ruled' ? 2 * text.length + RULE_BYTES * policy.rules.count : 0;
}

function learn(known: Known | undefined, { policy, reachable, size }: SiteAnswer, now: number): Known {
  if (reachable) return { policy, size, answeredAt: now, askAgainAt: now + FRESH_MS };
  const askAgainAt = now + RETRY_MS;
  if (known !== undefined && now - known.answeredAt < STALE_MS) return { ...known, askAgainAt };
  return { policy, size, answeredAt: Number.NEGATIVE_INFINITY, askAgainAt };
}

/** 401 and 403 as the incumbent has them, stricter than the RFC; 5xx as the RFC has it, where the incumbent allows. */
export function policyFor(status: number, text: string, robotsUrl: URL, token: string): SitePolicy {
  if (status === 401 || status === 403 || status >= 500) {
    return {
      is: 'closed',
      why: `When fetching robots.txt (${robotsUrl.href}), received status ${status} so assuming that autonomous fetching is not allowed, the user can try manually fetching by using the fetch prompt`,
    };
  }
  return status >= 400 ? { is: 'open' } : { is: 'ruled', rules: parseRobots(text, token) };
}

async function textOf({ status, body, header }: Answer): Promise<string> {
  if (status >= 400) {
    body.destroy();
    return '';
  }
  const limits = { wireBytes: MAX_BYTES, decodedBytes: MAX_BYTES, ratio: Infinity };
  const { bytes, cut }: Body = await readBody(body, header('content-encoding') ?? '', limits);
  const text = bytes.toString('utf8');
  // a rule that was cut in two could forbid, or allow, more than it says
  return cut === undefined ? text : text.slice(0, Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r')) + 1);
}
