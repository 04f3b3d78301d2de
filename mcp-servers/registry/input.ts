import type { IncomingMessage } from 'node:http';
import { readBody, type Body, type BodyLimits } from './body.ts';
import { Problem, type Detail } from './problem.ts';

/** What a body means, or all that is wrong with its shape. */
export type Reading<T> = { readonly means: T } | { readonly faults: readonly Detail[] };

export interface InputRules<T> {
  readonly limits: BodyLimits;
  /** whether the route needs an Authorization header */
  readonly authorization: boolean;
  readonly read: (document: unknown) => Reading<T>;
}

/**
 * Header and body of a writing request, checked together and before the token: whatever is wrong with the shape of both is one answer.
 * @throws Problem 400, 408, 413, 415 or 422
 */
export async function acceptInput<T>(request: IncomingMessage, { limits, authorization, read }: InputRules<T>): Promise<T> {
  const missing: Detail[] =
    authorization && (request.headers.authorization ?? '') === ''
      ? [{ message: 'required header parameter is missing', location: 'header.Authorization', value: '' }]
      : [];
  const body = await readBody(request, limits);
  if (body.is !== 'json') throw refusalOf(body, missing);
  const reading = read(body.document);
  if ('faults' in reading) throw new Problem(422, 'validation failed', [...missing, ...reading.faults]);
  if (missing.length > 0) throw new Problem(422, 'validation failed', missing);
  return reading.means;
}

function refusalOf(body: Exclude<Body, { is: 'json' }>, missing: readonly Detail[]): Problem {
  if (body.is === 'unreadable') return new Problem(body.status, body.detail, missing);
  return new Problem(body.status, 'validation failed', [...missing, body.fault]);
}
