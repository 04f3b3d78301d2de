import { createHash, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { ConfigError } from '../config.ts';
import { watchFiles } from '../http-host/watch-file.ts';
import type { Log } from '../log.ts';
import type { McpHostSettings } from './config.ts';
import { messageOf } from '../error-message.ts';

export type Admission = { admitted: true; principal: string } | { admitted: false; message: string; challenge: string };

/** Decides who a request comes from, by its Authorization header. */
export interface Callers {
  admit(authorization: string | undefined): Admission;
  close(): void;
}

const ANONYMOUS: Admission = { admitted: true, principal: 'anonymous' };

const tokensFile = z.record(
  z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'a name of up to 64 letters, digits, dots, dashes and underscores'),
  z.string().regex(/^[0-9a-fA-F]{64}$/, 'a SHA-256 of 64 hexadecimal digits'),
);

/** @throws ConfigError when AUTH=tokens and AUTH_TOKENS_FILE is not set or unusable */
export function openCallers(settings: McpHostSettings, log: Log): Callers {
  if (settings.AUTH === 'none') return { admit: () => ANONYMOUS, close: () => {} };
  const path = settings.AUTH_TOKENS_FILE;
  if (path === undefined) throw fault('(not set)', 'a file: AUTH=tokens needs one');
  let tokens = readTokens(path);
  const close = watchFiles([path], () => {
    try {
      tokens = readTokens(path);
      log.info({ path, callers: tokens.size }, 'tokens read again');
    } catch (error) {
      log.error({ path, reason: messageOf(error) }, 'the new tokens are unusable; the last good ones stay in use');
    }
  });
  return { admit: (authorization) => admit(tokens, authorization), close };
}

function admit(tokens: ReadonlyMap<string, Buffer>, authorization: string | undefined): Admission {
  const token = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
  if (token === undefined) return { admitted: false, message: 'this server needs a bearer token', challenge: 'Bearer realm="toolyard"' };
  const digest = createHash('sha256').update(token).digest();
  // every entry is compared, so that the time taken says nothing about which one is close
  const names = [...tokens].filter(([, known]) => timingSafeEqual(known, digest)).map(([name]) => name);
  const principal = names[0];
  if (principal !== undefined) return { admitted: true, principal };
  return { admitted: false, message: 'unknown bearer token', challenge: 'Bearer realm="toolyard", error="invalid_token"' };
}

function readTokens(path: string): ReadonlyMap<string, Buffer> {
  let document: unknown;
  try {
    document = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    // a parse error may quote the file
    throw fault(
      JSON.stringify(path),
      error instanceof SyntaxError ? 'a file that is valid JSON' : `a readable file: ${(error as Error).message}`,
    );
  }
  const parsed = tokensFile.safeParse(document);
  if (!parsed.success) throw fault(JSON.stringify(path), `an object of name to SHA-256: ${z.prettifyError(parsed.error)}`);
  return new Map(Object.entries(parsed.data).map(([name, hex]) => [name, Buffer.from(hex, 'hex')]));
}

function fault(got: string, accepts: string): ConfigError {
  return new ConfigError([{ name: 'AUTH_TOKENS_FILE', got, accepts }]);
}
