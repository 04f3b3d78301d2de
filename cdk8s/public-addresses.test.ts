import * as fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { expect, test } from 'vitest';
import { classifyAddress } from '../lib/address-guard/address.ts';
import { publicIPv4, publicIPv6 } from './public-addresses.ts';

/** Whether the blocks of a NetworkPolicy let an address through. */
function admitted(address: string): boolean {
  const ip = ipaddr.parse(address);
  const { cidr, except } = ip.kind() === 'ipv4' ? publicIPv4 : publicIPv6;
  const isIn = (block: string) => ip.match(ipaddr.parseCIDR(block));
  return isIn(cidr) && !except.some(isIn);
}

/** Both ends of every block, and what lies just outside. */
const edges = [publicIPv4, publicIPv6].flatMap(({ cidr, except }) =>
  [cidr, ...except].flatMap((block) => {
    const [network, bits] = ipaddr.parseCIDR(block);
    const size = network.kind() === 'ipv4' ? 32n : 128n;
    const first = BigInt(`0x${Buffer.from(network.toByteArray()).toString('hex')}`);
    const after = first + (1n << (size - BigInt(bits)));
    return [first - 1n, first, after - 1n, after].filter((at) => at >= 0n && at < 1n << size).map((at) => addressAt(at, Number(size / 8n)));
  }),
);

function addressAt(at: bigint, bytes: number): string {
  return ipaddr.fromByteArray([...Buffer.from(at.toString(16).padStart(bytes * 2, '0'), 'hex')]).toString();
}

test.each(edges)('the policy and the address guard agree on %s', (address) => {
  expect(admitted(address)).toBe(classifyAddress(address) === 'public');
});

test.each([
  '10.0.0.1',
  '127.0.0.1',
  '169.254.169.254',
  '168.63.129.16',
  '100.100.100.200',
  '192.0.0.192',
  '192.168.1.1',
  '172.31.0.1',
  '0.0.0.0',
  '::1',
  'fe80::1',
  'fd00:ec2::254',
  'fd20:ce::254',
  '::ffff:10.0.0.1',
  '64:ff9b::a00:1',
  '2002:a00:1::',
  '2001:0:a00:1::',
  'ff02::1',
])('neither lets %s through', (address) => {
  expect(admitted(address)).toBe(false);
  expect(classifyAddress(address)).not.toBe('public');
});

test('the policy and the address guard agree on any IPv4 address', () => {
  fc.assert(
    fc.property(fc.ipV4(), (address) => {
      expect(admitted(address)).toBe(classifyAddress(address) === 'public');
    }),
    { numRuns: 2000 },
  );
});

test('the policy lets no IPv6 address through that the guard refuses', () => {
  const anywhere = fc.bigInt({ min: 0n, max: (1n << 128n) - 1n });
  const publicly = fc.bigInt({ min: 0x2n << 124n, max: (0x4n << 124n) - 1n });
  fc.assert(
    fc.property(
      fc.oneof(anywhere, publicly).map((at) => addressAt(at, 16)),
      (address) => {
        expect(admitted(address) ? classifyAddress(address) : 'public').toBe('public');
      },
    ),
    { numRuns: 2000 },
  );
});
