import type { ServerContext } from '@modelcontextprotocol/server';
import { tellProgress } from '../../lib/mcp-http/progress.ts';
import type { OnOutput } from './backend.ts';

/** Time to the first message, and between two, ms: what ends before needs none, since the result has it all. */
const INTERVAL_MS = 500;
/** Of what was printed between two messages the end is told. */
const MESSAGE_CHARACTERS = 4_000;

/** What a call does with its output while it runs; `stop` belongs into a finally. */
export interface Reporter {
  readonly onOutput: OnOutput | undefined;
  readonly stop: () => void;
}

/** Tells a client that asked for progress what a command has printed since the last message; the progress itself counts bytes. */
export function reporterFor(context: Pick<ServerContext, 'mcpReq'>): Reporter {
  const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  let progress = 0;
  let printed = '';
  const stop = tellProgress(context, INTERVAL_MS, () => {
    if (printed === '') return undefined;
    const message = printed.length > MESSAGE_CHARACTERS ? `…${printed.slice(-MESSAGE_CHARACTERS)}` : printed;
    printed = '';
    return { progress, message };
  });
  if (stop === undefined) return { onOutput: undefined, stop: () => {} };
  const onOutput: OnOutput = (stream, chunk) => {
    progress += chunk.length;
    // more than the end of it is never shown
    printed = (printed + decoders[stream].decode(chunk, { stream: true })).slice(-2 * MESSAGE_CHARACTERS);
  };
  return { onOutput, stop };
}
