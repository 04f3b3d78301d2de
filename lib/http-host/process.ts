import type { z } from 'zod';
import { ConfigError, describeConfig, readConfig } from '../config.ts';

/** What a running process can be asked to do: stop. */
export interface Running {
  close(): Promise<void>;
}

/** An orphan has nobody left who would send it a second signal. */
const ORPHAN_EXIT_MS = 30_000;

/**
 * Runs one process from its environment: `runProcess('fetch', config, (settings) => startFetch(settings))`.
 *
 * `--help` prints the settings. Wrong settings exit with 2, a failed start or stop with 1, each with one plain message. SIGTERM and SIGINT
 * close and exit with 0; the same signal again exits at once (a terminal's Ctrl-C reaches a whole group, whose parent then sends SIGTERM:
 * that is not a second wish). A process forked by another closes when that one is gone.
 */
export async function runProcess<S extends z.ZodObject>(
  part: string,
  schema: S,
  start: (settings: z.output<S>) => Promise<Running>,
): Promise<void> {
  if (process.argv.includes('--help')) return void process.stdout.write(helpText(part, schema));
  const running = await started(schema, start);
  let stopping = false;
  const stop = async (): Promise<void> => {
    if (stopping) return;
    stopping = true;
    try {
      await running.close();
      process.exit(0);
    } catch (error) {
      fail(error);
    }
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      process.once(signal, () => process.exit(1));
      void stop();
    });
  }
  if (process.channel === undefined || process.channel === null) return;
  const orphaned = () => {
    setTimeout(() => process.exit(1), ORPHAN_EXIT_MS).unref();
    void stop();
  };
  process.once('disconnect', orphaned);
  if (!process.connected) orphaned();
}

async function started<S extends z.ZodObject>(schema: S, start: (settings: z.output<S>) => Promise<Running>): Promise<Running> {
  try {
    return await start(readConfig(schema, process.env));
  } catch (error) {
    return fail(error);
  }
}

function fail(error: unknown): never {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(error instanceof ConfigError ? 2 : 1);
}

function helpText(part: string, schema: z.ZodObject): string {
  const rows = describeConfig(schema).map(({ name, initial, description }) => `  ${name} (${initial})\n      ${description}\n`);
  return `toolyard ${part}: settings are read from the environment\n\n${rows.join('')}`;
}
