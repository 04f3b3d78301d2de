import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { admission, newLifetime, renewedEnd, type SandboxLimits } from './policy.ts';

const limits: SandboxLimits = { perCaller: 3, inAll: 5, maxIdleMs: 3_600_000, maxAgeMs: 14_400_000 };
const NOW = Date.UTC(2026, 10, 30);
const anyLimits = fc.record({
  perCaller: fc.integer({ min: 1, max: 50 }),
  inAll: fc.integer({ min: 1, max: 50 }),
  maxIdleMs: fc.integer({ min: 1000, max: 1e8 }),
  maxAgeMs: fc.integer({ min: 1000, max: 1e8 }),
});

describe('a new sandbox', () => {
  test('lives as long unused as asked for', () => {
    expect(newLifetime(300, limits, NOW)).toEqual({ createdAt: NOW, idleMs: 300_000, shutdownAt: NOW + 300_000 });
  });

  test('never lives for ever: null and too much become what is allowed', () => {
    fc.assert(
      fc.property(fc.option(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })), anyLimits, (asked, any) => {
        const { shutdownAt } = newLifetime(asked, any, NOW);
        expect(shutdownAt).toBeGreaterThan(NOW);
        expect(shutdownAt).toBeLessThanOrEqual(NOW + Math.min(any.maxIdleMs, any.maxAgeMs));
      }),
    );
  });
});

describe('using a sandbox', () => {
  test('puts its end off to the end of the call and the time it may go unused, and a tenth of that', () => {
    const lifetime = newLifetime(300, limits, NOW);
    expect(renewedEnd(lifetime, 60_000, limits, NOW + 200_000)).toBe(NOW + 560_000 + 30_000);
  });

  test('again soon after that puts nothing off, and later it does', () => {
    const used = { ...newLifetime(300, limits, NOW), shutdownAt: NOW + 590_000 };
    expect(renewedEnd(used, 60_000, limits, NOW + 230_000)).toBeUndefined();
    expect(renewedEnd(used, 60_000, limits, NOW + 230_001)).toBe(NOW + 620_001);
  });

  test('only ever puts it off, and never beyond the highest age', () => {
    const times = fc.record({
      asked: fc.integer({ min: 1, max: 1e6 }),
      busyMs: fc.integer({ min: 0, max: 600_000 }),
      laterMs: fc.integer({ min: 0, max: 1e9 }),
    });
    fc.assert(
      fc.property(times, anyLimits, ({ asked, busyMs, laterMs }, any) => {
        const lifetime = newLifetime(asked, any, NOW);
        const end = renewedEnd(lifetime, busyMs, any, NOW + laterMs) ?? lifetime.shutdownAt;
        expect(end).toBeGreaterThanOrEqual(lifetime.shutdownAt);
        expect(end).toBeGreaterThanOrEqual(Math.min(NOW + laterMs + busyMs + lifetime.idleMs, lifetime.createdAt + any.maxAgeMs));
        expect(end).toBeLessThanOrEqual(lifetime.createdAt + any.maxAgeMs);
      }),
    );
  });
});

describe('one more sandbox', () => {
  test('is admitted while both the caller and the server have room', () => {
    expect(admission({ byCaller: 2, inAll: 4 }, limits)).toEqual({ admitted: true });
  });

  test('is refused beyond the caller’s share, saying how to get room', () => {
    expect(admission({ byCaller: 3, inAll: 3 }, limits)).toMatchObject({
      admitted: false,
      message: expect.stringContaining('delete_sandbox') as string,
    });
  });

  test('is refused beyond what there is, whoever asks', () => {
    expect(admission({ byCaller: 0, inAll: 5 }, limits)).toMatchObject({
      admitted: false,
      message: expect.stringContaining('all 5') as string,
    });
  });
});
