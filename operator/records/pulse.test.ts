import { expect, test } from 'vitest';
import { Pulse } from './pulse.ts';

test('time in which the process could not run is noticed, and only that since then', () => {
  const pulse = new Pulse();
  pulse.start();
  try {
    const start = performance.now();
    while (performance.now() - start < 400);
    expect(pulse.lostSince(start)).toBeGreaterThan(200);
    expect(pulse.lostSince(start)).toBeLessThanOrEqual(performance.now() - start);
    expect(pulse.lostSince(performance.now())).toBe(0);
  } finally {
    pulse.close();
  }
});
