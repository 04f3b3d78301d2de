import type { ServerJson } from '../../lib/registry-api/server-json.ts';
import { preferredRemote, type Settings } from './declaration.ts';

/** An address to probe, with all that decides the answer. */
export interface Address {
  readonly is: 'address';
  readonly url: string;
  readonly transport: 'streamable-http' | 'sse';
  /** what every client of this record would send */
  readonly headers: Readonly<Record<string, string>>;
  /** where the credentials are, by name, and whose namespace they have to be in */
  readonly auth?: { readonly namespace: string; readonly name: string };
  /** whose network this address may be in */
  readonly namespace: string;
}

/** What to ask before a record is published. */
export type Target = Address | { readonly is: 'none'; readonly reason: 'ProbeOff' | 'NoRemote' | 'Variables'; readonly message: string };

/** What a client cannot be made to send by a record, since these belong to the connection or to the protocol. */
const OWN_HEADERS =
  /^(host|content-.*|transfer-encoding|connection|keep-alive|upgrade|te|trailer|expect|proxy-.*|cookie|authorization|origin|accept|mcp-.*)$/i;

/** Which address answers for a record. Pure. */
export function targetOf(document: ServerJson, settings: Settings, namespace: string): Target {
  if (settings.probe === 'off') return { is: 'none', reason: 'ProbeOff', message: 'probing is switched off for this record' };
  const remote = preferredRemote(document);
  if (remote === undefined) {
    return { is: 'none', reason: 'NoRemote', message: 'the record lists packages only, which run where they are installed' };
  }
  const url = settings.endpoint ?? remote.url ?? '';
  if (url.includes('{')) {
    return { is: 'none', reason: 'Variables', message: 'the address has variables that only its users can fill in' };
  }
  return {
    is: 'address',
    url,
    transport: remote.type === 'sse' ? 'sse' : 'streamable-http',
    headers: fixedHeaders(remote.headers),
    namespace,
    ...(settings.probeAuth !== undefined && { auth: { namespace, name: settings.probeAuth } }),
  };
}

/** Equal keys mean: one probe answers for both. */
export function targetKey({ url, transport, headers, auth, namespace }: Address): string {
  return JSON.stringify([url, transport, Object.entries(headers).toSorted(([a], [b]) => (a < b ? -1 : 1)), auth?.name ?? '', namespace]);
}

function fixedHeaders(headers: NonNullable<ReturnType<typeof preferredRemote>>['headers'] = []): Record<string, string> {
  const fixed = headers.filter(({ name, value = '' }) => value !== '' && !value.includes('{') && isHeader(name, value));
  return Object.fromEntries(fixed.map(({ name, value = '' }) => [name.toLowerCase(), value]));
}

function isHeader(name: string, value: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) && /^[\t\x20-\x7e]*$/.test(value) && !OWN_HEADERS.test(name);
}
