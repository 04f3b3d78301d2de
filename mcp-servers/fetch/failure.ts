/**
 * Why there is no page. `refused`: an address that must not be dialled; `unreachable`: no answer, or a broken one; `status`: an answer of
 * 400 or more; `robots`: the site does not want it; `binary`: nothing to show as text; `conversion`: too much for a worker; `busy`: too
 * much at once for this server; `resting`: the host has asked to be left alone for a while.
 */
export type FailureCode = 'refused' | 'unreachable' | 'status' | 'robots' | 'binary' | 'conversion' | 'busy' | 'resting';

/** A failure that was to be expected; its message is what the caller is told, in the incumbent's words where it has some. */
export class FetchFailure extends Error {
  override readonly name = 'FetchFailure';
  readonly code: FailureCode;

  constructor(code: FailureCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
