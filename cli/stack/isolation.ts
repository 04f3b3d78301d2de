import { z } from 'zod';
import type { StackModel } from './model.ts';

const ASK_TIMEOUT_MS = 5_000;

/** What the sandbox server says about what holds its sandboxes. */
export interface Isolation {
  readonly name: string;
  /** what does not hold on this machine, in its words */
  readonly gaps: readonly string[];
}

const answer = z.object({
  isolation: z.string(),
  guarantees: z.array(z.object({ what: z.string(), holds: z.boolean(), how: z.string() })).default([]),
});

/** Undefined while the sandbox server cannot tell. */
export async function isolationOf({ parts, urls }: StackModel): Promise<Isolation | undefined> {
  if (parts.sandbox.is !== 'ready') return undefined;
  try {
    // not before it is needed: the parts start while this loads
    const { connect } = await import('../mcp.ts');
    const server = await connect(`${urls.sandbox}/mcp`);
    try {
      const { structuredContent } = await server.call('get_sandbox_config', {}, AbortSignal.timeout(ASK_TIMEOUT_MS));
      const { isolation, guarantees } = answer.parse(structuredContent);
      return { name: isolation, gaps: guarantees.filter(({ holds }) => !holds).map(({ what, how }) => `${what}: ${how}`) };
    } finally {
      await server.close();
    }
  } catch {
    return undefined;
  }
}
