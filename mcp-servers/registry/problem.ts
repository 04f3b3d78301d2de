import { STATUS_CODES } from 'node:http';

/** One fault of a request: where it is, as in `body.packages[0].version` or `query.limit`, and what was found there. */
export interface Detail {
  readonly message: string;
  readonly location?: string;
  /** not written when it is null, as Go leaves it out */
  readonly value?: unknown;
}

/** Where Go names a status otherwise than Node. */
const titles: Readonly<Record<number, string>> = { 413: 'Request Entity Too Large' };

/**
 * A refusal as the official registry words it: status, a fixed phrase, and the causes. Clients match on these phrases.
 * Source: huma's ErrorModel (RFC 9457 without type and instance).
 */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly status: number;
  readonly details: readonly Detail[];

  constructor(status: number, detail: string, details: readonly Detail[] = [], options?: ErrorOptions) {
    super(detail, options);
    this.status = status;
    this.details = details;
  }

  toJSON(): Record<string, unknown> {
    const { status, message, details } = this;
    const errors = details.map(({ message, location, value }) => ({ message, location, value: value ?? undefined }));
    return { title: titles[status] ?? STATUS_CODES[status], status, detail: message, ...(errors.length > 0 && { errors }) };
  }
}
