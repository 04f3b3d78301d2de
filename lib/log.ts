import { pino, type DestinationStream, type Logger } from 'pino';

export type Log = Logger;

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** One JSON line per entry, with the part that wrote it, on standard output unless told otherwise. Never log tokens, seeds, page contents, or query strings. */
export function createLog(part: string, level: (typeof logLevels)[number] = 'info', to: DestinationStream = standardOutput): Log {
  return pino({ level, base: { part } }, to);
}

/**
 * Loses what nobody reads any more. pino's own destination retries that write for ever and blocks the process (sonic-boom 4.2.1, flushSync
 * on EPIPE): a server whose parent was killed would hold its port and never end.
 */
const standardOutput: DestinationStream = {
  write(line) {
    if (process.stdout.listenerCount('error') === 0) process.stdout.on('error', () => {});
    process.stdout.write(line);
  },
};
