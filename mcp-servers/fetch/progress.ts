import type { ServerContext } from '@modelcontextprotocol/server';
import { tellProgress, type Told } from '../../lib/mcp-http/progress.ts';
import type { Progress } from './fetcher.ts';

/** Time to the first message, and between two, milliseconds: most pages are there before anything has to be said. */
const INTERVAL_MS = 1_000;

/** What a call does with its progress; `stop` belongs into a finally. */
export interface Reporter {
  readonly onProgress: ((progress: Progress) => void) | undefined;
  readonly stop: () => void;
}

/** Tells the client how far a page has come, if it asked to be told: once a second, and only what is new. */
export function reporterFor(context: Pick<ServerContext, 'mcpReq'>): Reporter {
  let latest: Progress | undefined;
  let told: Progress | undefined;
  const stop = tellProgress(context, INTERVAL_MS, () => {
    if (latest === undefined || latest === told) return undefined;
    told = latest;
    return described(latest);
  });
  if (stop === undefined) return { onProgress: undefined, stop: () => {} };
  return { onProgress: (progress) => (latest = progress), stop };
}

/** Counts bytes, and one more for the conversion, so that it grows with each message as the protocol wants. */
export function described({ stage, host, bytes, total }: Progress): Told {
  if (stage === 'converting') return { progress: bytes + 1, total: bytes + 1, message: `converting ${bytes} bytes` };
  if (stage === 'asking') return { progress: 0, message: `waiting for ${host}` };
  const of = total === undefined ? '' : ` of ${total}`;
  const message = `received ${bytes}${of} bytes from ${host}`;
  return { progress: bytes, message, ...(total !== undefined && { total: Math.max(total, bytes) + 1 }) };
}
