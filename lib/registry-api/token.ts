import { createPrivateKey, type KeyObject } from 'node:crypto';
import { SignJWT } from 'jose';

/** Where a registry client gets its token from. */
export interface TokenSource {
  /** A token that is good for at least the next half minute. */
  token(): Promise<string>;
  /** A new token, whatever is cached: called once after the registry refused one. */
  renew(): Promise<string>;
}

export interface Permission {
  readonly action: 'publish' | 'edit';
  /** `*`, a prefix that ends in `*`, or one server's name */
  readonly resource: string;
}

export interface SeedTokenOptions {
  /** The registry's signing seed, 64 hexadecimal digits. Read again on every renewal, so that a rotated seed is picked up. */
  readonly readSeed: () => Promise<string>;
  /** @default publish and edit on everything */
  readonly permissions?: readonly Permission[];
  /** @default Date.now */
  readonly now?: () => number;
}

/** As long as the registry's own tokens live. */
const LIFETIME_SECONDS = 300;
/** Renewed this long before its end: more than a request and the clocks' difference take. */
const MARGIN_SECONDS = 60;
/** PKCS#8 of an Ed25519 key up to its 32 bytes of seed. */
const PKCS8_PREFIX = '302e020100300506032b657004220420';

const EVERYTHING: readonly Permission[] = [
  { action: 'publish', resource: '*' },
  { action: 'edit', resource: '*' },
];

/**
 * Mints the registry's own tokens from its seed: EdDSA, 5 minutes, cached until a minute before their end. Without `nbf`, since the
 * registry gives clocks no leeway.
 */
export function seedTokenSource({ readSeed, permissions = EVERYTHING, now = Date.now }: SeedTokenOptions): TokenSource {
  let cached: { readonly token: Promise<string>; readonly renewAt: number } | undefined;

  const mint = async (issuedAt: number): Promise<string> => {
    const key = ed25519Key(await readSeed());
    return new SignJWT({ permissions, auth_method: 'none', auth_method_sub: 'toolyard' })
      .setProtectedHeader({ alg: 'EdDSA', typ: 'JWT' })
      .setIssuer('mcp-registry')
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + LIFETIME_SECONDS)
      .sign(key);
  };

  const renew = (): Promise<string> => {
    const issuedAt = Math.floor(now() / 1000);
    const token = mint(issuedAt);
    const fresh = { token, renewAt: issuedAt + LIFETIME_SECONDS - MARGIN_SECONDS };
    cached = fresh;
    // A seed that could not be read is tried again by the next caller.
    token.catch(() => {
      if (cached === fresh) cached = undefined;
    });
    return token;
  };

  return {
    renew,
    token: () => (cached !== undefined && now() / 1000 < cached.renewAt ? cached.token : renew()),
  };
}

/** @throws Error, without the seed in its message, when it is not 64 hexadecimal digits */
export function ed25519Key(seed: string): KeyObject {
  const hex = seed.trim();
  if (!/^[0-9a-fA-F]{64}$/.test(hex))
    throw new Error(`the registry's signing seed must be 64 hexadecimal digits, got ${hex.length} characters`);
  return createPrivateKey({ key: Buffer.from(PKCS8_PREFIX + hex, 'hex'), format: 'der', type: 'pkcs8' });
}
