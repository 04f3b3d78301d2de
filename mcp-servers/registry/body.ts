import type { IncomingMessage } from 'node:http';
import { Bytes } from '../../lib/bytes.ts';
import type { Detail } from './problem.ts';

export interface BodyLimits {
  /** a body of this many bytes is refused already */
  readonly bytes: number;
  /** time for the whole body to arrive, milliseconds */
  readonly milliseconds: number;
}

/** As the official registry has them. */
export const bodyLimits: BodyLimits = { bytes: 1024 * 1024, milliseconds: 5000 };

/** What a body turned out to be: a document, or the status and words of the refusal. */
export type Body =
  | { readonly is: 'json'; readonly document: unknown }
  | { readonly is: 'unreadable'; readonly status: 400 | 408 | 413; readonly detail: string }
  | { readonly is: 'unusable'; readonly status: 400 | 415; readonly fault: Detail };

/** Never rejects. */
export async function readBody(request: IncomingMessage, limits: BodyLimits): Promise<Body> {
  const bytes = await collect(request, limits);
  if (bytes === 'late') return { is: 'unreadable', status: 408, detail: 'request body read timeout' };
  // Nobody reads this.
  if (bytes === 'gone') return { is: 'unreadable', status: 400, detail: 'cannot read request body' };
  if (bytes === 'large') return { is: 'unreadable', status: 413, detail: `request body is too large limit=${limits.bytes} bytes` };
  if (bytes.length === 0) return { is: 'unreadable', status: 400, detail: 'request body is required' };
  const type = request.headers['content-type'] ?? '';
  if (!isJson(type)) return { is: 'unusable', status: 415, fault: { location: 'body', message: `unknown content type: ${type}` } };
  try {
    return { is: 'json', document: parse(bytes.toString('utf8')) };
  } catch (error) {
    return { is: 'unusable', status: 400, fault: { location: 'body', message: (error as Error).message } };
  }
}

/** How much of a body that is too large is still taken in: who sends it reads the refusal only when done, or finds the connection cut. */
const DISCARDED_BYTES = 16 * 1024 * 1024;

/** By events: an async iterator over so small a body takes a tenth of the time of a whole publish. */
function collect(request: IncomingMessage, limits: BodyLimits): Promise<Buffer | 'late' | 'large' | 'gone'> {
  return new Promise((resolve) => {
    const body = new Bytes();
    let size = 0;
    const timer = setTimeout(() => resolve('late'), limits.milliseconds);
    const finish = (outcome: Buffer | 'large' | 'gone'): void => {
      clearTimeout(timer);
      resolve(outcome);
    };
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size < limits.bytes) body.add(chunk);
      if (size < DISCARDED_BYTES) return;
      request.pause();
      finish('large');
    });
    request.once('end', () => finish(size >= limits.bytes ? 'large' : body.all));
    request.once('error', () => finish('gone'));
    request.once('close', () => finish('gone'));
  });
}

/** huma reads what stands between the first `+` and the first `;`, and knows `application/json` and `json`. */
function isJson(type: string): boolean {
  const semicolon = type.indexOf(';');
  const start = type.indexOf('+') + 1;
  const end = semicolon === -1 ? type.length : semicolon;
  if (end < start) return false;
  return ['', 'application/json', 'json'].includes(type.slice(start, end).toLowerCase());
}

/** Numbers that could be beyond float64. A run of digits is tried from its first one only, or a body of such runs takes half a second. */
const LARGE_NUMBER = /[eE]\+?\d{3}|(?<!\d)\d{300}/;

/** A number beyond float64 is an error in Go; JSON.parse makes it Infinity, which JSON cannot write. */
function parse(text: string): unknown {
  const document: unknown = JSON.parse(text);
  if (LARGE_NUMBER.test(text) && holdsInfinity(document)) throw new SyntaxError('a number does not fit into 64 bits');
  return document;
}

/** Never recurses: any nesting is safe. */
function holdsInfinity(document: unknown): boolean {
  const waiting = [document];
  while (waiting.length > 0) {
    const value = waiting.pop();
    if (value === Infinity || value === -Infinity) return true;
    if (typeof value === 'object' && value !== null) for (const item of Object.values(value)) waiting.push(item);
  }
  return false;
}
