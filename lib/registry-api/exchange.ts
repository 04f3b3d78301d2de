import { request, type Dispatcher } from 'undici';
import { gather } from '../bytes.ts';
import { parseJson } from '../json.ts';
import { RegistryError } from './errors.ts';
import { retryAfterOf } from './refusals.ts';
import { messageOf } from '../error-message.ts';

/** One HTTP request to a registry. */
export interface Exchange {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  readonly url: string;
  /** sent as JSON */
  readonly body?: unknown;
  readonly token?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface ExchangeLimits {
  readonly timeoutMs: number;
  readonly dispatcher?: Dispatcher | undefined;
}

export interface Answer {
  readonly status: number;
  /** parsed JSON; undefined when the answer is none */
  readonly body: unknown;
  /** of the body */
  readonly characters: number;
  readonly retryAfterMs: number | undefined;
}

/** Largest answer that is read: a page of 100 records seldom has more than 1 MiB, one record never more than 3. */
export const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/** Thrown when an answer goes over the bound; a list can ask for less at a time. */
export class AnswerTooLarge extends RegistryError {}

/**
 * Sends one request and reads the whole answer, following no redirect.
 * @throws RegistryError `unavailable`, `timeout` or `protocol` (too large); the signal's own reason when that was aborted
 */
export async function exchange(asked: Exchange, limits: ExchangeLimits): Promise<Answer> {
  const deadline = AbortSignal.timeout(limits.timeoutMs);
  const signal = asked.signal === undefined ? deadline : AbortSignal.any([asked.signal, deadline]);
  try {
    const response = await request(asked.url, {
      method: asked.method,
      headers: headersOf(asked),
      body: asked.body === undefined ? null : JSON.stringify(asked.body),
      signal,
      ...(limits.dispatcher === undefined ? {} : { dispatcher: limits.dispatcher }),
    });
    const read = await gather(response.body, MAX_ANSWER_BYTES);
    if (read === undefined) throw new AnswerTooLarge('protocol', `the answer is larger than ${MAX_ANSWER_BYTES} bytes`);
    const text = read.toString('utf8');
    return {
      status: response.statusCode,
      body: parseJson(text),
      characters: text.length,
      retryAfterMs: retryAfterOf(single(response.headers['retry-after']), Date.now()),
    };
  } catch (error) {
    throw failureOf(error, { asked, deadline, timeoutMs: limits.timeoutMs });
  }
}

function headersOf({ body, token }: Exchange): Record<string, string> {
  return {
    accept: 'application/json',
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
}

function single(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

function failureOf(error: unknown, { asked, deadline, timeoutMs }: { asked: Exchange; deadline: AbortSignal; timeoutMs: number }): unknown {
  if (error instanceof RegistryError) return error;
  if (asked.signal?.aborted === true) return asked.signal.reason;
  const { origin } = new URL(asked.url);
  if (deadline.aborted) {
    return new RegistryError('timeout', `registry ${origin} did not answer within ${timeoutMs} ms`, { cause: error });
  }
  return new RegistryError('unavailable', `registry ${origin} cannot be reached: ${messageOf(error)}`, { cause: error });
}
