/** One operation of the API, with what the path says; '' where it says nothing. Names and versions have one round of decoding behind them. */
export interface Route {
  readonly to: RouteName;
  readonly name: string;
  readonly version: string;
}

export type RouteName =
  | 'list'
  | 'getVersions'
  | 'getVersion'
  | 'edit'
  | 'setStatus'
  | 'setStatusOfAll'
  | 'publish'
  | 'validate'
  | 'anonymousToken'
  | 'health'
  | 'ping'
  | 'version';

interface Operation {
  readonly to: RouteName;
  readonly method: string;
  /** below the prefix; `{name}` stands for one segment in which the slash is escaped */
  readonly path: string;
}

export const prefixes = ['/v0', '/v0.1'] as const;

export const operations: readonly Operation[] = [
  { to: 'list', method: 'GET', path: '/servers' },
  { to: 'getVersions', method: 'GET', path: '/servers/{name}/versions' },
  { to: 'getVersion', method: 'GET', path: '/servers/{name}/versions/{version}' },
  { to: 'edit', method: 'PUT', path: '/servers/{name}/versions/{version}' },
  { to: 'setStatus', method: 'PATCH', path: '/servers/{name}/versions/{version}/status' },
  { to: 'setStatusOfAll', method: 'PATCH', path: '/servers/{name}/status' },
  { to: 'publish', method: 'POST', path: '/publish' },
  { to: 'validate', method: 'POST', path: '/validate' },
  { to: 'anonymousToken', method: 'POST', path: '/auth/none' },
  { to: 'health', method: 'GET', path: '/health' },
  { to: 'ping', method: 'GET', path: '/ping' },
  { to: 'version', method: 'GET', path: '/version' },
];

/** A name may also come with its slash unescaped, as proxies tend to make it; the official form wins where both fit. */
const withTwoSegments = operations
  .filter(({ path }) => path.includes('{name}'))
  .map(({ to, method, path }) => ({ to, method, path: path.replace('{name}', '{space}/{name}') }));

const patterns = [...operations, ...withTwoSegments].map(({ to, method, path }) => ({ to, method, segments: path.slice(1).split('/') }));

/** @param decoded one round of decoding for each segment of the raw path, the leading slash gone */
export function routeOf(method: string, decoded: readonly string[]): Route | undefined {
  const [prefix, ...segments] = decoded;
  if (!prefixes.some((known) => known === `/${prefix}`)) return undefined;
  const asked = method === 'HEAD' ? 'GET' : method;
  const found = patterns.find((pattern) => pattern.method === asked && fits(pattern.segments, segments));
  if (found === undefined) return undefined;
  const at = (variable: string) => segments[found.segments.indexOf(variable)] ?? '';
  const space = at('{space}');
  return { to: found.to, name: space === '' ? at('{name}') : `${space}/${at('{name}')}`, version: at('{version}') };
}

function fits(pattern: readonly string[], segments: readonly string[]): boolean {
  return (
    pattern.length === segments.length &&
    pattern.every((part, index) => (part.startsWith('{') ? segments[index] !== '' : part === segments[index]))
  );
}
