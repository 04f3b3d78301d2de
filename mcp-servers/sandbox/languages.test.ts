import { expect, test } from 'vitest';
import { withTypeScript } from './languages.ts';

test.each([
  ['22.17.1', false],
  ['22.18.0', true],
  ['23.5.0', false],
  ['23.6.0', true],
  ['26.0.0', true],
  ['odd', false],
])('whether TypeScript runs on Node %s: %s', (version, runs) => {
  const languages = withTypeScript([
    { name: 'javascript', version },
    { name: 'bash', version: '26.0.0' },
  ]);
  const typescript = runs ? [{ name: 'typescript', version }] : [];
  expect(languages).toEqual([{ name: 'javascript', version }, ...typescript, { name: 'bash', version: '26.0.0' }]);
});
