/** What a client is to do at a server and what it saw there; also the JSON that clients in other languages read and write. */

export interface Call {
  readonly name: string;
  readonly arguments: Record<string, unknown>;
}

export interface Visit {
  readonly url: string;
  /** tools to call, one after the other */
  readonly calls: readonly Call[];
  /** a prompt to get; null for none */
  readonly prompt: Call | null;
}

/** A tool's result as the client hands it to its user. */
export interface Result {
  readonly text: string;
  /** null when there is none */
  readonly structured: Record<string, unknown> | null;
  readonly isError: boolean;
}

export interface Seen {
  /** of the protocol, as negotiated */
  readonly revision: string;
  /** names, as listed */
  readonly tools: readonly string[];
  readonly results: readonly Result[];
  /** its text; null when none was asked for */
  readonly prompt: string | null;
}

export interface McpClient {
  readonly name: string;
  /** the revision that it is to negotiate */
  readonly revision: '2025-11-25' | '2026-07-28';
  visit(visit: Visit): Promise<Seen>;
}
