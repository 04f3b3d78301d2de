import { createPublicKey, type KeyObject } from 'node:crypto';
import { jwtVerify, SignJWT } from 'jose';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { ed25519Key, type Permission } from '../../lib/registry-api/token.ts';
import type { Rights } from './lifecycle.ts';
import { Problem } from './problem.ts';

/** What the registry reads in a token; `iss`, `aud`, `iat` and the rest are not looked at. */
const claims = z.object({
  exp: z.number(),
  permissions: z
    .array(z.object({ action: z.string().default(''), resource: z.string().default('') }))
    .nullish()
    .transform((list) => list ?? []),
});

type Claims = z.output<typeof claims>;
export type Granted = Claims['permissions'];

/** Verifying a signature costs more than all else in a publish; callers send one token for minutes. */
const KEPT_TOKENS = 1000;

const TOKEN_SECONDS = 300;
const BEARER = 'bearer ';
/** Node's decoder skips what is no base64url, so one token could be written in many ways. */
const COMPACT_JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** The names that an anonymous token may write. */
const ANONYMOUS = 'io.modelcontextprotocol.anonymous/*';

/** Checks the registry's tokens, and mints the anonymous one. Both hang on the one seed, which operators share to sign their own. */
export class Tokens {
  readonly #privateKey: KeyObject;
  readonly #publicKey: KeyObject;
  readonly #now: () => number;
  readonly #verified = new LRUCache<string, Claims>({ max: KEPT_TOKENS });

  /**
   * @param seed 64 hexadecimal digits
   * @param now milliseconds since 1970
   * @throws Error, without the seed in its message, when it is none
   */
  constructor(seed: string, now: () => number) {
    this.#privateKey = ed25519Key(seed);
    this.#publicKey = createPublicKey(this.#privateKey);
    this.#now = now;
  }

  /** What the bearer of an Authorization header may do. @throws Problem 401 */
  async granted(header: string): Promise<Granted> {
    if (header.slice(0, BEARER.length).toLowerCase() !== BEARER) {
      throw new Problem(401, "Invalid Authorization header format. Expected 'Bearer <token>'");
    }
    const token = header.slice(BEARER.length);
    const known = this.#verified.get(token);
    if (known !== undefined && known.exp > this.#now() / 1000) return known.permissions;
    const verified = await this.#verify(token);
    this.#verified.set(token, verified);
    return verified.permissions;
  }

  async anonymous(): Promise<{ registry_token: string; expires_at: number }> {
    const issuedAt = Math.floor(this.#now() / 1000);
    const expiresAt = issuedAt + TOKEN_SECONDS;
    const permissions: Permission[] = [
      { action: 'publish', resource: ANONYMOUS },
      { action: 'edit', resource: ANONYMOUS },
    ];
    const token = await new SignJWT({ auth_method: 'none', auth_method_sub: 'anonymous', permissions })
      .setProtectedHeader({ alg: 'EdDSA', typ: 'JWT' })
      .setIssuer('mcp-registry')
      .setIssuedAt(issuedAt)
      .setNotBefore(issuedAt)
      .setExpirationTime(expiresAt)
      .sign(this.#privateKey);
    return { registry_token: token, expires_at: expiresAt };
  }

  async #verify(token: string): Promise<Claims> {
    try {
      if (!COMPACT_JWT.test(token)) throw new Error('not three parts in base64url');
      const currentDate = new Date(this.#now());
      const { payload } = await jwtVerify(token, this.#publicKey, { algorithms: ['EdDSA'], requiredClaims: ['exp'], currentDate });
      return claims.parse(payload);
    } catch (error) {
      const message = error instanceof z.ZodError ? 'the token has malformed claims' : `failed to parse token: ${(error as Error).message}`;
      throw new Problem(401, 'Invalid or expired Registry JWT token', [{ message }], { cause: error });
    }
  }
}

/** Names are matched as they are written: `*` is every name, `prefix*` all that begin so, anything else one name. */
export function rightsOn(name: string, granted: Granted): Rights {
  const may = (action: string) => granted.some((permission) => permission.action === action && covers(permission.resource, name));
  return { publish: may('publish'), edit: may('edit') };
}

function covers(resource: string, name: string): boolean {
  return resource.endsWith('*') ? name.startsWith(resource.slice(0, -1)) : name === resource;
}

/** The official refusal, which lists what the token would allow. */
export function mayNotPublish(name: string, granted: Granted): Problem {
  const allowed = granted.filter(({ action }) => action === 'publish').map(({ resource }) => resource);
  const what = allowed.length > 0 ? `You have permission to publish: ${allowed.join(', ')}` : 'You do not have any publish permissions';
  return new Problem(403, `You do not have permission to publish this server. ${what}. Attempting to publish: ${name}`);
}
