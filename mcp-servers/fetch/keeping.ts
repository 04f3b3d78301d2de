import CachePolicy from 'http-cache-semantics';

/** One exchange on the way to a page: what decides how long its answer may be used. */
export interface Hop {
  readonly href: string;
  readonly status: number;
  /** those that caching depends on, by lower-case name */
  readonly headers: Readonly<Record<string, string>>;
  /** whether cookies or credentials were sent, so that the answer may be for their owner */
  readonly personal: boolean;
}

/** What may be done with a page once it is here. */
export interface Keeping {
  /** who may be given it again: `caller` is only the principal that fetched it */
  readonly for: 'everyone' | 'caller';
  /** how long further calls are answered with it without asking the site, milliseconds */
  readonly freshMs: number;
  /** how long its later parts are taken from it, fresh or not, milliseconds */
  readonly partsMs: number;
  /** what to send so that the site may say that it has not changed; undefined when it cannot */
  readonly conditions: Readonly<Record<string, string>> | undefined;
}

/**
 * Parts of a page belong to one reading of it, as a step back in a browser does (RFC 9111 section 6): freshness does not matter.
 * Where a site forbids storing, a reading is short, and its own caller's.
 */
const PARTS_MS = 300_000;
const UNSTORED_PARTS_MS = 60_000;

const KEPT = ['cache-control', 'pragma', 'expires', 'date', 'age', 'etag', 'last-modified', 'vary', 'set-cookie'];
/** Of each header no more is kept, characters; what is longer is somebody's attempt to fill memory. */
const MAX_HEADER_LENGTH = 512;
/** Said for a cache-control too long to be kept: nothing is stored then. */
const UNREADABLE = 'no-store';

/** What is kept of one response. */
export function hopOf(
  { href }: URL,
  personal: boolean,
  { statusCode, headers }: { statusCode: number; headers: Readonly<Record<string, string | string[] | undefined>> },
): Hop {
  const kept: Record<string, string> = {};
  for (const name of KEPT) {
    const value = [headers[name] ?? []].flat().join(', ');
    if (value.length > MAX_HEADER_LENGTH) kept['cache-control'] = UNREADABLE;
    else if (value !== '') kept[name] = name === 'cache-control' ? value.toLowerCase() : value;
  }
  return { href, status: statusCode, headers: kept, personal };
}

/**
 * How long a page may be used, by RFC 9111 for each hop that led to it: it is as fresh as the least fresh of them, and somebody's own
 * as soon as one is. What a site says is bounded by ours.
 * @param trail redirects and the page, in order; at least one
 */
export function keepingOf(trail: readonly Hop[], maxFreshMs: number): Keeping {
  const shared = !trail.some(isPersonal);
  const kept = { for: shared ? 'everyone' : 'caller' } as const;
  const policies = trail.map((hop) => new CachePolicy({ method: 'GET', headers: {} }, dated(hop), { shared }));
  if (trail.some(forbidsStoring)) return { for: 'caller', freshMs: 0, partsMs: UNSTORED_PARTS_MS, conditions: undefined };
  // the age counts in whole seconds, and on with the clock since the lines above
  const freshMs = Math.min(maxFreshMs, ...policies.map((policy) => (policy.maxAge() - Math.round(policy.age())) * 1000));
  return { ...kept, freshMs: Math.max(0, freshMs), partsMs: PARTS_MS, conditions: conditionsFor(trail.at(-1)) };
}

/** After a 304: what it said replaces what was said before (RFC 9111 section 3.2). Undefined when it was about another version. */
export function refreshed(before: Hop, unchanged: Hop): Hop | undefined {
  const [etag, was] = [unchanged.headers['etag'], before.headers['etag']].map((tag) => tag?.replace(/^W\//, ''));
  if (etag !== undefined && etag !== was) return undefined;
  return { ...before, headers: { ...before.headers, ...unchanged.headers }, personal: unchanged.personal };
}

function isPersonal({ headers, personal }: Hop): boolean {
  const privately = /(^|[\s,])private\b/.test(headers['cache-control'] ?? '');
  return personal || privately || headers['set-cookie'] !== undefined || variesWith(headers, ['*', 'cookie', 'authorization']);
}

/** Accept, Accept-Encoding and User-Agent are the same for all requests for one document, and others are never sent. */
function variesWith(headers: Hop['headers'], names: readonly string[]): boolean {
  const vary = (headers['vary'] ?? '').toLowerCase().split(',');
  return vary.some((name) => names.includes(name.trim()));
}

function forbidsStoring({ headers, status }: Hop): boolean {
  return /(^|[\s,])no-store\b/.test(headers['cache-control'] ?? '') || variesWith(headers, ['*']) || status === 304;
}

/** Without a Date a response is from the moment when it arrived (RFC 9110 section 6.6.1). */
function dated({ headers, status }: Hop): { status: number; headers: Hop['headers'] } {
  return { status, headers: { date: new Date().toUTCString(), ...headers } };
}

function conditionsFor(page: Hop | undefined): Keeping['conditions'] {
  const { etag, 'last-modified': modified } = page?.headers ?? {};
  if (etag === undefined && modified === undefined) return undefined;
  return { ...(etag !== undefined && { 'if-none-match': etag }), ...(modified !== undefined && { 'if-modified-since': modified }) };
}
