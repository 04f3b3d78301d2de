import type { z } from 'zod';
import { ConfigError, describeConfig, readConfig } from '../config.ts';
import { messageOf } from '../error-message.ts';

/** What a running process can be asked to do: stop. */
export interface Running {
  close(): Promise<void>;
}

/** An orphan has nobody left who would send it a second signal. */
const ORPHAN_EXIT_MS = 30_000;

/**
 * Runs one process from its environment: `await runProcess('fetch', config, startFetch)`.
 *
 * `--help` prints the settings. Wrong settings exit with 2, a failed start or stop with 1, each with one plain message. SIGTERM and SIGINT
 * close and exit with 0, also when they come during the start; the same signal again exits at once (a terminal's Ctrl-C reaches a whole
 * group, whose parent then sends SIGTERM: that is not a second wish). A process forked by another closes when that one is gone.
 */
export async function runProcess<S extends z.ZodObject>(
  part: string,
  schema: S,
  start: (settings: z.output<S>) => Promise<Running>,
): Promise<void> {
  if (process.argv.includes('--help')) return void process.stdout.write(helpText(part, schema));
  const told = toldToStop();
  const running = await started(schema, start);
  await told;
  try {
    await running.close();
  } catch (error) {
    fail(error);
  }
  process.exit(0);
}

function toldToStop(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.once(signal, () => {
        process.once(signal, () => process.exit(1));
        resolve();
      });
    }
    const orphaned = () => {
      setTimeout(() => process.exit(1), ORPHAN_EXIT_MS).unref();
      resolve();
    };
    const forked = process.send !== undefined;
    if (forked) process.once('disconnect', orphaned);
    if (forked && !process.connected) orphaned();
  });
}

async function started<S extends z.ZodObject>(schema: S, start: (settings: z.output<S>) => Promise<Running>): Promise<Running> {
  try {
    return await start(readConfig(schema, process.env));
  } catch (error) {
    return fail(error);
  }
}

function fail(error: unknown): never {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exit(error instanceof ConfigError ? 2 : 1);
}

function helpText(part: string, schema: z.ZodObject): string {
  const rows = describeConfig(schema).map(({ name, initial, description }) => `  ${name} (${initial})\n      ${description}\n`);
  return `toolyard ${part}: settings are read from the environment\n\n${rows.join('')}`;
}
