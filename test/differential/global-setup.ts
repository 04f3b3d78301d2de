import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

type Found = Readonly<Record<'OFFICIAL_REGISTRY_URL' | 'OFFICIAL_REGISTRY_SEED_FILE', string>>;

/**
 * Gives every test of this folder an official registry that starts empty: one that the environment names, else one of its own, in a
 * process that cleans up also when this one is interrupted.
 */
export default async function setup(): Promise<() => Promise<void>> {
  if ((process.env['OFFICIAL_REGISTRY_URL'] ?? '') !== '') return async () => {};
  const began = performance.now();
  say('starting the official registry with a PostgreSQL of its own');
  const program = fork(join(import.meta.dirname, 'official', 'main.ts'));
  const found = await firstMessage(program);
  Object.assign(process.env, found);
  say(`the official registry answers at ${found.OFFICIAL_REGISTRY_URL} after ${((performance.now() - began) / 1000).toFixed(1)} s`);
  return async () => {
    if (program.exitCode !== null) throw new Error(`the official registry's process ended before the tests did, with ${program.exitCode}`);
    const ended = once(program, 'exit');
    program.disconnect();
    await ended;
  };
}

async function firstMessage(program: ChildProcess): Promise<Found> {
  const ended = once(program, 'exit').then(([code]: unknown[]) => {
    throw new Error(`the official registry cannot run here (exit code ${String(code)}); the reason is printed above`);
  });
  const [found] = (await Promise.race([once(program, 'message'), ended])) as [Found];
  // it may end later, when it is told to
  ended.catch(() => {});
  return found;
}

function say(what: string): void {
  process.stderr.write(`${what}\n`);
}
