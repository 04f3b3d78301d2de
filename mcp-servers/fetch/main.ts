import { Registry } from 'prom-client';
import { guardedAgent } from '../../lib/address-guard/guard.ts';
import { publicOnly } from '../../lib/address-guard/policy.ts';
import type { HttpHost, Readiness } from '../../lib/http-host/host.ts';
import { runProcess } from '../../lib/http-host/process.ts';
import { createLog } from '../../lib/log.ts';
import { startMcpHost } from '../../lib/mcp-http/host.ts';
import { fetchConfig, type FetchSettings } from './config.ts';
import { Converter } from './convert/converter.ts';
import { Fetcher } from './fetcher.ts';
import { FetchMetrics } from './metrics.ts';
import { createFetchServer } from './server.ts';

/** The incumbent's: sites know them, in their robots.txt above all. */
const AUTONOMOUS = 'ModelContextProtocol/1.0 (Autonomous; +https://github.com/modelcontextprotocol/servers)';
const MANUAL = 'ModelContextProtocol/1.0 (User-Specified; +https://github.com/modelcontextprotocol/servers)';

/** Content security policies alone reach 20 KB; bytes. */
const MAX_HEADER_BYTES = 64 * 1024;
/** Decoded bytes per byte received. */
const MAX_RATIO = 100;
/**
 * Serves the fetch tool and prompt until closed.
 * @throws ConfigError, ListenError
 */
export async function startFetch(settings: FetchSettings): Promise<HttpHost> {
  const log = createLog('fetch', settings.LOG_LEVEL);
  const metrics = new Registry();
  const policy = publicOnly({ allowOrigins: settings.FETCH_ALLOW_ORIGINS, deny: settings.FETCH_DENY_CIDRS });
  const agent = guardedAgent(policy, { pool: { maxHeaderSize: MAX_HEADER_BYTES } });
  const converter = new Converter({
    warm: settings.FETCH_WORKERS,
    most: Math.max(settings.FETCH_WORKERS, settings.FETCH_MAX_WORKERS),
    memoryMb: settings.FETCH_WORKER_MEMORY_MIB,
  });
  const fetcher = new Fetcher({
    dispatcher: agent,
    convert: (conversion, signal, articleMs) => converter.convert(conversion, signal, articleMs),
    userAgents: { autonomous: settings.FETCH_USER_AGENT ?? AUTONOMOUS, manual: settings.FETCH_USER_AGENT ?? MANUAL },
    ignoreRobots: settings.FETCH_IGNORE_ROBOTS,
    timeoutMs: settings.FETCH_TIMEOUT_SECONDS * 1000,
    limits: { wireBytes: settings.FETCH_MAX_WIRE_BYTES, decodedBytes: settings.FETCH_MAX_DECODED_BYTES, ratio: MAX_RATIO },
    remedy: ({ origin }) => `Start the server with ${origin} in FETCH_ALLOW_ORIGINS to allow this origin.`,
    metrics: new FetchMetrics(metrics),
  });
  const close = async (): Promise<void> => {
    await Promise.all([converter.close(), agent.destroy()]);
  };
  try {
    return await startMcpHost({
      part: 'fetch',
      settings,
      createServer: () => createFetchServer({ fetcher, log }),
      ready: readiness(converter),
      metrics,
      log,
      onClose: close,
    });
  } catch (error) {
    await close();
    throw error;
  }
}

/** Ready when a page could be converted. */
function readiness(converter: Converter): () => Readiness {
  let state: Readiness = { ready: false, reason: 'the page converter is starting' };
  converter.ready().then(
    () => (state = { ready: true }),
    (error: unknown) => (state = { ready: false, reason: `the page converter does not start: ${String(error)}` }),
  );
  return () => state;
}

if (import.meta.main) await runProcess('fetch', fetchConfig, startFetch);
