/** What a test asks of a client pod, as JSON by POST. */
export type Errand =
  /** find the latest record of that name in the registry, and call a tool of its server at the advertised remote */
  | {
      readonly do: 'call';
      readonly registry: string;
      readonly server: string;
      readonly tool: string;
      readonly args: Readonly<Record<string, unknown>>;
      /** @default whichever both sides speak */
      readonly era?: 'legacy' | 'modern';
    }
  /** an HTTP request, for its status alone */
  | { readonly do: 'get'; readonly url: string }
  | { readonly do: 'connect'; readonly host: string; readonly port: number };

export type Outcome =
  | { readonly is: 'called'; readonly url: string; readonly protocol: string; readonly isError: boolean; readonly text: string }
  | { readonly is: 'answered'; readonly status: number; readonly body: string }
  | { readonly is: 'connected' }
  /** with the innermost reason: ECONNREFUSED, a time-out, an MCP error */
  | { readonly is: 'failed'; readonly reason: string };
