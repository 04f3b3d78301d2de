import type { Fault } from './fault.ts';

/**
 * What went wrong with a registry, as far as a caller can act on it:
 * - `unavailable`: nobody answered, or the registry failed (5xx); later may work
 * - `timeout`: no answer in time
 *   (after both a write may or may not have happened: read the record to know)
 * - `rate-limited`: 429; `retryAfterMs` when the registry said so
 * - `unauthorized`, `forbidden`: the token is not accepted, or not for this name
 * - `not-found`: no such record
 * - `duplicate`: this name and version was published before, perhaps deleted since
 * - `invalid`: the document breaks the registry's rules; `faults` when it listed them
 * - `no-change`: the record already has the status and message that were asked for
 * - `refused`: any other refusal; the message carries the registry's own words
 * - `protocol`: the answer is not a registry's
 */
export type RegistryErrorCode =
  | 'unavailable'
  | 'timeout'
  | 'rate-limited'
  | 'unauthorized'
  | 'forbidden'
  | 'not-found'
  | 'duplicate'
  | 'invalid'
  | 'no-change'
  | 'refused'
  | 'protocol';

interface RegistryErrorDetails extends ErrorOptions {
  /** HTTP status, when there was an answer */
  readonly status?: number;
  readonly retryAfterMs?: number;
  readonly faults?: readonly Fault[];
}

/** The one error that the registry client throws, save for the caller's own abort. */
export class RegistryError extends Error {
  override readonly name = 'RegistryError';
  readonly code: RegistryErrorCode;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly faults: readonly Fault[] | undefined;

  constructor(code: RegistryErrorCode, message: string, details: RegistryErrorDetails = {}) {
    super(message, details);
    this.code = code;
    this.status = details.status;
    this.retryAfterMs = details.retryAfterMs;
    this.faults = details.faults;
  }
}
