import { describe, expect, test } from 'vitest';
import { readConfig } from '../../lib/config.ts';
import { fetchConfig, stdioConfig } from './config.ts';

describe('a wrong setting is named with what it accepts', () => {
  test.each([
    [{ FETCH_ALLOW_ORIGINS: 'http://ok.corp,wiki.corp' }, 'accepts origins such as http://127.0.0.1:8080, comma-separated'],
    [{ FETCH_ALLOW_ORIGINS: 'http://*.corp' }, 'accepts origins such as http://127.0.0.1:8080, comma-separated'],
    [{ FETCH_DENY_CIDRS: '10.0.0.0/40' }, 'accepts blocks such as 10.0.0.0/8 or single addresses, comma-separated'],
    [{ FETCH_USER_AGENT: 'Robot\r\nx: y' }, 'accepts printable ASCII'],
    [{ FETCH_TIMEOUT_SECONDS: '0.5' }, 'accepts at least 1'],
  ])('%j', (env, accepts) => {
    const [name] = Object.keys(env);
    expect(() => readConfig(fetchConfig, env)).toThrow(
      expect.objectContaining({ message: expect.stringMatching(`^${name}: got `) }) as Error,
    );
    expect(() => readConfig(fetchConfig, env)).toThrow(accepts);
    expect(() => readConfig(stdioConfig, env)).toThrow(accepts);
  });
});

test('lists may be spaced, and end with a comma', () => {
  const env = { FETCH_ALLOW_ORIGINS: ' http://a.corp, https://b.corp:8443 ,', FETCH_DENY_CIDRS: '10.0.0.0/8,::1' };
  expect(readConfig(fetchConfig, env)).toMatchObject({
    FETCH_ALLOW_ORIGINS: ['http://a.corp', 'https://b.corp:8443'],
    FETCH_DENY_CIDRS: ['10.0.0.0/8', '::1'],
  });
});

test('on standard input and output, settings of a host are somebody else’s', () => {
  const env = { PORT: 'none', AUTH: 'somehow', METRICS_PORT: '-1', FETCH_WORKERS: '1' };
  expect(readConfig(stdioConfig, env)).toMatchObject({ LOG_LEVEL: 'info', FETCH_WORKERS: 1 });
  expect(() => readConfig(fetchConfig, env)).toThrow('PORT: got "none"');
});
