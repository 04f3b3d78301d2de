import { createPublicKey } from 'node:crypto';
import { decodeJwt, jwtVerify } from 'jose';
import { expect, test } from 'vitest';
import { ed25519Key, seedTokenSource } from './token.ts';

const seed = 'ab'.repeat(32);

/** A source over a clock that the test turns, in seconds, and seeds that it hands out one after the other. */
function sourceOf(seeds: readonly string[] = [seed]) {
  const clock = { seconds: 1_800_000_000 };
  const reads = { count: 0 };
  const source = seedTokenSource({
    readSeed: async () => seeds[Math.min(reads.count++, seeds.length - 1)] ?? '',
    now: () => clock.seconds * 1000,
  });
  return { source, clock, reads };
}

test('a token is signed with EdDSA by the seed, lasts 5 minutes, and has no nbf', async () => {
  const { source, clock } = sourceOf();
  const key = createPublicKey(ed25519Key(seed));
  const options = { algorithms: ['EdDSA'], issuer: 'mcp-registry', currentDate: new Date(clock.seconds * 1000) };
  const { payload } = await jwtVerify(await source.token(), key, options);
  expect(payload).toMatchObject({
    iat: clock.seconds,
    exp: clock.seconds + 300,
    permissions: [
      { action: 'publish', resource: '*' },
      { action: 'edit', resource: '*' },
    ],
  });
  expect(payload).not.toHaveProperty('nbf');
});

test('a token is kept until a minute before its end', async () => {
  const { source, clock, reads } = sourceOf();
  const first = await source.token();
  clock.seconds += 239;
  expect(await source.token()).toBe(first);
  clock.seconds += 1;
  expect(decodeJwt(await source.token()).iat).toBe(clock.seconds);
  expect(reads.count).toBe(2);
});

test('callers at the same time share one token', async () => {
  const { source, reads } = sourceOf();
  const tokens = await Promise.all(Array.from({ length: 5 }, () => source.token()));
  expect(new Set(tokens).size).toBe(1);
  expect(reads.count).toBe(1);
});

test('a renewal reads the seed again, so that a rotated one is used', async () => {
  const rotated = 'cd'.repeat(32);
  const { source, clock } = sourceOf([seed, rotated]);
  await source.token();
  const renewed = await source.renew();
  const options = { currentDate: new Date(clock.seconds * 1000) };
  await expect(jwtVerify(renewed, createPublicKey(ed25519Key(rotated)), options)).resolves.toBeDefined();
  expect(await source.token()).toBe(renewed);
});

test('a seed that could not be read is read again for the next token', async () => {
  const { source } = sourceOf(['', seed]);
  await expect(source.token()).rejects.toThrow('64 hexadecimal digits, got 0 characters');
  await expect(source.token()).resolves.toBeDefined();
});

test('a seed may end in a newline, as files do', () => {
  expect(ed25519Key(`${seed}\n`).asymmetricKeyType).toBe('ed25519');
});

test('a wrong seed is not repeated in the error', () => {
  expect(() => ed25519Key('secret-secret')).toThrow(/^(?!.*secret-secret)/);
});
