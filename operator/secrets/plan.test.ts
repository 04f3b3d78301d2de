import { expect, test } from 'vitest';
import { OVERLAP_MS, planAuthority, planCertificate, planHex, type FoundAuthority, type FoundCertificate } from './plan.ts';

const DAY = 86_400_000;
const hex = { is: 'hex', secret: 's', key: 'seed', bytes: 32 } as const;
const certificate = { is: 'certificate', secret: 's', hosts: ['b.svc', 'a.svc'] } as const;
const wish = { ...certificate, hosts: [...certificate.hosts] };
const facts = { from: 0, until: 90 * DAY, hosts: ['a.svc', 'b.svc'] };
const good: FoundCertificate = { isOurs: true, facts, isSigned: true };
const authority: FoundAuthority = {
  isOurs: true,
  current: { from: 0, until: 3650 * DAY, hosts: [] },
  next: undefined,
  previous: undefined,
};

test('random bytes are made once, beside whatever else the Secret holds', () => {
  expect(planHex(hex, undefined)).toEqual({ do: 'create' });
  expect(planHex(hex, { isOurs: false, keys: ['other'] })).toEqual({ do: 'add' });
  expect(planHex(hex, { isOurs: true, keys: ['seed'] })).toEqual({ do: 'nothing' });
});

test('a certificate is renewed when two thirds of its time are over, and for other hosts or another authority', () => {
  expect(planCertificate(wish, undefined, 0)).toEqual({ do: 'create' });
  expect(planCertificate(wish, good, 60 * DAY - 1)).toEqual({ do: 'nothing' });
  expect(planCertificate(wish, good, 60 * DAY).do).toBe('renew');
  expect(planCertificate({ ...wish, hosts: ['a.svc'] }, good, 0).do).toBe('renew');
  expect(planCertificate(wish, { ...good, isSigned: false }, 0).do).toBe('renew');
  expect(planCertificate(wish, { ...good, facts: undefined }, 0).do).toBe('renew');
});

test('what somebody else made is left alone, however old', () => {
  expect(planCertificate(wish, { ...good, isOurs: false }, 1000 * DAY)).toEqual({ do: 'foreign' });
  expect(planAuthority({ ...authority, isOurs: false }, 10_000 * DAY)).toEqual({ do: 'foreign' });
});

test('an authority is followed by one that clients know for a while before it signs', () => {
  const due = (3650 * DAY * 2) / 3;
  expect(planAuthority(undefined, 0)).toEqual({ do: 'create' });
  expect(planAuthority(authority, due - 1)).toEqual({ do: 'nothing' });
  expect(planAuthority(authority, due)).toEqual({ do: 'prepare' });
  const next = { from: due, until: due + 3650 * DAY, hosts: [] };
  expect(planAuthority({ ...authority, next }, due + OVERLAP_MS - 1)).toEqual({ do: 'nothing' });
  expect(planAuthority({ ...authority, next }, due + OVERLAP_MS)).toEqual({ do: 'switch' });
  const switched = { isOurs: true, current: next, next: undefined, previous: authority.current };
  expect(planAuthority(switched, due + OVERLAP_MS)).toEqual({ do: 'nothing' });
  expect(planAuthority(switched, 3650 * DAY)).toEqual({ do: 'forget' });
});

test('an authority that ended or cannot be read is replaced at once', () => {
  expect(planAuthority(authority, 3650 * DAY)).toEqual({ do: 'replace' });
  expect(planAuthority({ ...authority, current: undefined }, 0)).toEqual({ do: 'replace' });
  const next = { from: 3649 * DAY, until: 7300 * DAY, hosts: [] };
  expect(planAuthority({ ...authority, next }, 3650 * DAY)).toEqual({ do: 'switch' });
});
