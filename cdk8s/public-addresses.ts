/**
 * Public addresses as blocks of a NetworkPolicy: what lib/address-guard calls public, as far as blocks can say it. A test holds the two
 * against each other.
 */
export const publicIPv4 = {
  cidr: '0.0.0.0/0',
  except: [
    '0.0.0.0/8',
    '10.0.0.0/8',
    '100.64.0.0/10',
    '127.0.0.0/8',
    '168.63.129.16/32',
    '169.254.0.0/16',
    '172.16.0.0/12',
    '192.0.0.0/24',
    '192.0.2.0/24',
    '192.88.99.0/24',
    '192.168.0.0/16',
    '198.18.0.0/15',
    '198.51.100.0/24',
    '203.0.113.0/24',
    '224.0.0.0/4',
    '240.0.0.0/4',
  ],
} as const;

/** All that is routed publicly lies here; private, link-local, metadata and mapped addresses are outside. */
export const publicIPv6 = {
  cidr: '2000::/3',
  except: ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'],
} as const;
