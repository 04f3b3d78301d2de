import type { ServerContext } from '@modelcontextprotocol/server';

/** What a client is told of a call that goes on; `progress` grows with each message. */
export interface Told {
  readonly progress: number;
  readonly total?: number;
  readonly message: string;
}

/**
 * Tells a client, every so often, what is new.
 * @param news asked each time; undefined when there is nothing to tell
 * @returns what ends that, and belongs into a finally; undefined for a client that did not ask to be told
 */
export function tellProgress(
  { mcpReq }: Pick<ServerContext, 'mcpReq'>,
  intervalMs: number,
  news: () => Told | undefined,
): (() => void) | undefined {
  const progressToken = mcpReq['_meta']?.progressToken;
  if (progressToken === undefined) return undefined;
  const timer = setInterval(() => {
    const told = news();
    // who has left is not told; the call learns of that by its signal
    if (told !== undefined) mcpReq.notify({ method: 'notifications/progress', params: { progressToken, ...told } }).catch(() => {});
  }, intervalMs);
  return () => clearInterval(timer);
}
