import { pino, type Logger } from 'pino';

export type Log = Logger;

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** One JSON line per entry on standard output. Never log tokens, seeds, page contents, or query strings. */
export function createLog(part: string, level: (typeof logLevels)[number] = 'info'): Log {
  return pino({ name: part, level, base: { part } });
}
