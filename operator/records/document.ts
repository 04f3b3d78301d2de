import type { Found, Unusable } from './declaration.ts';

/** What the registry takes at most as a request, so nothing larger can be a record. */
export const MAX_DOCUMENT_BYTES = 1024 * 1024;

/** JSON in UTF-8, or what is wrong with it, in the parser's words. */
export function parse(bytes: Uint8Array): Found {
  if (bytes.byteLength > MAX_DOCUMENT_BYTES) return unusable('TooLarge', `it has more than ${MAX_DOCUMENT_BYTES} bytes`);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return unusable('InvalidJson', 'it is not JSON: the text is not in UTF-8');
  }
  if (text.trim() === '') return unusable('InvalidJson', 'it is empty');
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return unusable('InvalidJson', `it is not JSON: ${error instanceof Error ? error.message : 'unreadable'}`);
  }
}

/** Why there is no document. */
export function unusable(reason: Unusable, message: string): Found {
  return { unusable: reason, message };
}
