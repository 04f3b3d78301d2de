import { createHmac, randomBytes } from 'node:crypto';

/** `sb-` and 160 bits in base32: 35 characters of a DNS label, which is what a claim's name must be. */
const HANDLE = /^sb-[a-z2-7]{32}$/;
const HANDLE_BYTES = 20;

/**
 * Names sandboxes and their owners by a secret key, so that neither can be guessed and every replica that has the key comes to the same
 * names. A caller's idempotency key gives the same handle each time, and nobody else's key can give it.
 */
export class Handles {
  readonly #key: Buffer;

  /** @param key at least 16 bytes */
  constructor(key: Buffer) {
    this.#key = key;
  }

  /** @param idempotencyKey undefined: a handle that never was */
  handle(principal: string, idempotencyKey: string | undefined): string {
    const seed = idempotencyKey === undefined ? randomBytes(16) : Buffer.from(idempotencyKey);
    const kind = idempotencyKey === undefined ? 'random' : 'idempotent';
    return `sb-${base32(this.#hash('handle', kind, principal, seed).subarray(0, HANDLE_BYTES))}`;
  }

  /** A caller as sandboxes are marked with it: a label value that does not give the name away. */
  owner(principal: string): string {
    return base32(this.#hash('owner', principal).subarray(0, HANDLE_BYTES));
  }

  #hash(...parts: readonly (string | Buffer)[]): Buffer {
    const hmac = createHmac('sha256', this.#key);
    // lengths first: no two lists of parts run together into the same bytes
    for (const part of parts) hmac.update(`${Buffer.byteLength(part)}:`).update(part);
    return hmac.digest();
  }
}

export function isHandle(text: string): boolean {
  return HANDLE.test(text);
}

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';

/** RFC 4648 base32, lower case, without padding. */
export function base32(bytes: Uint8Array): string {
  let bits = 0;
  let value = 0;
  let text = '';
  for (const byte of bytes) {
    value = (value << 8) | byte;
    for (bits += 8; bits >= 5; bits -= 5) text += ALPHABET[(value >>> (bits - 5)) & 31];
    value &= (1 << bits) - 1;
  }
  return bits === 0 ? text : text + ALPHABET[(value << (5 - bits)) & 31];
}
