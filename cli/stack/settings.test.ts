import { expect, test } from 'vitest';
import { CliError, exit } from '../exit.ts';
import { readSettings } from './settings.ts';
import { stateDir } from './state-dir.ts';

const ports = { registry: 8080, fetch: 8001, sandbox: 8002 };
const read = (env: NodeJS.ProcessEnv) => readSettings(ports, { catalog: '/catalog', state: stateDir('/state'), env });

function refusal(env: NodeJS.ProcessEnv): CliError {
  try {
    read(env);
  } catch (error) {
    if (error instanceof CliError) return error;
    throw error;
  }
  throw new Error('it was accepted');
}

test('servers are asked every 5 s unless the environment says otherwise', () => {
  expect(read({}).PROBE_INTERVAL_SECONDS).toBe(5);
  expect(read({ PROBE_INTERVAL_SECONDS: '' }).PROBE_INTERVAL_SECONDS).toBe(5);
  expect(read({ PROBE_INTERVAL_SECONDS: '30' }).PROBE_INTERVAL_SECONDS).toBe(30);
});

test('ports, addresses and files are those of this stack, whatever the environment says', () => {
  const settings = read({
    REGISTRY_URL: 'http://elsewhere',
    SOURCE_DIRECTORY: '/elsewhere',
    PUBLISH_ENDPOINT: 'false',
    PORT: 'x',
    HOST: '',
  });
  expect(settings).toMatchObject({
    REGISTRY_URL: 'http://127.0.0.1:8080',
    SOURCE_DIRECTORY: '/catalog',
    PUBLISH_ENDPOINT: true,
    ENDPOINTS: { 'dev.toolyard/fetch': 'http://127.0.0.1:8001/mcp', 'dev.toolyard/sandbox': 'http://127.0.0.1:8002/mcp' },
  });
});

test('every wrong variable of any part is named, once', () => {
  const { code, details } = refusal({
    WITHDRAW_AFTER_SECONDS: 'soon',
    FETCH_ALLOW_ORIGINS: 'not an origin',
    SANDBOX_ISOLATION: 'docker',
    LOG_LEVEL: 'loud',
  });
  expect(code).toBe(exit.usage);
  expect(details.map((line) => line.split(':')[0])).toEqual([
    'WITHDRAW_AFTER_SECONDS',
    'LOG_LEVEL',
    'FETCH_ALLOW_ORIGINS',
    'SANDBOX_ISOLATION',
  ]);
});
