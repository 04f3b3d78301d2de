import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Log } from '../../lib/log.ts';
import { cacheable, createApi, type Registry } from './api.ts';
import type { RegistryMetrics } from './metrics.ts';
import type { PageCache } from './page-cache.ts';
import type { Site } from './pages/site.ts';
import { Problem } from './problem.ts';
import { routeOf, type RouteName } from './routes.ts';
import { cleanPath, percentDecode, targetOf, type Target } from './target.ts';

/** One answer, whole. */
interface Reply {
  readonly status: number;
  readonly type: string;
  readonly body: string;
  readonly headers?: OutgoingHttpHeaders;
  /** may be given again until the next commit */
  readonly keep?: boolean;
}

export interface HandlerOptions {
  readonly registry: Registry;
  readonly pages: PageCache;
  /** everything outside the API */
  readonly site: Site;
  readonly metrics: RegistryMetrics;
  readonly log: Log;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/**
 * Answers one request, through the layers of the official server in its order: (our cached pages,) broken escapes, NUL, trailing slash,
 * CORS, unclean path, routes. A router library decodes the path before its caller sees it; here the raw bytes decide (see target.ts), and
 * a table of twelve routes needs no more.
 */
export function createHandler({ registry, pages, site, metrics, log }: HandlerOptions): Handler {
  const api = createApi(registry);

  const answer = async (request: IncomingMessage): Promise<Reply> => {
    const target = targetOf(request.url ?? '/');
    const early = beforeRoutes(request, target);
    if (early !== undefined) return early;
    const route = routeOf(request.method ?? '', target.path.slice(1).split('/').map(decodedOnce));
    if (route === undefined) {
      const page = isRead(request) ? await site(target.path, target.query) : undefined;
      return page === undefined ? notFound(target) : { status: 200, ...page };
    }
    const text = await timed(route.to, () => api({ route, query: target.query, request }));
    if (text === undefined) return notFound(target);
    return { status: 200, type: 'application/json', body: `${text}\n`, keep: cacheable.has(route.to) };
  };

  const timed = async <T>(operation: RouteName, work: () => T | Promise<T>): Promise<T> => {
    const started = performance.now();
    try {
      return await work();
    } finally {
      metrics.answered(operation, (performance.now() - started) / 1000);
    }
  };

  const replyFor = async (request: IncomingMessage): Promise<Reply> => {
    try {
      return await answer(request);
    } catch (error) {
      if (!(error instanceof Problem) || error.status >= 500) log.error({ err: error, method: request.method }, 'request failed');
      return problemReply(error instanceof Problem ? error : new Problem(500, 'Internal Server Error'));
    }
  };

  return async (request, response) => {
    const url = request.url ?? '/';
    const page = isRead(request) ? pages.get(url) : undefined;
    if (page !== undefined) {
      metrics.answered('cached page', 0);
      return send(response, { status: 200, ...page }, page.body);
    }
    const reply = await replyFor(request);
    const body = Buffer.from(reply.body);
    if (reply.keep === true) pages.keep(url, { type: reply.type, headers: reply.headers ?? {}, body });
    send(response, reply, body);
  };
}

/** What is answered before the route is looked at, if anything. */
function beforeRoutes(request: IncomingMessage, { path, query }: Target): Reply | undefined {
  const decoded = percentDecode(path);
  if (!decoded.ok) return undecodable(decoded.why);
  if (holdsNul(decoded.text)) return nul('URL path contains null bytes');
  if (holdsNul(query ?? '')) return nul('query parameters contain null bytes');
  if (path !== '/' && path.endsWith('/')) return redirect(308, cleanPath(path).replace(/(?<=.)\/$/, ''), query);
  if (request.method === 'OPTIONS') return { status: 204, type: '', body: '', headers: preflight(request) };
  const clean = cleanPath(path);
  return clean === path ? undefined : redirect(307, clean, query);
}

function undecodable(why: 'escape' | 'utf-8'): Reply {
  if (why === 'utf-8') return problemReply(new Problem(400, 'Invalid request: URL path is not valid UTF-8'));
  return { status: 400, type: 'text/plain; charset=utf-8', body: '400 Bad Request', headers: { connection: 'close' } };
}

/** Handlers decode once more, so an escape that is left over counts too. */
function holdsNul(text: string): boolean {
  return text.includes('\0') || text.includes('%00');
}

function nul(what: string): Reply {
  return { status: 400, type: 'application/json', body: `${JSON.stringify(new Problem(400, `Invalid request: ${what}`))}\n` };
}

/** The path keeps its escapes, so that a redirected name survives. Browsers read a backslash as a slash, which could leave this host. */
function redirect(status: 307 | 308, path: string, query: string | undefined): Reply {
  const location = path.replaceAll('\\', '%5C') + (query === undefined || query === '' ? '' : `?${query}`);
  return { status, type: 'text/html; charset=utf-8', body: '', headers: { location } };
}

function preflight(request: IncomingMessage): OutgoingHttpHeaders {
  const asked = request.headers['access-control-request-headers'];
  return { 'access-control-max-age': '86400', ...(asked !== undefined && { 'access-control-allow-headers': asked }) };
}

/** Only the body tells an unknown route from an unknown server. */
function notFound({ path }: Target): Reply {
  const decoded = decodedOnce(path);
  const inside = decoded.startsWith('/v0/') || decoded.startsWith('/v0.1/');
  const hint = inside ? '' : ` Did you mean '/v0.1${decoded}' or '/v0${decoded}'?`;
  return problemReply(new Problem(404, `Endpoint not found.${hint} See /docs for the API documentation.`));
}

function problemReply(problem: Problem): Reply {
  // What is left of the request is not read, so the connection cannot carry another.
  const unread = problem.status === 408 || problem.status === 413;
  const body = `${JSON.stringify(problem)}\n`;
  return { status: problem.status, type: 'application/problem+json', body, ...(unread && { headers: { connection: 'close' } }) };
}

/** Readable from every origin: browsers' clients read the registry, and whoever writes needs a token anyway. */
const everyAnswer = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS',
  'access-control-allow-headers': 'Authorization, Content-Type',
  'access-control-expose-headers': 'Content-Type, Content-Length',
  'x-content-type-options': 'nosniff',
};

function send(response: ServerResponse, { status, type, headers }: Pick<Reply, 'status' | 'type' | 'headers'>, body: Buffer): void {
  const own = status === 204 ? {} : { 'content-type': type, 'content-length': body.length };
  response.writeHead(status, { ...everyAnswer, ...own, ...headers });
  response.end(body);
}

function isRead({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD';
}

function decodedOnce(escaped: string): string {
  const decoded = percentDecode(escaped);
  return decoded.ok ? decoded.text : escaped;
}
