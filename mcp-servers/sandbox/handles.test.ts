import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { base32, Handles, isHandle } from './handles.ts';

const handles = new Handles(Buffer.alloc(32, 7));
const principal = fc.string({ minLength: 1, maxLength: 80 });
const key = fc.string({ minLength: 1, maxLength: 80 });

test('base32 is that of RFC 4648 section 10, in lower case and without padding', () => {
  const vectors = { '': '', f: 'my', fo: 'mzxq', foo: 'mzxw6', foob: 'mzxw6yq', fooba: 'mzxw6ytb', foobar: 'mzxw6ytboi' };
  for (const [text, encoded] of Object.entries(vectors)) expect(base32(Buffer.from(text))).toBe(encoded);
});

test('a handle is a name that a claim may have: a DNS label of at most 40 characters', () => {
  fc.assert(
    fc.property(principal, fc.option(key, { nil: undefined }), (who, idempotencyKey) => {
      const handle = handles.handle(who, idempotencyKey);
      expect(handle).toMatch(/^[a-z]([-a-z0-9]{0,38}[a-z0-9])$/);
      expect(isHandle(handle)).toBe(true);
    }),
  );
});

test('the same caller and key give the same handle, on every replica that has the same secret', () => {
  fc.assert(
    fc.property(principal, key, (who, idempotencyKey) => {
      expect(new Handles(Buffer.alloc(32, 7)).handle(who, idempotencyKey)).toBe(handles.handle(who, idempotencyKey));
    }),
  );
});

test('another caller, another key or another secret gives another handle, however the two are cut', () => {
  fc.assert(
    fc.property(principal, key, principal, key, (who, one, other, two) => {
      fc.pre(who !== other || one !== two);
      expect(handles.handle(other, two)).not.toBe(handles.handle(who, one));
      expect(new Handles(Buffer.alloc(32, 8)).handle(who, one)).not.toBe(handles.handle(who, one));
    }),
  );
});

test('without a key every handle is new', () => {
  const made = Array.from({ length: 1000 }, () => handles.handle('ann', undefined));
  expect(new Set(made).size).toBe(made.length);
});

test('an owner mark is a label value, does not show the name, and is no handle’s secret', () => {
  fc.assert(
    fc.property(principal, (who) => {
      const owner = handles.owner(who);
      expect(owner).toMatch(/^[a-z2-7]{32}$/);
      expect(handles.handle(who, who)).not.toContain(owner);
    }),
  );
});

test.each([
  '',
  'sb-',
  `sb-${'a'.repeat(31)}`,
  `sb-${'a'.repeat(33)}`,
  `SB-${'a'.repeat(32)}`,
  `sb-${'1'.repeat(32)}`,
  `sb-${'a'.repeat(32)}\n`,
  '../../etc',
])('%j is no handle', (text) => {
  expect(isHandle(text)).toBe(false);
});
