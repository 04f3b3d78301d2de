import { join } from 'node:path';
import type { ProgramOptions } from './program.ts';

const root = join(import.meta.dirname, '..', '..');

/** Programs that the tests run, as users do. */
export const MAIN = {
  registry: join(root, 'mcp-servers/registry/main.ts'),
  operator: join(root, 'operator/main.ts'),
  server: join(root, 'test/mcp-http/fixture.ts'),
} as const;

/** Nothing of ours but what starts a program quickly. */
export function environment(own: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env;
  return { PATH, NODE_COMPILE_CACHE, ...own };
}

/** Runs a program in other surroundings: under another clock, with a small disk. */
export type Wrap = (options: ProgramOptions) => ProgramOptions;

export const unwrapped: Wrap = (options) => options;

/**
 * In a user namespace of its own, after a few lines of shell: limits and mounts there are nobody else's. It needs no root where
 * bubblewrap needs none.
 */
export function afterShell(lines: string): Wrap {
  return ({ command, args, env }) => ({
    command: 'unshare',
    args: ['--user', '--map-root-user', '--mount', 'sh', '-c', `set -e; ${lines}; exec "$@"`, 'sh', command, ...args],
    env,
  });
}
