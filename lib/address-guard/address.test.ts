import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { classifyAddress, isInside, parseCidr, type AddressClass, type Cidr } from './address.ts';

const table: readonly (readonly [AddressClass, readonly string[]])[] = [
  ['public', ['1.1.1.1', '8.8.8.8', '93.184.215.14', '172.15.255.255', '172.32.0.0', '100.63.255.255', '100.128.0.0', '2606:4700::1111']],
  ['loopback', ['127.0.0.1', '127.255.255.255', '::1', '0:0:0:0:0:0:0:1', '::ffff:127.0.0.1', '::127.0.0.1', '64:ff9b::7f00:1']],
  ['private', ['10.0.0.0', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.1.1', '100.64.0.1', '100.127.255.255']],
  ['private', ['fc00::1', 'fdff:ffff::1', 'fec0::1', '::ffff:10.0.0.1', '::ffff:a00:1', '64:ff9b::10.0.0.1', '::a00:1']],
  ['link-local', ['169.254.0.1', '169.254.169.254', 'fe80::1', 'fe80::1%eth0', 'febf::1', '::ffff:169.254.169.254', '64:ff9b::a9fe:a9fe']],
  ['metadata', ['168.63.129.16', '::ffff:168.63.129.16', '100.100.100.200', '192.0.0.192', 'fd00:ec2::254', 'fd20:ce::254']],
  ['transition', ['2002:7f00:1::', '2002:808:808::1', '2001:0:7f00:1::', '::ffff:0:127.0.0.1', '64:ff9b:1::7f00:1']],
  ['multicast', ['224.0.0.1', '239.255.255.255', '255.255.255.255', 'ff02::1', '::ffff:224.0.0.1']],
  ['unspecified', ['0.0.0.0', '0.1.2.3', '::', '::ffff:0.0.0.0', '::2']],
  ['reserved', ['192.0.0.1', '192.0.2.1', '198.18.0.1', '198.51.100.1', '203.0.113.1', '192.88.99.1', '240.0.0.1', '254.1.1.1']],
  ['reserved', ['2001:db8::1', '3fff::1', '5f00::1', '100::1', '2001:10::1', '2001:2::1', '4000::1', '8000::1', '1::1', '64:ff9a::1']],
  [
    'invalid',
    ['', 'localhost', '1.2.3', '0177.0.0.1', '0x7f.0.0.1', '2130706433', '1.2.3.4.5', '[::1]', '1.2.3.4%eth0', ':::1', '1.2.3.4/8'],
  ],
];

describe('every address has one class', () => {
  test.each(table.flatMap(([kind, addresses]) => addresses.map((address) => [address, kind] as const)))('%s is %s', (address, kind) => {
    expect(classifyAddress(address)).toBe(kind);
  });
});

const octets = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255));

test('an IPv4 address has the class of where it leads in every IPv6 form that embeds it', () => {
  fc.assert(
    fc.property(octets, (parts) => {
      const plain = parts.join('.');
      const hex = parts.map((part) => part.toString(16).padStart(2, '0')).join('');
      const low = `${hex.slice(0, 4)}:${hex.slice(4)}`;
      for (const form of [`::ffff:${plain}`, `::ffff:${low}`, `0:0:0:0:0:FFFF:${low}`, `64:ff9b::${plain}`, `64:FF9B::${low}%1`]) {
        expect([form, classifyAddress(form)]).toEqual([form, classifyAddress(plain)]);
      }
    }),
  );
});

test('a spelling that a URL accepts for an IPv4 host is judged as the address it becomes', () => {
  fc.assert(
    fc.property(octets, ([a, b, c, d]) => {
      const number = ((a * 256 + b) * 256 + c) * 256 + d;
      const low = (b * 256 + c) * 256 + d;
      const spellings = [
        `${number}`,
        `0x${number.toString(16)}`,
        `0${number.toString(8)}`,
        `${a}.${low}`,
        `0x${a.toString(16)}.${b}.${c}.${d}`,
      ];
      for (const spelling of spellings) {
        expect(classifyAddress(new URL(`http://${spelling}/`).hostname)).toBe(classifyAddress(`${a}.${b}.${c}.${d}`));
        expect(classifyAddress(spelling)).toBe('invalid');
      }
    }),
  );
});

test('an IPv6 address outside 2000::/3 is public only when it embeds a public IPv4 address', () => {
  fc.assert(
    fc.property(fc.ipV6(), (address) => {
      const [head = ''] = new URL(`http://[${address}]`).hostname.slice(1).split(':');
      const inside = /^[23][0-9a-f]{3}$/.test(head);
      const embeds = isInside(address, ['::ffff:0:0/96', '::/96', '64:ff9b::/96'].map(block));
      expect(classifyAddress(address) === 'public' && !inside && !embeds).toBe(false);
    }),
  );
});

test('classifying is total', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.ipV6(), fc.ipV4(), fc.webAuthority()), (text) => {
      expect(() => classifyAddress(text)).not.toThrow();
    }),
  );
});

describe('blocks', () => {
  test.each(['', '10.0.0.0/33', '10.0.0.0/-1', '10.0.0.0/8/8', '10.0.0.0/', '10.0.0.0/a', '::/129', 'example.org', '10.0.0/8'])(
    '%s is not a block',
    (text) => {
      expect(parseCidr(text)).toBeUndefined();
    },
  );

  test.each([
    ['10.0.0.0/8', '10.1.2.3'],
    ['10.0.0.0/8', '::ffff:10.1.2.3'],
    ['10.0.0.0/8', '64:ff9b::10.1.2.3'],
    ['::ffff:10.0.0.0/104', '10.1.2.3'],
    ['64:ff9b::/96', '64:ff9b::1.1.1.1'],
    ['10.1.2.3', '10.1.2.3'],
    ['fd00::/8', 'fd12::1%eth0'],
    ['0.0.0.0/0', '255.1.1.1'],
    ['::/0', '1.1.1.1'],
  ])('%s holds %s', (text, address) => {
    expect(isInside(address, [block(text)])).toBe(true);
  });

  test.each([
    ['10.0.0.0/8', '11.0.0.0'],
    ['10.0.0.0/8', 'a00::'],
    ['0.0.0.0/0', '2606::1'],
    ['10.1.2.3', '10.1.2.4'],
    ['::/0', 'nonsense'],
  ])('%s does not hold %s', (text, address) => {
    expect(isInside(address, [block(text)])).toBe(false);
  });
});

function block(text: string): Cidr {
  const parsed = parseCidr(text);
  if (parsed === undefined) throw new Error(`not a block: ${text}`);
  return parsed;
}
