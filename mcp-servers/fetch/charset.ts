import { isUtf8 } from 'node:buffer';
import { getBOMEncoding, labelToName, TextDecoder as StandardDecoder } from '@exodus/bytes/encoding.js';
import sniffEncoding from 'html-encoding-sniffer';

export interface Encoded {
  readonly bytes: Uint8Array;
  /** whether the bytes are all there, or were cut at a limit, perhaps within a character */
  readonly complete: boolean;
  readonly kind: 'html' | 'xml' | 'text';
  /** the charset of the Content-Type, if any */
  readonly charset: string | undefined;
}

/**
 * Text of a page, by the first that says something: byte order mark, Content-Type, `<meta>` or XML declaration; else UTF-8 if the bytes
 * are that, else windows-1252. Characters that are none become U+FFFD.
 */
export function decodeText(encoded: Encoded): string {
  const encoding = encodingOf(encoded);
  // natively euc-kr lacks the Unified Hangul Code and big5 has no Hong Kong characters (Node 26.12)
  return new StandardDecoder(encoding === 'replacement' ? guess(encoded) : encoding).decode(encoded.bytes);
}

function encodingOf(encoded: Encoded): string {
  const { bytes, kind, charset } = encoded;
  if (kind === 'text') return getBOMEncoding(bytes) ?? labelToName(charset ?? '') ?? guess(encoded);
  return sniffEncoding(bytes, { xml: kind === 'xml', transportLayerEncodingLabel: charset, defaultEncoding: guess(encoded) });
}

function guess({ bytes, complete }: Encoded): string {
  return isUtf8(complete ? bytes : bytes.subarray(0, lastWholeCharacter(bytes))) ? 'UTF-8' : 'windows-1252';
}

/** Where the last UTF-8 character begins: at most 4 bytes before the end. */
function lastWholeCharacter(bytes: Uint8Array): number {
  for (let start = bytes.length - 1; start >= Math.max(0, bytes.length - 4); start -= 1) {
    if (((bytes[start] ?? 0) & 0xc0) !== 0x80) return start;
  }
  return bytes.length;
}
