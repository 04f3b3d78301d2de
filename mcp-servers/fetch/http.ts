import type { Readable } from 'node:stream';
import { errors, request, type Dispatcher } from 'undici';
import { AddressRefused } from '../../lib/address-guard/guard.ts';
import { Cookies } from './cookies.ts';
import { hopOf, type Hop } from './keeping.ts';
import { quoted } from './printable.ts';

/** Longest URL that is requested, characters; servers take 8,000 as a rule. Matching robots rules is linear in it. */
export const MAX_URL_LENGTH = 16_384;

/** Of what went wrong no more is told, characters: a certificate may say anything. */
const MAX_DETAIL_LENGTH = 300;
/** Interim answers (1xx) to one request; a server that sends more keeps us reading without end. */
const MAX_INTERIM = 16;
/** As httpx, which the incumbent uses. */
const MAX_REDIRECTS = 20;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** The incumbent names failures after httpx's exception classes, and so do we: callers may look for them. */
export type ProblemKind =
  | 'ConnectError'
  | 'ConnectTimeout'
  | 'ReadTimeout'
  | 'ReadError'
  | 'RemoteProtocolError'
  | 'DecodingError'
  | 'TooManyRedirects'
  | 'UnsupportedProtocol'
  | 'InvalidURL';

/** Why a page could not be had. Reads `ConnectError('All connection attempts failed')`. */
export class RequestProblem extends Error {
  override readonly name = 'RequestProblem';
  readonly kind: ProblemKind;

  constructor(kind: ProblemKind, detail: string, options?: ErrorOptions) {
    super(`${kind}(${quoted(detail, MAX_DETAIL_LENGTH)})`, options);
    this.kind = kind;
  }
}

/** A hop that would have led to an address that must not be dialled. */
export class HopRefused extends Error {
  override readonly name = 'HopRefused';
  readonly url: URL;
  readonly refusal: AddressRefused;

  constructor(url: URL, refusal: AddressRefused) {
    super(`${url.origin}: ${refusal.message}`, { cause: refusal });
    this.url = url;
    this.refusal = refusal;
  }
}

/** The answer after all redirects. Its body is not read yet: read it or destroy it. */
export interface Answer {
  readonly url: URL;
  readonly status: number;
  /** by lower-case name; of several the first */
  readonly header: (name: string) => string | undefined;
  readonly body: Readable;
  /** every exchange that led here, this one last */
  readonly trail: readonly Hop[];
}

export interface GetOptions {
  readonly userAgent: string;
  readonly signal: AbortSignal;
  /** types of content, the best first; anything by default */
  readonly accept?: string;
  /** asked before each hop, the first included; may throw to stop there */
  readonly beforeHop?: (url: URL) => Promise<void>;
  /** gives each request its turn at its host */
  readonly turns?: Turns;
  /** sent along when the URL with this `href` is asked, so that it may answer 304 */
  readonly conditions?: { readonly href: string; readonly headers: Readonly<Record<string, string>> };
}

/** Says when a host may be asked, and hears what it answered. */
export interface Turns {
  /** Resolves with what ends the turn; calling that again does nothing. @throws what stops the request */
  enter(url: URL, signal: AbortSignal): Promise<() => void>;
  answered(url: URL, status: number, retryAfter: string | undefined): void;
}

/**
 * GETs a page and follows its redirects, each as a request of its own: the dispatcher vets every hop. Cookies set on the way are sent
 * back to their origin within this one call; credentials in the URL are sent to the origin that they were written for.
 * @throws HopRefused, RequestProblem, what `beforeHop` and `turns` throw, the signal's reason
 */
export async function get(dispatcher: Dispatcher, start: URL, options: GetOptions): Promise<Answer> {
  const cookies = new Cookies();
  const seen = new Set<string>();
  const trail: Hop[] = [];
  let url = start;
  for (;;) {
    requireFetchable(url);
    const visit = `${url.origin}${url.pathname}${url.search} ${cookies.header(url) ?? ''}`;
    // where we were already, with nothing new to show, goes on for ever
    if (seen.has(visit) || seen.size > MAX_REDIRECTS) {
      throw new RequestProblem('TooManyRedirects', 'Exceeded maximum allowed redirects.');
    }
    seen.add(visit);
    await options.beforeHop?.(url);
    const personal = cookies.header(url) !== undefined || basic(url) !== undefined;
    const response = await inTurn(url, options, () => hop(dispatcher, url, cookies, options));
    cookies.store(url, response.headers['set-cookie']);
    trail.push(hopOf(url, personal, response));
    const answer = answerOf(url, trail, response);
    const location = REDIRECTS.has(answer.status) ? answer.header('location') : undefined;
    if (location === undefined) return answer;
    answer.body.destroy();
    url = targetOf(location, url);
  }
}

/** What is wrong, in the incumbent's terms, with a request that failed with this error. */
export function problemOf(error: unknown): RequestProblem {
  if (error instanceof RequestProblem) return error;
  const { code = error instanceof errors.HTTPParserError ? 'HPE_' : '', message } = facts(error);
  const known = problems.find(([codes]) => codes.test(code));
  if (known === undefined) return new RequestProblem('ReadError', message, { cause: error });
  const [, kind, detail] = known;
  return new RequestProblem(kind, detail ?? message, { cause: error });
}

/** Error codes of Node and undici; without a text of its own a problem keeps the error's. */
const problems: readonly (readonly [RegExp, ProblemKind, string?])[] = [
  [/^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|EACCES|EPERM)$/, 'ConnectError', 'All connection attempts failed'],
  [/^ENOTFOUND$/, 'ConnectError', '[Errno -2] Name or service not known'],
  [/^EAI_AGAIN$/, 'ConnectError', '[Errno -3] Temporary failure in name resolution'],
  [/^(UND_ERR_CONNECT_TIMEOUT|ETIMEDOUT)$/, 'ConnectTimeout', ''],
  [/^(UND_ERR_HEADERS_TIMEOUT|UND_ERR_BODY_TIMEOUT)$/, 'ReadTimeout', ''],
  [/^(CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERR_TLS_|ERR_SSL_|EPROTO|HOSTNAME_MISMATCH)/, 'ConnectError'],
  [/^(UND_ERR_HEADERS_OVERFLOW|HPE_)/, 'RemoteProtocolError'],
  // undici asserts what a server may break, such as a status below 100
  [/^ERR_ASSERTION$/, 'RemoteProtocolError', 'the answer is no HTTP'],
  [/^UND_ERR_(SOCKET|RES_CONTENT_LENGTH_MISMATCH)$/, 'RemoteProtocolError', 'peer closed connection without sending complete message body'],
  [/^(Z_|ERR__ERROR|ERR_BROTLI|ERR__ZSTD|ZSTD_|ERR_ZSTD|ERR_PADDING|ERR_BUFFER)/, 'DecodingError'],
];

/** The turn lasts until the body has been read or given up. */
async function inTurn(
  url: URL,
  { turns, signal }: GetOptions,
  send: () => Promise<Dispatcher.ResponseData>,
): Promise<Dispatcher.ResponseData> {
  const leave = await turns?.enter(url, signal);
  try {
    const response = await send();
    if (leave !== undefined) response.body.once('close', leave);
    turns?.answered(url, response.statusCode, [response.headers['retry-after']].flat()[0]);
    return response;
  } catch (error) {
    leave?.();
    throw error;
  }
}

async function hop(
  dispatcher: Dispatcher,
  url: URL,
  cookies: Cookies,
  { userAgent, signal, accept = '*/*', conditions }: GetOptions,
): Promise<Dispatcher.ResponseData> {
  const headers: Record<string, string> = {
    ...(conditions?.href === url.href && conditions.headers),
    accept,
    'accept-encoding': 'gzip, deflate, br, zstd',
    'user-agent': userAgent,
  };
  const cookie = cookies.header(url);
  if (cookie !== undefined) headers['cookie'] = cookie;
  const credentials = basic(url);
  if (credentials !== undefined) headers['authorization'] = credentials;
  const flood = new AbortController();
  let interim = 0;
  const onInfo = (): void => {
    interim += 1;
    if (interim > MAX_INTERIM) flood.abort(new RequestProblem('RemoteProtocolError', `more than ${MAX_INTERIM} interim responses`));
  };
  const common = { dispatcher, method: 'GET', headers, signal: AbortSignal.any([signal, flood.signal]), onInfo } as const;
  const send = (): Promise<Dispatcher.ResponseData> => request(url.origin + url.pathname + url.search, common);
  try {
    return await send().catch((error: unknown) => {
      if (!wasUsedBefore(error)) throw error;
      return send();
    });
  } catch (error) {
    if (error instanceof AddressRefused) throw new HopRefused(url, error);
    if (!(error instanceof errors.SocketError)) throw error;
    throw new RequestProblem('RemoteProtocolError', 'Server disconnected without sending a response.', { cause: error });
  }
}

/** A kept connection that the server closes just when it is used again says nothing about the page (RFC 9112 section 9.3.1). */
function wasUsedBefore(error: unknown): boolean {
  return error instanceof errors.SocketError && (error.socket?.bytesRead ?? 0) > 0;
}

function answerOf(url: URL, trail: readonly Hop[], { statusCode, headers, body }: Dispatcher.ResponseData): Answer {
  // a body that is dropped, or cut by the deadline, reports an error that nobody waits for
  body.on('error', () => {});
  const header = (name: string): string | undefined => [headers[name]].flat()[0];
  return { url, status: statusCode, header, body, trail };
}

function requireFetchable({ protocol, href }: URL): void {
  if (href.length > MAX_URL_LENGTH) throw new RequestProblem('InvalidURL', 'URL too long');
  if (protocol === 'http:' || protocol === 'https:') return;
  throw new RequestProblem('UnsupportedProtocol', `Request URL has an unsupported protocol '${protocol}//'.`);
}

function targetOf(location: string, base: URL): URL {
  // header values arrive as Latin-1; what browsers see there is UTF-8
  const url = URL.parse(Buffer.from(location, 'latin1').toString('utf8'), base);
  if (url !== null && url.href.length <= MAX_URL_LENGTH) return url;
  throw new RequestProblem('RemoteProtocolError', `Invalid URL in location header: ${location}`);
}

function basic({ username, password }: URL): string | undefined {
  if (username === '' && password === '') return undefined;
  return `Basic ${Buffer.from(`${unescaped(username)}:${unescaped(password)}`).toString('base64')}`;
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The first cause that says something: happy eyeballs reports one error per address. */
function facts(error: unknown): { code?: string; message: string } {
  const inner = error instanceof AggregateError ? (error.errors[0] as unknown) : error;
  if (!(inner instanceof Error)) return { message: String(inner) };
  const { code } = inner as NodeJS.ErrnoException;
  return code === undefined ? { message: inner.message } : { code, message: inner.message };
}
