import { expect, test } from 'vitest';
import { readConfig } from '../../lib/config.ts';
import { assertFits, sandboxConfig } from './config.ts';

const key = { SANDBOX_HANDLE_KEY_FILE: '/key' };
const check = (env: Record<string, string>) => assertFits(readConfig(sandboxConfig, env));

test('the kubernetes backend needs a handle key, which all replicas share', () => {
  expect(() => check({ SANDBOX_BACKEND: 'kubernetes', ...key })).not.toThrow();
  expect(() => check({ SANDBOX_BACKEND: 'kubernetes' })).toThrow(/^SANDBOX_HANDLE_KEY_FILE: got \(not set\)/);
  expect(() => check({})).not.toThrow();
});

test.each([
  ['SANDBOX_ISOLATION', 'gvisor'],
  ['RUNSC', '/runsc'],
  ['STATE_DIR', '/state'],
  ['SANDBOX_WARM', '2'],
  ['SANDBOX_MEMORY_MIB', '99'],
  ['SANDBOX_DISK_MIB', '99'],
  ['SANDBOX_PROCESSES', '99'],
  ['SANDBOX_CPUS', '2'],
])('%s is refused where the template decides it, and taken where it does something', (name, value) => {
  expect(() => check({ SANDBOX_BACKEND: 'kubernetes', ...key, [name]: value })).toThrow(`${name}: got`);
  expect(() => check({ [name]: value })).not.toThrow();
});
