import { isIP, isIPv6 } from 'node:net';
import { classifyAddress } from '../../lib/address-guard/address.ts';
import { AddressRefused, resolveBySystem, type Resolve } from '../../lib/address-guard/guard.ts';
import { allowsHost, publicOnly, type AddressPolicy, type AddressTarget } from '../../lib/address-guard/policy.ts';
import type { EndpointSlice, Service } from '../../lib/kube/objects.ts';
import type { Network } from './source.ts';

/** What the operator remembers of a Service. */
export interface KnownService {
  readonly namespace: string;
  readonly name: string;
  /** `headless` ones have no address of their own; the other two lead anywhere, so they are not dialled */
  readonly is: 'plain' | 'headless' | 'without a selector' | 'ExternalName';
  /** its cluster IPs */
  readonly addresses: readonly string[];
}

export function knownService({ metadata, spec = {} }: Service): KnownService {
  const { clusterIP = '', clusterIPs = clusterIP === '' ? [] : [clusterIP] } = spec;
  const addresses = clusterIPs.filter((address) => isIP(address) !== 0);
  const { name, namespace = '' } = metadata;
  return { namespace, name, is: kindOf(spec, addresses), addresses };
}

function kindOf({ type, selector = {} }: NonNullable<Service['spec']>, addresses: readonly string[]): KnownService['is'] {
  if (type === 'ExternalName') return 'ExternalName';
  if (Object.keys(selector).length === 0) return 'without a selector';
  return addresses.length === 0 ? 'headless' : 'plain';
}

/** The Service that a host name means everywhere in a cluster: `name.namespace.svc`, with or without `cluster.local`. */
export function serviceNamed(host: string): { readonly namespace: string; readonly name: string } | undefined {
  const [, name, namespace] = /^([a-z0-9-]{1,63})\.([a-z0-9-]{1,63})\.svc(?:\.cluster\.local)?$/.exec(host) ?? [];
  return name === undefined || namespace === undefined ? undefined : { namespace, name };
}

/** What decides which Services may be dialled. */
export interface ServiceFacts {
  /** by `namespace/name` */
  readonly services: () => IteratorObject<KnownService>;
  readonly find: (namespace: string, name: string) => KnownService | undefined;
  /** whether the Services of a namespace were read */
  readonly isRead: (namespace: string) => boolean;
  readonly endpointsOf: (service: KnownService) => Promise<readonly EndpointSlice[]>;
}

/** PROBE_ALLOW, taken apart. */
export interface Allowed {
  /** blocks, addresses, host names */
  readonly addresses: readonly string[];
  /** whose Services everybody may have probed */
  readonly namespaces: ReadonlySet<string>;
}

const NAMESPACE_PREFIX = 'namespace:';

/** @throws TypeError for an entry that is none of a block, a host name or `namespace:NAME` */
export function allowedBy(entries: readonly string[]): Allowed {
  const namespaces = entries.filter((entry) => entry.startsWith(NAMESPACE_PREFIX)).map((entry) => entry.slice(NAMESPACE_PREFIX.length));
  return { addresses: entries.filter((entry) => !entry.startsWith(NAMESPACE_PREFIX)), namespaces: new Set(namespaces) };
}

/**
 * What a declaration of one namespace may have dialled: public addresses; Services of that namespace that have a selector and are no
 * ExternalName; what `allowed` lists. The names of Services become addresses by what the API server says, not by DNS, so that what is vetted
 * is what is dialled; the addresses behind a headless one are vetted as they are found.
 */
export function namespaceNetwork(
  namespace: string,
  allowed: Allowed,
  facts: ServiceFacts,
  resolveElsewhere: Resolve = resolveBySystem,
): Network {
  const base = publicOnly({ allow: allowed.addresses });
  /** by host: what stood behind headless Services when they were resolved last */
  const behind = new Map<string, ReadonlySet<string>>();
  const isOpen = (other: string): boolean => other === namespace || allowed.namespaces.has(other);

  const isService = ({ host, address }: AddressTarget): boolean => {
    if (classifyAddress(address) !== 'private') return false;
    if (behind.get(host)?.has(address) === true) return true;
    return facts.services().some((service) => isOpen(service.namespace) && service.is === 'plain' && service.addresses.includes(address));
  };
  const policy: AddressPolicy = {
    judge(target) {
      const verdict = base.judge(target);
      return verdict.allow || isService(target) ? { allow: true } : verdict;
    },
  };

  const resolve: Resolve = async (host) => {
    const named = serviceNamed(host);
    if (named === undefined || allowsHost(allowed.addresses, host)) return resolveElsewhere(host);
    if (!isOpen(named.namespace)) throw new AddressRefused(host, host, 'a Service of another namespace');
    const service = foundService(facts, named, host);
    const addresses = service.is === 'plain' ? service.addresses : endpointAddresses(await facts.endpointsOf(service));
    if (service.is === 'headless') behind.set(host, new Set(addresses));
    return addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  };
  return { policy, resolve };
}

/** @throws an error with a code, as a look-up does, or AddressRefused */
function foundService(facts: ServiceFacts, { namespace, name }: { namespace: string; name: string }, host: string): KnownService {
  if (!facts.isRead(namespace)) throw failure('SERVICES_UNREAD', `the Services of namespace ${namespace} could not be read`);
  const service = facts.find(namespace, name);
  if (service === undefined) throw failure('ENOTFOUND', `there is no Service ${name} in namespace ${namespace}`);
  if (service.is === 'ExternalName') throw new AddressRefused(host, host, 'an ExternalName Service');
  if (service.is === 'without a selector') throw new AddressRefused(host, host, 'a Service without a selector');
  return service;
}

function endpointAddresses(slices: readonly EndpointSlice[]): readonly string[] {
  const ready = slices.flatMap(({ endpoints = [] }) => endpoints).filter(({ conditions }) => conditions?.ready !== false);
  return [...new Set(ready.flatMap(({ addresses = [] }) => addresses))];
}

function failure(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}
