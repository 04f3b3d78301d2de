import { expect, test } from 'vitest';
import { readOptions } from './stdio.ts';

test("the incumbent's options are understood", () => {
  expect(readOptions([])).toEqual({ settings: {}, allowPrivate: false });
  expect(
    readOptions(['--stdio', '--user-agent=Robot/1', '--ignore-robots-txt', '--allow-private-ips', '--proxy-url', 'http://u:p@proxy:3128']),
  ).toEqual({
    settings: { FETCH_USER_AGENT: 'Robot/1', FETCH_IGNORE_ROBOTS: 'true' },
    allowPrivate: true,
    proxy: new URL('http://u:p@proxy:3128'),
  });
});

test.each([['--timeout', '5'], ['extra'], ['--allow-private-ips=no'], ['--proxy-url', 'proxy:3128'], ['--proxy-url', 'socks5://proxy']])(
  'others are refused: %s %s',
  (...args) => {
    expect(() => readOptions(args)).toThrow(/--timeout|extra|allow-private-ips|accepts the URL of an HTTP proxy/);
  },
);
