import { expect, test } from 'vitest';
import { z } from 'zod';
import { ConfigError, describeConfig, readConfig } from './config.ts';

const schema = z.object({
  PORT: z.coerce.number().int().min(1).max(65_535).default(8000).describe('port to listen on'),
  AUTH: z.enum(['none', 'tokens']).default('none').describe('who may call'),
  FILE: z.string().describe('a file'),
  SEED: z
    .string()
    .regex(/^[0-9a-f]{64}$/, '64 hexadecimal digits')
    .optional()
    .meta({ description: 'signing seed', secret: true }),
});

function faultsOf(env: NodeJS.ProcessEnv): ConfigError {
  try {
    readConfig(schema, env);
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error('the settings were accepted');
}

test('settings are typed, defaults filled in, unknown variables ignored', () => {
  expect(readConfig(schema, { FILE: 'x', PORT: '9', HOME: '/' })).toEqual({ PORT: 9, AUTH: 'none', FILE: 'x' });
});

test('an empty variable counts as unset', () => {
  expect(readConfig(schema, { FILE: 'x', PORT: '' }).PORT).toBe(8000);
});

test('every wrong variable is named with what it got and what it accepts', () => {
  const { message } = faultsOf({ PORT: '99999', AUTH: 'all' });
  expect(message).toContain('PORT: got "99999", accepts at most 65535 (port to listen on)');
  expect(message).toContain('AUTH: got "all", accepts one of none, tokens (who may call)');
  expect(message).toContain('FILE: got (not set), accepts a string (a file)');
});

test('a secret is never printed', () => {
  const { message } = faultsOf({ FILE: 'x', SEED: 'hunter2' });
  expect(message).toContain('SEED: got (hidden), accepts 64 hexadecimal digits');
  expect(message).not.toContain('hunter2');
});

test('settings describe themselves', () => {
  expect(describeConfig(schema)).toEqual([
    { name: 'PORT', description: 'port to listen on', initial: '8000' },
    { name: 'AUTH', description: 'who may call', initial: 'none' },
    { name: 'FILE', description: 'a file', initial: 'required' },
    { name: 'SEED', description: 'signing seed', initial: 'unset' },
  ]);
});

test('a setting whose default is replaced keeps its description', () => {
  const [port] = describeConfig(z.object({ PORT: schema.shape.PORT.default(8001) }));
  expect(port).toEqual({ name: 'PORT', description: 'port to listen on', initial: '8001' });
});
