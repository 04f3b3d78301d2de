import * as fc from 'fast-check';
import robotsParser from 'robots-parser';
import { describe, expect, test } from 'vitest';
import { parseRobots, productToken } from './robots.ts';

const token = 'modelcontextprotocol';

// its types promise an ES default export, while at run time the module is the function
const parseByPeer = robotsParser as unknown as typeof robotsParser.default;

function allows(text: string, path: string, crawler = token): boolean {
  return parseRobots(text, crawler).judge(path).allow;
}

test('a User-Agent is known by its product token', () => {
  expect(productToken('ModelContextProtocol/1.0 (Autonomous; +https://example.org)')).toBe(token);
  expect(productToken('  My_Bot-x 2')).toBe('my_bot-x');
  expect(productToken('7up')).toBe('');
});

describe('groups', () => {
  test('our own group replaces the one for everybody, even when it has no rules', () => {
    const text = 'User-agent: *\nDisallow: /\n\nUser-agent: ModelContextProtocol\nDisallow:\n';
    expect(allows(text, '/a')).toBe(true);
    expect(allows(text, '/a', 'other')).toBe(false);
  });

  test('groups of one name are one', () => {
    const text =
      'User-agent: modelcontextprotocol\nDisallow: /a\nUser-agent: x\nDisallow: /\nUser-agent: ModelContextProtocol/2\nDisallow: /b';
    expect([allows(text, '/a'), allows(text, '/b'), allows(text, '/c')]).toEqual([false, false, true]);
  });

  test('a record of another kind does not end a list of agents', () => {
    const text = 'User-agent: modelcontextprotocol\nSitemap: https://example.org/s.xml\nCrawl-delay: 4\nUser-agent: x\nDisallow: /a';
    expect(allows(text, '/a')).toBe(false);
  });

  test('rules before any group concern nobody', () => {
    expect(allows('Disallow: /', '/a')).toBe(true);
  });

  test('a token is compared whole', () => {
    expect(allows('User-agent: model\nDisallow: /', '/a')).toBe(true);
    expect(allows('User-agent: modelcontextprotocolx\nDisallow: /', '/a')).toBe(true);
  });
});

describe('patterns', () => {
  test.each([
    ['/fish', '/fish.html', false],
    ['/fish', '/Fish', true],
    ['/fish*', '/fishheads/yummy.html', false],
    ['/*.php', '/folder/any.php.file', false],
    ['/*.php$', '/filename.php', false],
    ['/*.php$', '/filename.php?x', true],
    ['/$', '/', false],
    ['/$', '/a', true],
    ['/a*b*c$', '/a-b-b-c', false],
    ['/a*bc$', '/abc', false],
    ['/ab*bc$', '/abc', true],
    ['fish', '/fish', true],
    ['*fish', '/a/fish', false],
    ['/a%3cd.html', '/a%3Cd.html', false],
    ['/%7Ejoe/', '/~joe/x', false],
    ['/a/%2f', '/a//', true],
    ['/ツ', '/%E3%83%84', false],
    ['/%e3%83%84', '/%E3%83%84', false],
    ['/x?q=', '/x?q=1', false],
  ])('Disallow: %s leaves %s allowed: %s', (pattern, path, allowed) => {
    expect(allows(`User-agent: *\nDisallow: ${pattern}`, path)).toBe(allowed);
  });

  test('the longest matching rule wins, Allow over Disallow of the same length', () => {
    expect(allows('User-agent: *\nAllow: /p\nDisallow: /', '/page')).toBe(true);
    expect(allows('User-agent: *\nAllow: /folder\nDisallow: /folder', '/folder/page')).toBe(true);
    expect(allows('User-agent: *\nAllow: /page\nDisallow: /*.htm', '/page.htm')).toBe(false);
    expect(allows('User-agent: *\nDisallow: /\nAllow: /$', '/')).toBe(true);
  });

  test('/robots.txt itself is always allowed', () => {
    expect(allows('User-agent: *\nDisallow: /', '/robots.txt')).toBe(true);
  });
});

test('the verdict quotes the line that forbids', () => {
  expect(parseRobots('user-agent: *\n  DISALLOW : /a/*   # no\n', token).judge('/a/b')).toEqual({ allow: false, rule: 'DISALLOW : /a/*' });
});

test('line ends, comments, a byte order mark and an HTML error page are taken as they come', () => {
  expect(allows('\uFEFFUser-agent: *\rDisallow: /a # b\r\n#Disallow: /c\nDisallow: /d', '/a')).toBe(false);
  expect(allows('User-agent: *\n#Disallow: /c', '/c')).toBe(true);
  expect(allows('<!doctype html>\n<html><body style="color: red">Not found: /</body></html>', '/a')).toBe(true);
});

test('robots-parser comes to the same verdict wherever a group has rules', () => {
  const path = fc
    .array(fc.constantFrom('a', 'b', '/', '*', '$', '.', '%41', 'é', '?'), { maxLength: 6 })
    .map((parts) => `/${parts.join('')}`);
  const agents = fc.constantFrom('*', 'ModelContextProtocol', 'other');
  const group = fc.record({
    agents: fc.array(agents, { minLength: 1, maxLength: 3 }),
    rules: fc.array(fc.tuple(fc.boolean(), path), { minLength: 1, maxLength: 4 }),
  });
  fc.assert(
    fc.property(fc.array(group, { maxLength: 3 }), path, (groups, target) => {
      const text = groups
        .flatMap(({ agents, rules }) => [
          ...agents.map((name) => `User-agent: ${name}`),
          ...rules.map(([allow, to]) => `${allow ? 'Allow' : 'Disallow'}: ${to}`),
        ])
        .join('\n');
      const url = new URL(`http://a.test${target.replaceAll('%41', 'A')}`);
      const plain = text.replaceAll('%41', 'A');
      const expected = parseByPeer('http://a.test/robots.txt', plain).isAllowed(url.href, 'ModelContextProtocol/1.0');
      expect(allows(plain, url.pathname + url.search)).toBe(expected ?? true);
    }),
    { numRuns: 500 },
  );
});

describe('rules that are made to take long are not followed, and forbid', () => {
  const path = `/${'a'.repeat(16_000)}`;
  const rules = (pattern: string): string => `user-agent: *\n${`disallow: ${pattern}\n`.repeat(500_000 / (pattern.length + 11))}`;
  test.each([
    ['many that nearly match', rules(`/*${'a'.repeat(10)}b`)],
    ['few and long', rules(`/*${'a'.repeat(1_000)}b${'a'.repeat(1_000)}`)],
    ['that nearly match at each place', rules(`/*b${'a'.repeat(90)}`)],
    ['many and short', rules('/*b*c$')],
  ])('%s', (_name, text) => {
    const parsed = parseRobots(text, token);
    const before = process.cpuUsage();
    expect(parsed.judge(path)).toEqual({ allow: false, rule: 'more rules with wildcards than can be matched with this URL' });
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(250);
  });

  test('but thousands of ordinary ones are', () => {
    const text = `user-agent: *\n${Array.from({ length: 10_000 }, (_, n) => `disallow: /*/section-${n}/*.html$`).join('\n')}`;
    expect(allows(text, `/some/long/path/of/a/page/in/section-x/${'words-'.repeat(10)}.html?a=b`)).toBe(true);
    expect(allows(text, '/some/section-9999/page.html')).toBe(false);
  });
});

test.each([
  ['agents by rules', `${'user-agent:*\n'.repeat(15_000)}${'disallow:/b\n'.repeat(15_000)}`],
  ['wildcards', `user-agent:*\ndisallow:/${'*a'.repeat(200_000)}`],
])('a hostile file of half a megabyte costs little: %s', (_name, text) => {
  const started = performance.now();
  expect(allows(text, `/${'a'.repeat(8_000)}`)).toBe(true);
  expect(performance.now() - started).toBeLessThan(1_500);
});
