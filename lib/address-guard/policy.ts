import { isIP } from 'node:net';
import { classifyAddress, isInside, isSingle, parseCidr, type AddressClass, type Cidr } from './address.ts';

export type Verdict = { readonly allow: true } | { readonly allow: false; readonly reason: string };

/** One address that is about to be dialled. */
export interface AddressTarget {
  /** as in a URL, lower case, without brackets or trailing dot; a name or an IP literal */
  readonly host: string;
  /** the IP address to dial */
  readonly address: string;
  readonly port: number;
}

/** Decides about one address at a time. Pure: the same target always gets the same verdict. */
export interface AddressPolicy {
  judge(target: AddressTarget): Verdict;
}

/** Exceptions to a policy. What is denied stays denied, whatever else is allowed. */
export interface Exceptions {
  /** origins that may be private, exactly as given: `http://127.0.0.1:8080`, `https://wiki.corp` */
  readonly allowOrigins?: readonly string[];
  /** blocks (`10.1.0.0/16`), addresses, host names, or `*.example.svc` for every name below a domain */
  readonly allow?: readonly string[];
  /** blocks or addresses that are never dialled */
  readonly deny?: readonly string[];
}

/** The reason of a refusal that no exception lifts. */
export const DENIED = 'an address that this server is configured to deny';

const because: Readonly<Record<Exclude<AddressClass, 'public'>, string>> = {
  loopback: 'a loopback address',
  private: 'a private address',
  'link-local': 'a link-local address',
  metadata: 'the address of a cloud metadata service',
  transition: 'an IPv6 transition address, which hides where the connection ends',
  multicast: 'a multicast address',
  unspecified: 'an unspecified address',
  reserved: 'a reserved address',
  invalid: 'not an IP address',
};

/** Public addresses only, for whatever follows links that strangers write. */
export function publicOnly(exceptions: Exceptions = {}): AddressPolicy {
  return policy((kind) => kind === 'public', exceptions);
}

/**
 * Public, private and loopback addresses, for what the owner of a machine configures by hand. Metadata services count as link-local,
 * wherever their cloud put them; transition addresses are refused, since they can hide a link-local one.
 */
export function anythingButLinkLocal(exceptions: Exceptions = {}): AddressPolicy {
  return policy((kind) => !['link-local', 'metadata', 'transition', 'invalid'].includes(kind), exceptions);
}

/** Every address that is not denied. */
export function anyAddress(exceptions: Pick<Exceptions, 'deny'> = {}): AddressPolicy {
  return policy((kind) => kind !== 'invalid', exceptions);
}

/** Whether a text can stand in `allowOrigins`: scheme, host and port, nothing else. */
export function isOrigin(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && ['http:', 'https:'].includes(url.protocol) && url.href === `${url.origin}/` && !url.host.includes('*');
}

/** Whether a text can stand in `deny`. */
export function isAddressBlock(text: string): boolean {
  return parseCidr(text) !== undefined;
}

/** Whether one of these exceptions names this host. */
export function allowsHost(allow: readonly string[], host: string): boolean {
  return allow.some((entry) => parseCidr(entry) === undefined && isNamed(host, nameOf(entry)));
}

/** The host of a URL as policies see it: lower case, no brackets, no trailing dots. */
export function policyHost(hostname: string): string {
  return hostname
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.+$/, '');
}

/** The port that a URL names or implies. */
export function policyPort(url: URL): number {
  return url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
}

function policy(admits: (kind: AddressClass) => boolean, exceptions: Exceptions): AddressPolicy {
  const denied = (exceptions.deny ?? []).map(blockOf);
  const excepted = exception(exceptions);
  return {
    judge(target) {
      const kind = classifyAddress(target.address);
      if (isInside(target.address, denied)) return { allow: false, reason: DENIED };
      if (kind === 'public' ? admits(kind) : admits(kind) || excepted(target, kind)) return { allow: true };
      return { allow: false, reason: kind === 'public' ? 'a public address' : because[kind] };
    },
  };
}

/**
 * What the exceptions allow beyond the policy. A link-local or metadata address has to be named itself, by a literal or a block of one:
 * otherwise whoever answers for an excepted name could point it at the credentials of the machine.
 */
function exception({ allowOrigins = [], allow = [] }: Exceptions): (target: AddressTarget, kind: AddressClass) => boolean {
  const origins = new Set(allowOrigins.map(authorityOf));
  const blocks = allow.map(parseCidr).filter((block) => block !== undefined);
  const single = blocks.filter(isSingle);
  const names = allow.filter((entry) => parseCidr(entry) === undefined).map(nameOf);
  return (target, kind) => {
    if (kind === 'invalid') return false;
    const byOrigin = origins.has(`${target.host} ${target.port}`);
    if (kind === 'link-local' || kind === 'metadata') return (byOrigin && isIP(target.host) !== 0) || isInside(target.address, single);
    return byOrigin || isInside(target.address, blocks) || names.some((name) => isNamed(target.host, name));
  };
}

function isNamed(host: string, name: string): boolean {
  return name.startsWith('*.') ? host.endsWith(name.slice(1)) : host === name;
}

function blockOf(text: string): Cidr {
  const block = parseCidr(text);
  if (block === undefined) throw new TypeError(`"${text}" is not a block of addresses such as 10.0.0.0/8, fd00::/8 or 10.1.2.3`);
  return block;
}

function authorityOf(text: string): string {
  if (!isOrigin(text)) throw new TypeError(`"${text}" is not an origin such as http://127.0.0.1:8080`);
  const url = new URL(text);
  return `${policyHost(url.hostname)} ${policyPort(url)}`;
}

function nameOf(text: string): string {
  const name = policyHost(text.trim());
  if (!/^(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(name)) {
    throw new TypeError(`"${text}" is not a block of addresses, a host name, or *. and a domain`);
  }
  return name;
}
