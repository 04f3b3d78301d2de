import { isIPv4, isIPv6 } from 'node:net';

/** What the registry's rules look at in a URL. */
export interface GoUrl {
  /** lower case, without the colon; '' for a relative reference */
  readonly scheme: string;
  /** with port and brackets, without user information; '' when there is none */
  readonly host: string;
}

export type ParsedUrl = { readonly ok: true; readonly url: GoUrl } | { readonly ok: false; readonly fault: string };

/**
 * Reads a URL as the registry does, which is not as browsers do: blanks and odd schemes pass, ports have no bound, hosts are not
 * normalised. Source: Go 1.26 net/url `Parse`, the library behind the registry's checks.
 */
export function parseGoUrl(raw: string): ParsedUrl {
  const hash = raw.indexOf('#');
  const body = hash === -1 ? raw : raw.slice(0, hash);
  const parsed = parseBody(body);
  if (!parsed.ok) return { ok: false, fault: `parse ${goQuote(body)}: ${parsed.fault}` };
  const escape = hash === -1 ? undefined : badEscape(raw.slice(hash + 1));
  return escape === undefined ? parsed : { ok: false, fault: `parse ${goQuote(raw)}: ${escape}` };
}

/** Why a text is not the absolute URI that the registry's schema asks for; undefined when it is. */
export function uriFault(text: string): string | undefined {
  const parsed = parseGoUrl(text);
  if (!parsed.ok) return `expected string to be RFC 3986 uri: ${parsed.fault}`;
  return parsed.url.scheme === '' ? 'expected string to be RFC 3986 absolute uri (non-empty scheme)' : undefined;
}

/** The host without port and brackets. */
export function hostnameOf({ host }: GoUrl): string {
  const name = host.replace(/:\d*$/, '');
  return name.startsWith('[') && name.endsWith(']') ? name.slice(1, -1) : name;
}

const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
};

/** A text between double quotes in which nothing is invisible, as Go's `%q` writes it: safe to put into a log or an Event. */
export function goQuote(text: string): string {
  return `"${text.replace(/["\\]|(?! )[\p{C}\p{Z}]/gu, (character) => SHORT_ESCAPES[character] ?? hexEscape(character.codePointAt(0) ?? 0))}"`;
}

function hexEscape(code: number): string {
  if (code < 0x20 || code === 0x7f) return `\\x${code.toString(16).padStart(2, '0')}`;
  return code > 0xffff ? `\\U${code.toString(16).padStart(8, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`;
}

function parseBody(raw: string): ParsedUrl {
  if (/[\x00-\x1f\x7f]/.test(raw)) return refuse('net/url: invalid control character in URL');
  if (raw.startsWith(':')) return refuse('missing protocol scheme');
  const colon = /^[A-Za-z][A-Za-z0-9+.-]*:/.exec(raw)?.[0].length ?? 0;
  const scheme = raw.slice(0, Math.max(0, colon - 1)).toLowerCase();
  const [rest = ''] = raw.slice(colon).split('?', 1);
  return rest.startsWith('/') ? hierarchical(scheme, rest) : rootless(scheme, rest);
}

function rootless(scheme: string, rest: string): ParsedUrl {
  if (scheme !== '') return { ok: true, url: { scheme, host: '' } };
  if (rest.split('/', 1)[0]?.includes(':') === true) return refuse('first path segment in URL cannot contain colon');
  return withPath({ scheme, host: '' }, rest);
}

function hierarchical(scheme: string, rest: string): ParsedUrl {
  if (!rest.startsWith('//') || (scheme === '' && rest.startsWith('///'))) return withPath({ scheme, host: '' }, rest);
  const authority = rest.slice(2).split('/', 1)[0] ?? '';
  const at = authority.lastIndexOf('@');
  const host = authority.slice(at + 1);
  const fault = hostFault(scheme, host) ?? (at === -1 ? undefined : userFault(authority.slice(0, at)));
  return fault === undefined ? withPath({ scheme, host }, rest.slice(2 + authority.length)) : refuse(fault);
}

function withPath(url: GoUrl, path: string): ParsedUrl {
  const escape = badEscape(path);
  return escape === undefined ? { ok: true, url } : refuse(escape);
}

function refuse(fault: string): ParsedUrl {
  return { ok: false, fault };
}

function badEscape(text: string): string | undefined {
  const bad = /%(?![0-9A-Fa-f]{2})/.exec(text);
  return bad === null ? undefined : `invalid URL escape ${goQuote(text.slice(bad.index, bad.index + 3))}`;
}

function userFault(user: string): string | undefined {
  return /^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(user) ? badEscape(user) : 'net/url: invalid userinfo';
}

function hostFault(scheme: string, host: string): string | undefined {
  const bracket = host.lastIndexOf('[');
  if (bracket > 0) return 'invalid IP-literal';
  return bracket === 0 ? literalFault(host) : (portFault(portOf(scheme, host)) ?? hostTextFault(host));
}

/** Browsers' schemes may have one colon only; others keep the last as the start of the port. */
function portOf(scheme: string, host: string): string {
  const colon = scheme === 'http' || scheme === 'https' ? host.indexOf(':') : host.lastIndexOf(':');
  return colon === -1 ? '' : host.slice(colon);
}

function portFault(port: string): string | undefined {
  return /^(?::[0-9]*)?$/.test(port) ? undefined : `invalid port ${goQuote(port)} after host`;
}

function literalFault(host: string): string | undefined {
  const close = host.lastIndexOf(']');
  if (close === -1) return "missing ']' in host";
  const inside = host.slice(1, close);
  const zone = inside.indexOf('%25');
  const address = zone === -1 ? inside : inside.slice(0, zone);
  const fault = portFault(host.slice(close + 1)) ?? hostTextFault(address);
  if (fault !== undefined) return fault;
  if (isIPv4(inside)) return 'invalid IP-literal';
  const emptyZone = zone !== -1 && inside.length === zone + '%25'.length;
  return isIPv6(address) && !emptyZone ? undefined : `invalid host: ${goQuote(inside)} is no IPv6 address`;
}

function hostTextFault(host: string): string | undefined {
  // In a host only bytes above ASCII, and the percent sign itself, may be written as escapes.
  const escape = badEscape(host) ?? forbiddenHostEscape(host);
  if (escape !== undefined) return escape;
  const bad = /[^A-Za-z0-9\-_.~!"$&'()*+,;:=<>[\]%\u0080-\uffff]/.exec(host);
  return bad === null ? undefined : `invalid character ${goQuote(bad[0])} in host name`;
}

function forbiddenHostEscape(host: string): string | undefined {
  const bad = /%(?!25)[0-7][0-9A-Fa-f]/.exec(host);
  return bad === null ? undefined : `invalid URL escape ${goQuote(bad[0])}`;
}
