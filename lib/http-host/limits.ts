/** What one host takes from its clients, all of them together. */
export interface HttpLimits {
  /** bytes of one request's headers; more is answered 431 */
  readonly maxHeaderBytes: number;
  /** time for a request's headers to arrive, milliseconds; then 408 */
  readonly headersTimeoutMs: number;
  /** time for a whole request to arrive, body included, milliseconds; then 408 */
  readonly requestTimeoutMs: number;
  /** how long a client may leave an answer unread, milliseconds; then it is cut. Waiting for an answer to begin has no limit here */
  readonly stallTimeoutMs: number;
  /** how long an idle connection is kept, milliseconds */
  readonly keepAliveTimeoutMs: number;
  /** connections open at once on one port; a further one is closed unanswered, and the idle ones with it */
  readonly maxConnections: number;
  /** requests being answered at once, those with a body and those without each; further ones are answered 503 */
  readonly maxInFlight: number;
  /** time for one readiness check, milliseconds; then the process counts as unready */
  readonly readyTimeoutMs: number;
}

export const defaultLimits: HttpLimits = {
  maxHeaderBytes: 16 * 1024,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
  stallTimeoutMs: 60_000,
  // longer than the idle time of common clients and proxies, so that they are the ones to close
  keepAliveTimeoutMs: 75_000,
  maxConnections: 1024,
  // each may hold a whole body in memory
  maxInFlight: 256,
  readyTimeoutMs: 5000,
};
