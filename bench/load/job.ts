/** One request, as every caller sends it. */
export interface LoadRequest {
  readonly method: 'GET' | 'POST';
  /** path and query */
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** What the load process is asked to do. */
export interface Job {
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  /** connections; each sends its next request when it has the answer to the last */
  readonly callers: number;
  /** shared by the callers: each takes the next one */
  readonly requests: readonly LoadRequest[];
  /** goes round the requests for so long, ms; without it, each is sent once */
  readonly forMs?: number;
}

export interface Outcome {
  readonly answers: number;
  readonly seconds: number;
  /** body and head, received */
  readonly bytes: number;
  /** processor time that the load process took for it: near `seconds`, the client was the limit */
  readonly clientSeconds: number;
}

export type Reply = { readonly outcome: Outcome } | { readonly error: string };
