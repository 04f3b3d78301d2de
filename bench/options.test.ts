import { expect, test } from 'vitest';
import type { Benchmark } from './bench.ts';
import { helpText, readOptions } from './options.ts';

const benchmark = (name: string): Benchmark => ({ name, about: `what ${name} measures`, run: async () => {} });
const benchmarks = [benchmark('publish'), benchmark('read')];

test('without options all is measured, and the file made anew', () => {
  expect(readOptions([], benchmarks)).toMatchObject({ chosen: benchmarks, partly: false, rounds: 5, seconds: 1, endpoints: 1000 });
});

test('--only names what is measured; the rows of the others stay in the file', () => {
  expect(readOptions(['--only', 'read'], benchmarks)).toMatchObject({ chosen: [benchmarks[1]], partly: true });
  expect(readOptions(['--only', 'read', '--only', 'publish'], benchmarks)).toMatchObject({ chosen: benchmarks, partly: false });
});

test.each([
  [['--only', 'reed'], 'no benchmark reed'],
  [['--rounds', '0'], '--rounds: a number above 0, not 0'],
  [['--seconds', 'x'], '--seconds: a number above 0, not x'],
  [['--fast'], "Unknown option '--fast'"],
])('%j is refused, and the message says why', (args, message) => {
  expect(() => readOptions(args, benchmarks)).toThrow(message);
});

test('help names every benchmark', () => {
  expect(readOptions(['--help'], benchmarks)).toBeUndefined();
  for (const { name, about } of benchmarks) expect(helpText(benchmarks)).toMatch(new RegExp(`${name} +${about}`));
});
