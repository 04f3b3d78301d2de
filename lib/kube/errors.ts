/** What went wrong between this process and the API server. */
export type KubeErrorCode =
  /** no answer: connection refused or lost, a 5xx */
  | 'unavailable'
  | 'timeout'
  /** 429: asked to come back later */
  | 'busy'
  /** 401: the credentials are not accepted */
  | 'unauthorized'
  /** 403: RBAC or an admission policy says no */
  | 'forbidden'
  | 'not-found'
  /** 409: somebody changed it meanwhile, or a field belongs to another manager */
  | 'conflict'
  | 'exists'
  /** 410: the resourceVersion is too old to go on from */
  | 'gone'
  /** any other refusal: the request itself is wrong */
  | 'invalid'
  /** the answer is not what the API promises */
  | 'protocol';

/** A call of the Kubernetes API that did not succeed. The message names the call and what to do next. */
export class KubeError extends Error {
  override readonly name = 'KubeError';
  readonly code: KubeErrorCode;
  /** HTTP status; undefined when there was no answer */
  readonly status: number | undefined;
  /** how long the server asks to wait, ms */
  readonly retryAfterMs: number | undefined;

  constructor(code: KubeErrorCode, message: string, options: { status?: number; retryAfterMs?: number; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.code = code;
    this.status = options.status;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** The API's own description of a failure: the body of an error answer, or the object of an ERROR event in a watch. */
export interface ApiStatus {
  readonly kind?: 'Status';
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: { readonly retryAfterSeconds?: number };
}

const byStatus: Readonly<Record<number, KubeErrorCode>> = {
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not-found',
  408: 'timeout',
  409: 'conflict',
  410: 'gone',
  429: 'busy',
  504: 'timeout',
};

/** Turns an error answer into an error. `retryAfter` is the header of that name. */
export function errorOf(action: string, httpStatus: number, status: ApiStatus, retryAfter?: string): KubeError {
  const code = codeOf(httpStatus, status);
  const seconds = Number(status.details?.retryAfterSeconds ?? retryAfter);
  const advice = code === 'forbidden' ? ': the ServiceAccount needs this right (operator/README.md lists them all)' : '';
  return new KubeError(code, `${action}: HTTP ${httpStatus}, ${status.message ?? 'no reason given'}${advice}`, {
    status: httpStatus,
    ...(Number.isFinite(seconds) && { retryAfterMs: seconds * 1000 }),
  });
}

function codeOf(httpStatus: number, { reason }: ApiStatus): KubeErrorCode {
  if (reason === 'AlreadyExists') return 'exists';
  return byStatus[httpStatus] ?? (httpStatus >= 500 ? 'unavailable' : 'invalid');
}

export function isKubeError(error: unknown, ...codes: readonly KubeErrorCode[]): error is KubeError {
  return error instanceof KubeError && codes.includes(error.code);
}
