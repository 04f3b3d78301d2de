import { readFile } from 'node:fs/promises';
import { request } from 'undici';
import { seedTokenSource, type TokenSource } from '../../lib/registry-api/token.ts';

/** A running official registry, with its package checks off, whose seed is known. */
export interface OfficialRegistry {
  readonly url: string;
  readonly seedFile: string;
  readonly readSeed: () => Promise<string>;
  /** for everything */
  readonly tokens: TokenSource;
  /** Sends a body as it is, with a token for everything. */
  post(path: string, text: string): Promise<{ status: number; body: Record<string, unknown> }>;
}

/** @throws Error when the environment names none: a differential test without its peer must not look green */
export function officialRegistry(): OfficialRegistry {
  const url = process.env['OFFICIAL_REGISTRY_URL'] ?? '';
  const seedFile = process.env['OFFICIAL_REGISTRY_SEED_FILE'] ?? '';
  if (url === '' || seedFile === '') {
    throw new Error(
      'set OFFICIAL_REGISTRY_URL and OFFICIAL_REGISTRY_SEED_FILE to a running official registry (package checks off) and the file with its seed',
    );
  }
  const readSeed = () => readFile(seedFile, 'utf8');
  const tokens = seedTokenSource({ readSeed });
  const post: OfficialRegistry['post'] = async (path, text) => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${await tokens.token()}` };
    const { statusCode, body } = await request(`${url}${path}`, { method: 'POST', headers, body: text });
    return { status: statusCode, body: (await body.json()) as Record<string, unknown> };
  };
  return { url, seedFile, readSeed, tokens, post };
}
