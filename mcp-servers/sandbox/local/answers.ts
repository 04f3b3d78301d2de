import { z } from 'zod';

/**
 * What an agent may say, checked word for word: by the time it says something, a guest may have put itself in its place. Bounds keep one
 * answer within what was asked for; what they let pass can still be a lie about the guest's own sandbox, and about nothing else.
 */
const id = z.int().nonnegative();
const base64 = z.base64();
const count = z.number().nonnegative().max(Number.MAX_SAFE_INTEGER);

const entry = z.object({
  name: z.string().min(1).max(1024),
  size: count,
  type: z.enum(['file', 'directory']),
  modifiedAt: z.number(),
});

export const answerSchema = z.union([
  z.object({ id, stream: z.enum(['stdout', 'stderr']), data: base64 }),
  z.object({ id, error: z.string().regex(/^[A-Z][A-Z0-9_]{0,63}$/) }),
  z.object({ id, end: z.record(z.string(), z.unknown()) }),
]);

export type Answer = z.output<typeof answerSchema>;

export const helloSchema = z.object({ hello: z.literal(true) });

/** The `end` of each kind of request. */
export const endSchemas = {
  run: z.object({ exitCode: z.int().min(0).max(255), dropped: z.object({ stdout: count, stderr: count }) }),
  write: z.object({}),
  read: z.object({ content: base64 }),
  list: z.object({ entries: z.array(entry), total: count }),
  exists: z.object({ exists: z.boolean() }),
} as const;

export type Ends = { [Kind in keyof typeof endSchemas]: z.output<(typeof endSchemas)[Kind]> };
