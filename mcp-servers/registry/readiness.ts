import type { Readiness } from '../../lib/http-host/host.ts';
import type { OpenDatabase } from './database.ts';

/** How long what was found counts: an attempt costs a flush to disk, and anybody may ask; whoever made room wants to see it soon. */
const READY_COUNTS_MS = 10_000;
const UNREADY_COUNTS_MS = 1000;

/**
 * Ready while the database takes writes: on a full disk, records can be read for a long time and not one be published.
 * @param milliseconds a clock that never steps back
 */
export function createReadiness(database: OpenDatabase, milliseconds = () => performance.now()): () => Readiness {
  let found: Readiness = { ready: true };
  let countsUntil = -Infinity;
  return () => {
    if (milliseconds() < countsUntil) return found;
    found = readinessOf(database);
    countsUntil = milliseconds() + (found.ready ? READY_COUNTS_MS : UNREADY_COUNTS_MS);
    return found;
  };
}

function readinessOf(database: OpenDatabase): Readiness {
  try {
    database.tryWrite();
    return { ready: true };
  } catch (error) {
    return { ready: false, reason: (error as Error).message };
  }
}
