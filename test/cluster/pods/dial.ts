import { connect } from 'node:net';
import type { Outcome } from './errand.ts';

/** What a network policy drops never answers. */
export const PATIENCE_MS = 3_000;

/** Whether somebody takes connections there. */
export function dial(host: string, port: number): Promise<Outcome> {
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  const socket = connect({ host, port, timeout: PATIENCE_MS });
  const end = (outcome: Outcome): void => {
    socket.destroy();
    resolve(outcome);
  };
  socket.once('connect', () => end({ is: 'connected' }));
  socket.once('timeout', () => end({ is: 'failed', reason: 'timeout' }));
  socket.once('error', (error) => end({ is: 'failed', reason: reasonOf(error) }));
  return promise;
}

/** The innermost. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause, code } = error as Error & { code?: string };
  return cause === undefined ? (code ?? (error.message || error.name)) : `${error.message}: ${reasonOf(cause)}`;
}
