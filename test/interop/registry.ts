import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RegistryClient } from '../../lib/registry-api/client.ts';
import { seedTokenSource } from '../../lib/registry-api/token.ts';
import { startRegistryProcess } from '../registry/registry-process.ts';

const SEED = '7a'.repeat(32);

/** The embedded registry as a process of its own, empty, open to anonymous publishers of their namespace. */
export interface Registry {
  readonly url: string;
  /** one that may publish everything */
  readonly client: RegistryClient;
  close(): Promise<void>;
}

export async function startRegistry(): Promise<Registry> {
  const directory = await mkdtemp(join(tmpdir(), 'toolyard-interop-'));
  const seedFile = join(directory, 'seed');
  await writeFile(seedFile, SEED, { mode: 0o600 });
  const running = await startRegistryProcess({
    DATABASE_FILE: join(directory, 'registry.sqlite'),
    JWT_PRIVATE_KEY_FILE: seedFile,
    ALLOW_LOCAL_REMOTES: 'true',
    ENABLE_ANONYMOUS_AUTH: 'true',
  });
  const client = new RegistryClient({ url: running.url, tokens: seedTokenSource({ readSeed: async () => SEED }) });
  const close = async () => {
    await running.stop('SIGTERM');
    await rm(directory, { recursive: true });
  };
  return { url: running.url, client, close };
}
