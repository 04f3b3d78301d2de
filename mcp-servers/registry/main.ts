import { readFile } from 'node:fs/promises';
import { ConfigError } from '../../lib/config.ts';
import { startHttpHost, type HttpHost } from '../../lib/http-host/host.ts';
import { runProcess } from '../../lib/http-host/process.ts';
import { createLog } from '../../lib/log.ts';
import { Tokens } from './auth.ts';
import { bodyLimits, type BodyLimits } from './body.ts';
import { registryConfig, type RegistrySettings } from './config.ts';
import { openDatabase } from './database.ts';
import { createHandler } from './handler.ts';
import { createMetrics } from './metrics.ts';
import { PageCache } from './page-cache.ts';
import { createSite } from './pages/site.ts';
import { StatusFile } from './pages/status-file.ts';
import { createReadiness } from './readiness.ts';
import { Store } from './store.ts';
import { advancingClock } from './time.ts';

/** What tests replace. */
interface Surroundings {
  readonly limits?: BodyLimits;
  /** milliseconds since 1970 */
  readonly now?: () => number;
}

/**
 * Opens the database and serves the registry until closed.
 * @throws ConfigError, DatabaseFileError, ListenError
 */
export async function startRegistry(
  settings: RegistrySettings,
  { limits = bodyLimits, now = Date.now }: Surroundings = {},
): Promise<HttpHost> {
  const log = createLog('registry', settings.LOG_LEVEL);
  const tokens = await tokensFrom(settings.JWT_PRIVATE_KEY_FILE, now);
  const opened = openDatabase(settings.DATABASE_FILE);
  const pages = new PageCache();
  const metrics = createMetrics(() => store.counts());
  const store = new Store(opened.database, (writes, seconds) => {
    pages.clear();
    metrics.committed(writes, seconds);
  });
  const registry = {
    store,
    tokens,
    clock: advancingClock(store.lastTime(), now),
    limits,
    allowLocalRemotes: settings.ALLOW_LOCAL_REMOTES,
    anonymousAuth: settings.ENABLE_ANONYMOUS_AUTH,
  };
  const statusFile = await watchStatus(settings.STATUS_FILE, { changed: () => pages.clear(), log });
  const site = createSite({ store, metrics: metrics.register, status: () => statusFile?.status });
  const shut = (): void => {
    statusFile?.close();
    store.flush();
    opened.close();
  };
  try {
    return await startHttpHost({
      part: 'registry',
      settings: { ...settings, METRICS_PORT: 'off' },
      handler: createHandler({ registry, pages, site, metrics, log }),
      ready: createReadiness(opened),
      metrics: metrics.register,
      log,
      onClose: async () => shut(),
    });
  } catch (error) {
    shut();
    throw error;
  }
}

async function watchStatus(path: string | undefined, options: Omit<Parameters<typeof StatusFile.watch>[0], 'path'>) {
  return path === undefined ? undefined : StatusFile.watch({ path, ...options });
}

async function tokensFrom(file: string, now: () => number): Promise<Tokens> {
  try {
    return new Tokens(await readFile(file, 'utf8'), now);
  } catch (error) {
    const accepts = `a file with 64 hexadecimal digits (${(error as Error).message}); make one with: openssl rand -hex 32`;
    throw new ConfigError([{ name: 'JWT_PRIVATE_KEY_FILE', got: JSON.stringify(file), accepts }]);
  }
}

if (import.meta.main) await runProcess('registry', registryConfig, (settings) => startRegistry(settings));
