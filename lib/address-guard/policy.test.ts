import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  anyAddress,
  anythingButLinkLocal,
  isAddressBlock,
  isOrigin,
  policyHost,
  policyPort,
  publicOnly,
  type AddressPolicy,
} from './policy.ts';

function admits(policy: AddressPolicy, address: string, host = address, port = 80): boolean {
  return policy.judge({ host, address, port }).allow;
}

describe('publicOnly', () => {
  test('admits public addresses and nothing else', () => {
    const policy = publicOnly();
    expect(admits(policy, '1.1.1.1')).toBe(true);
    for (const address of ['127.0.0.1', '10.0.0.1', '169.254.169.254', '168.63.129.16', '::1', '2002:101:101::', 'nonsense']) {
      expect([address, admits(policy, address, 'example.org')]).toEqual([address, false]);
    }
  });

  test('says what the refused address is', () => {
    expect(publicOnly().judge({ host: 'x.test', address: '127.0.0.1', port: 80 })).toEqual({ allow: false, reason: 'a loopback address' });
  });

  test('an allowed origin is excepted on its own port only', () => {
    const policy = publicOnly({ allowOrigins: ['http://127.0.0.1:8080', 'https://wiki.corp'] });
    expect(admits(policy, '127.0.0.1', '127.0.0.1', 8080)).toBe(true);
    expect(admits(policy, '127.0.0.1', '127.0.0.1', 8081)).toBe(false);
    expect(admits(policy, '127.0.0.1', 'evil.test', 8080)).toBe(false);
    expect(admits(policy, '10.0.0.7', 'wiki.corp', 443)).toBe(true);
    expect(admits(policy, '10.0.0.7', 'wiki.corp', 80)).toBe(false);
    expect(admits(policy, '10.0.0.7', 'x.wiki.corp', 443)).toBe(false);
  });

  test('an excepted name cannot be pointed at a link-local or metadata address', () => {
    const policy = publicOnly({ allowOrigins: ['http://wiki.corp'], allow: ['wiki.corp', '169.254.0.0/16', '0.0.0.0/0'] });
    expect(admits(policy, '169.254.169.254', 'wiki.corp')).toBe(false);
    expect(admits(policy, '168.63.129.16', 'wiki.corp')).toBe(false);
  });

  test('a link-local address that is named itself is excepted', () => {
    expect(admits(publicOnly({ allowOrigins: ['http://169.254.169.254'] }), '169.254.169.254')).toBe(true);
    expect(admits(publicOnly({ allow: ['169.254.169.254'] }), '169.254.169.254', 'metadata.test')).toBe(true);
  });

  test('blocks, names and domains are excepted', () => {
    const policy = publicOnly({ allow: ['10.1.0.0/16', 'db.corp', '*.tools.svc'] });
    expect(admits(policy, '10.1.2.3', 'any.test')).toBe(true);
    expect(admits(policy, '::ffff:10.1.2.3', 'any.test')).toBe(true);
    expect(admits(policy, '10.2.0.1', 'db.corp')).toBe(true);
    expect(admits(policy, '10.2.0.1', 'a.tools.svc')).toBe(true);
    for (const host of ['any.test', 'x.db.corp', 'tools.svc', 'eviltools.svc', 'a.tools.svc.evil.test']) {
      expect([host, admits(policy, '10.2.0.1', host)]).toEqual([host, false]);
    }
  });

  test('what is denied stays denied, in every form of the address', () => {
    const policy = publicOnly({ deny: ['93.184.0.0/16'], allow: ['93.184.215.14'], allowOrigins: ['http://93.184.215.14'] });
    expect(admits(policy, '93.184.215.14')).toBe(false);
    expect(admits(policy, '::ffff:93.184.215.14', 'x.test')).toBe(false);
    expect(admits(policy, '64:ff9b::93.184.215.14', 'x.test')).toBe(false);
    expect(admits(policy, '93.185.0.1')).toBe(true);
  });

  test.each([
    { deny: ['10.0.0.0/40'] },
    { deny: ['corp'] },
    { allow: ['a b'] },
    { allow: ['10.0.0.0/40'] },
    { allowOrigins: ['wiki.corp'] },
  ])('a wrong exception is an error that names it: %j', (exceptions) => {
    expect(() => publicOnly(exceptions)).toThrow(`"${Object.values(exceptions).flat()[0]}" is not`);
  });
});

describe('anythingButLinkLocal', () => {
  test('admits loopback and private addresses', () => {
    for (const address of ['127.0.0.1', '::1', '10.0.0.1', 'fd00::1', '1.1.1.1', '::ffff:127.0.0.1']) {
      expect([address, admits(anythingButLinkLocal(), address)]).toEqual([address, true]);
    }
  });

  test('refuses link-local and metadata addresses in every disguise', () => {
    const disguises = ['169.254.169.254', '::ffff:169.254.169.254', '::169.254.169.254', '64:ff9b::169.254.169.254', '2002:a9fe:a9fe::'];
    for (const address of [...disguises, 'fe80::1%eth0', '168.63.129.16', 'fd00:ec2::254', '64:ff9b:1::a9fe:a9fe']) {
      expect([address, admits(anythingButLinkLocal(), address)]).toEqual([address, false]);
    }
  });
});

test('anyAddress refuses only what is denied and what is no address', () => {
  const policy = anyAddress({ deny: ['10.0.0.0/8'] });
  expect(admits(policy, '169.254.169.254')).toBe(true);
  expect(admits(policy, '10.0.0.1')).toBe(false);
  expect(admits(policy, 'nonsense')).toBe(false);
});

test('an exception never makes a policy refuse what it admitted without', () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), fc.nat(32), (address, bits) => {
      const excepted = publicOnly({ allow: [`10.0.0.0/${bits}`, 'a.test'], allowOrigins: ['http://b.test'] });
      expect(!admits(publicOnly(), address) || admits(excepted, address)).toBe(true);
    }),
  );
});

test.each(['http://127.0.0.1:8080', 'https://wiki.corp', 'https://wiki.corp/', 'http://[::1]:9'])('%s is an origin', (text) => {
  expect(isOrigin(text)).toBe(true);
});

test.each(['127.0.0.1:80', 'http://a/b', 'http://u@a', 'http://a?', 'http://a/?q', 'http://a/#f', 'ftp://a', 'http://*.a', '*', 'null'])(
  '%s is no origin',
  (text) => {
    expect(isOrigin(text)).toBe(false);
  },
);

test('a block of addresses is recognised', () => {
  expect(['10.0.0.0/8', '::1', 'fd00::/8', 'corp', '10.0.0.0/99'].map(isAddressBlock)).toEqual([true, true, true, false, false]);
});

test('hosts and ports are seen as URLs mean them', () => {
  expect(policyHost('[::1]')).toBe('::1');
  expect(policyHost('LocalHost.')).toBe('localhost');
  expect(policyPort(new URL('https://a'))).toBe(443);
  expect(policyPort(new URL('http://a'))).toBe(80);
  expect(policyPort(new URL('https://a:80'))).toBe(80);
});
