import { Registry } from 'prom-client';
import { guardedAgent } from '../../lib/address-guard/guard.ts';
import { publicOnly } from '../../lib/address-guard/policy.ts';
import type { HttpHost, Readiness } from '../../lib/http-host/host.ts';
import { runProcess } from '../../lib/http-host/process.ts';
import { createLog } from '../../lib/log.ts';
import { startMcpHost } from '../../lib/mcp-http/host.ts';
import { assemble, MAX_HEADER_BYTES, type Assembly } from './assembly.ts';
import { fetchConfig, type FetchSettings } from './config.ts';
import { FetchMetrics } from './metrics.ts';
import { createFetchServer } from './server.ts';
import { runStdio } from './stdio.ts';

/** Pages at once; each may hold what was received, what was decoded and its text, 20 MiB together. Further calls are answered 503. */
const MAX_PAGES = 64;

/**
 * Serves the fetch tool and prompt over HTTP until closed.
 * @throws ConfigError, ListenError
 */
export async function startFetch(settings: FetchSettings): Promise<HttpHost> {
  const log = createLog('fetch', settings.LOG_LEVEL);
  const metrics = new Registry();
  const policy = publicOnly({ allowOrigins: settings.FETCH_ALLOW_ORIGINS ?? [], deny: settings.FETCH_DENY_CIDRS ?? [] });
  const assembly = assemble({
    settings,
    dispatcher: guardedAgent(policy, { pool: { maxHeaderSize: MAX_HEADER_BYTES } }),
    remedy: ({ origin }) => `Start the server with ${origin} in FETCH_ALLOW_ORIGINS to allow this origin.`,
    metrics: new FetchMetrics(metrics),
    log,
  });
  try {
    return await startMcpHost({
      part: 'fetch',
      settings,
      createServer: ({ principal }) => createFetchServer({ pages: assembly.pages, principal, log, structured: settings.FETCH_STRUCTURED }),
      ready: readiness(assembly),
      metrics,
      log,
      limits: { maxInFlight: MAX_PAGES },
      onClose: () => assembly.close(),
    });
  } catch (error) {
    await assembly.close();
    throw error;
  }
}

function readiness(assembly: Assembly): () => Readiness {
  let state: Readiness = { ready: false, reason: 'the page converter is starting' };
  assembly.ready().then(
    () => (state = { ready: true }),
    (error: unknown) => (state = { ready: false, reason: `the page converter does not start: ${String(error)}` }),
  );
  return () => state;
}

if (import.meta.main) {
  // Look-ups wait for name servers in half of libuv's threads, while decompression runs in any: with the usual 4, two names whose servers
  // are silent would stop every other page. Takes effect because nothing has used those threads yet.
  process.env['UV_THREADPOOL_SIZE'] ??= String(2 * MAX_PAGES);
  if (process.argv.includes('--stdio')) runStdio(process.argv.slice(2), process.env);
  else await runProcess('fetch', fetchConfig, startFetch);
}
