import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { ApiClock } from './clock.ts';

/** As a server writes it: whole seconds. */
function dateAt(time: number): string {
  return new Date(Math.floor(time / 1000) * 1000).toUTCString();
}

const SERVER = Date.parse('2026-11-30T12:00:00Z');

test('before any answer, or without a date in it, it is its own clock', () => {
  const clock = new ApiClock(() => 5);
  clock.saw(undefined);
  clock.saw('yesterday');
  expect(clock.now()).toBe(5);
});

test("it is never ahead of the server's clock, and behind by less than two seconds, however wrong its own is", () => {
  const answers = fc.array(fc.record({ after: fc.integer({ min: 0, max: 20_000 }), delay: fc.integer({ min: 0, max: 900 }) }), {
    minLength: 1,
  });
  const wrong = fc.integer({ min: -2 * 86_400_000, max: 2 * 86_400_000 });
  const property = fc.property(answers, wrong, (happenings, by) => {
    let server = SERVER;
    const clock = new ApiClock(() => server + by);
    for (const { after, delay } of happenings) {
      server += after;
      const date = dateAt(server);
      server += delay;
      clock.saw(date);
      expect(clock.now()).toBeLessThanOrEqual(server);
      expect(server - clock.now()).toBeLessThan(2_000);
    }
  });
  fc.assert(property);
});

test('a clock that is set back is followed within two minutes', () => {
  let [server, own] = [SERVER, 0];
  const clock = new ApiClock(() => own);
  const pass = (ms: number): void => {
    server += ms;
    own += ms;
    clock.saw(dateAt(server));
  };
  pass(2_000);
  server -= 3_600_000;
  for (let passed = 0; passed <= 120_000; passed += 2_000) pass(2_000);
  expect(Math.abs(server - clock.now())).toBeLessThan(2_000);
});
