import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { fillTemplate, templateVariables } from './url-template.ts';

test('variables are the texts between braces', () => {
  expect(templateVariables('https://{host}:{port}/{a b}{}{{x}}')).toEqual(['host', 'port', 'a b', '{x']);
});

test('an open brace without an end names nothing', () => {
  expect(templateVariables('https://a/{host')).toEqual([]);
  expect(templateVariables('https://a/}{')).toEqual([]);
});

test.each([
  ['https://{host}:{port}/{path}', 'https://example.com:8080/api'],
  ['{scheme}://{tenant}.example', 'http://placeholder.example'],
  ['https://a:{p}', 'https://a:8080'],
  ['https://a:{p}/x', 'https://a:8080/x'],
  ['https://a:{p}x', 'https://a:placeholderx'],
  ['https://a/{}', 'https://a/{}'],
  ['{url}', 'placeholder'],
])('%s is filled in with what fits the place', (template, filled) => {
  expect(fillTemplate(template)).toBe(filled);
});

test('a URL without variables stays as it is', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const url = text.replaceAll('{', '');
      expect([fillTemplate(url), templateVariables(url)]).toEqual([url, []]);
    }),
  );
});

test('hostile templates take linear time', () => {
  const started = performance.now();
  for (const piece of ['{', ':{', '{}', '{a}', '{{}']) fillTemplate(piece.repeat(100_000));
  expect(performance.now() - started).toBeLessThan(2000);
});
