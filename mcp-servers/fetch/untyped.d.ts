/** Packages that come without types: the little of them that is used here. */

declare module 'html-encoding-sniffer' {
  /** The name of an encoding, by byte order mark, transport label, `<meta>` or XML declaration, in that order. */
  export default function sniffEncoding(
    bytes: Uint8Array,
    options: { xml?: boolean; transportLayerEncodingLabel?: string | undefined; defaultEncoding: string },
  ): string;
}

declare module 'http-cache-semantics' {
  /** One response to one request, by RFC 9111. Header names are in lower case. */
  export default class CachePolicy {
    constructor(
      request: { readonly method: string; readonly headers: Readonly<Record<string, string>> },
      response: { readonly status: number; readonly headers: Readonly<Record<string, string>> },
      options: { readonly shared: boolean },
    );
    storable(): boolean;
    /** seconds for which the response counts as fresh, from its Date on */
    maxAge(): number;
    /** seconds since then */
    age(): number;
  }
}
