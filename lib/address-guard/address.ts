import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * What an address is for, from the point of view of somebody who must not reach into a private network.
 * - `public`      a globally routed unicast address, the only class a public policy admits
 * - `metadata`    a cloud's metadata or host service: credentials for whoever asks
 * - `transition`  an IPv6 form that carries an IPv4 address which another machine will dial (6to4, Teredo, SIIT, local NAT64)
 * - `invalid`     not an IP address in the form that a resolver or a URL yields
 */
export type AddressClass =
  | 'public'
  | 'loopback'
  | 'private'
  | 'link-local'
  | 'metadata'
  | 'transition'
  | 'multicast'
  | 'unspecified'
  | 'reserved'
  | 'invalid';

/** A block of addresses; IPv4 blocks are kept as their IPv4-mapped form, so that one comparison serves both families. */
export interface Cidr {
  readonly network: ipaddr.IPv6;
  /** prefix length of the mapped form, 0 to 128 */
  readonly bits: number;
}

/** In all these an IPv4 address in the low 32 bits is what is dialled: mapped, compatible (RFC 4291), well-known NAT64 (RFC 6052). */
const embeddingIPv4 = ['::ffff:0:0/96', '::/96', '64:ff9b::/96'].map(mustParseCidr);

/** Inside `::/96`, but addresses of their own: `::` and `::1`. */
const notEmbedding = ['::/128', '::1/128'].map(mustParseCidr);

/** The only IPv6 block that is routed publicly; all else is special or not allocated (IANA IPv6 address space registry). */
const allocatedIPv6 = mustParseCidr('2000::/3');

/** Azure wireserver, Alibaba, Oracle, AWS, Google. Those at 169.254.0.0/16 are link-local already. */
const metadata = ['168.63.129.16/32', '100.100.100.200/32', '192.0.0.192/32', 'fd00:ec2::/32', 'fd20:ce::254/128'].map(mustParseCidr);

/** How ipaddr.js names its ranges, in our classes; a range not named here is `reserved`. */
const classOfRange: Readonly<Record<string, AddressClass>> = {
  unicast: 'public',
  loopback: 'loopback',
  private: 'private',
  uniqueLocal: 'private',
  deprecatedSiteLocal: 'private',
  carrierGradeNat: 'private',
  linkLocal: 'link-local',
  multicast: 'multicast',
  broadcast: 'multicast',
  unspecified: 'unspecified',
  rfc6052: 'transition',
  rfc6145: 'transition',
  '6to4': 'transition',
  teredo: 'transition',
};

/** Judges an IP address (a zone such as `%eth0` is ignored) by where a connection to it would end. Total: never throws. */
export function classifyAddress(address: string): AddressClass {
  const ip = parseAddress(address);
  if (ip === undefined) return 'invalid';
  const dialled = unwrap(ip);
  if (metadata.some((block) => contains(block, dialled))) return 'metadata';
  return classOfRange[dialled.range()] === 'public' && !isAllocated(dialled) ? 'reserved' : (classOfRange[dialled.range()] ?? 'reserved');
}

/** Whether an address, or the IPv4 address that it carries, lies in one of the blocks. */
export function isInside(address: string, blocks: readonly Cidr[]): boolean {
  const ip = parseAddress(address);
  if (ip === undefined) return false;
  const dialled = unwrap(ip);
  return blocks.some((block) => contains(block, ip) || contains(block, dialled));
}

/** Whether a block is one single address. */
export function isSingle(block: Cidr): boolean {
  return block.bits === 128;
}

/** Reads `10.0.0.0/8`, `fd00::/8`, or a single address; `undefined` when it is neither. Host bits may be set. */
export function parseCidr(text: string): Cidr | undefined {
  const [address = '', prefix, ...rest] = text.trim().split('/');
  const ip = parseAddress(address);
  if (ip === undefined || rest.length > 0) return undefined;
  const size = ip.kind() === 'ipv4' ? 32 : 128;
  const bits = prefix === undefined ? size : /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
  return bits <= size ? { network: toIPv6(ip), bits: bits + 128 - size } : undefined;
}

function mustParseCidr(text: string): Cidr {
  const block = parseCidr(text);
  if (block === undefined) throw new TypeError(`not a block of addresses: ${text}`);
  return block;
}

/** Only the forms that resolvers yield: ipaddr.js alone would also read `0177.1`, and one IPv6 spelling as another address. */
function parseAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  const family = isIP(text);
  if (family === 4) return ipaddr.IPv4.parse(text);
  return family === 6 ? ipaddr.IPv6.parse(canonicalIPv6(text)) : undefined;
}

/** Without zone, and with a dotted tail in hexadecimal: ipaddr.js takes `::1.2.3.4` for `::ffff:1.2.3.4`. */
function canonicalIPv6(text: string): string {
  const [address = ''] = text.split('%');
  return new URL(`http://[${address}]`).hostname.slice(1, -1);
}

function unwrap(ip: ipaddr.IPv4 | ipaddr.IPv6): ipaddr.IPv4 | ipaddr.IPv6 {
  if (!(ip instanceof ipaddr.IPv6)) return ip;
  const embeds = embeddingIPv4.some((block) => contains(block, ip)) && !notEmbedding.some((block) => contains(block, ip));
  return embeds ? new ipaddr.IPv4(ip.toByteArray().slice(-4)) : ip;
}

function isAllocated(ip: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  return ip instanceof ipaddr.IPv4 || contains(allocatedIPv6, ip);
}

function contains(block: Cidr, ip: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  return toIPv6(ip).match(block.network, block.bits);
}

function toIPv6(ip: ipaddr.IPv4 | ipaddr.IPv6): ipaddr.IPv6 {
  return ip instanceof ipaddr.IPv4 ? ip.toIPv4MappedAddress() : ip;
}
