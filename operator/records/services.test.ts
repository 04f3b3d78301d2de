import { expect, test } from 'vitest';
import { AddressRefused, type Resolve } from '../../lib/address-guard/guard.ts';
import type { EndpointSlice, Service } from '../../lib/kube/objects.ts';
import { allowedBy, knownService, namespaceNetwork, serviceNamed, type ServiceFacts } from './services.ts';

function service(namespace: string, name: string, spec: NonNullable<Service['spec']>) {
  return knownService({ metadata: { namespace, name }, spec });
}

const selector = { app: 'x' };
const services = [
  service('team', 'plain', { selector, clusterIP: '10.96.0.7', clusterIPs: ['10.96.0.7', 'fd00::7'] }),
  service('team', 'headless', { selector, clusterIP: 'None' }),
  service('team', 'bare', { clusterIP: '10.96.0.8' }),
  service('team', 'alias', { type: 'ExternalName', selector }),
  service('other', 'plain', { selector, clusterIP: '10.96.0.9' }),
];
const slices: EndpointSlice[] = [
  {
    metadata: { name: 's' },
    endpoints: [
      { addresses: ['10.244.0.5'] },
      { addresses: ['10.244.0.6'], conditions: { ready: false } },
      { addresses: ['169.254.169.254'] },
    ],
  },
];
const facts: ServiceFacts = {
  services: () => services.values(),
  find: (namespace, name) => services.find((one) => one.namespace === namespace && one.name === name),
  isRead: (namespace) => namespace !== 'unread',
  endpointsOf: async () => slices,
};
const byDns: Resolve = async () => [{ address: '192.168.1.1', family: 4 }];

function network(...allow: readonly string[]) {
  const { policy, resolve } = namespaceNetwork('team', allowedBy(allow), facts, byDns);
  const addressesOf = async (host: string) => (await (resolve ?? byDns)(host)).map(({ address }) => address);
  const allows = (host: string, address: string) => policy.judge({ host, address, port: 80 }).allow;
  return { addressesOf, allows };
}

test('a Service of the namespace becomes its cluster IPs, and those may be dialled', async () => {
  const { addressesOf, allows } = network();
  for (const host of ['plain.team.svc', 'plain.team.svc.cluster.local']) expect(await addressesOf(host)).toEqual(['10.96.0.7', 'fd00::7']);
  expect(allows('plain.team.svc', '10.96.0.7')).toBe(true);
  expect(allows('10.96.0.7', '10.96.0.7')).toBe(true);
  expect(allows('10.96.0.9', '10.96.0.9')).toBe(false);
  expect(allows('10.96.0.8', '10.96.0.8')).toBe(false);
});

test('a headless Service becomes its ready endpoints, which may be dialled under its name only, and never the metadata service', async () => {
  const { addressesOf, allows } = network();
  expect(allows('headless.team.svc', '10.244.0.5')).toBe(false);
  expect(await addressesOf('headless.team.svc')).toEqual(['10.244.0.5', '169.254.169.254']);
  expect(allows('headless.team.svc', '10.244.0.5')).toBe(true);
  expect(allows('headless.team.svc', '10.244.0.6')).toBe(false);
  expect(allows('headless.team.svc', '169.254.169.254')).toBe(false);
  expect(allows('10.244.0.5', '10.244.0.5')).toBe(false);
});

test.each(['plain.other.svc', 'bare.team.svc', 'alias.team.svc'])('%s is not dialled', async (host) => {
  await expect(network().addressesOf(host)).rejects.toThrow(AddressRefused);
});

test('a Service that is not there, and Services that were not read, are told apart', async () => {
  await expect(network().addressesOf('absent.team.svc')).rejects.toMatchObject({ code: 'ENOTFOUND' });
  await expect(network('namespace:unread').addressesOf('x.unread.svc')).rejects.toMatchObject({ code: 'SERVICES_UNREAD' });
});

test('what is allowed besides: a namespace, a host, a block; other names go to DNS and must be public', async () => {
  expect(await network('namespace:other').addressesOf('plain.other.svc')).toEqual(['10.96.0.9']);
  expect(network('namespace:other').allows('10.96.0.9', '10.96.0.9')).toBe(true);
  const byHost = network('*.other.svc');
  expect(await byHost.addressesOf('plain.other.svc')).toEqual(['192.168.1.1']);
  expect(byHost.allows('plain.other.svc', '192.168.1.1')).toBe(true);
  expect(network('192.168.0.0/16').allows('x.example', '192.168.1.1')).toBe(true);
  expect(await network().addressesOf('x.example')).toEqual(['192.168.1.1']);
  expect(network().allows('x.example', '192.168.1.1')).toBe(false);
  expect(network().allows('x.example', '93.184.216.34')).toBe(true);
});

test('only whole names of Services are taken for such', () => {
  expect(serviceNamed('a.b.svc')).toEqual({ namespace: 'b', name: 'a' });
  for (const host of ['a.svc', 'x.a.b.svc', 'a.b.svc.example.com', 'a.b', 'a.b.svc.cluster.local.evil.example'])
    expect(serviceNamed(host)).toBeUndefined();
});
