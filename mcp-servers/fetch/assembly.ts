import { availableParallelism } from 'node:os';
import type { Dispatcher } from 'undici';
import type { Log } from '../../lib/log.ts';
import type { PageSettings } from './config.ts';
import { Converter } from './convert/converter.ts';
import type { FetchMetrics } from './metrics.ts';
import { Pages } from './pages.ts';

/** The incumbent's: sites know them, in their robots.txt above all. */
const AUTONOMOUS = 'ModelContextProtocol/1.0 (Autonomous; +https://github.com/modelcontextprotocol/servers)';
const MANUAL = 'ModelContextProtocol/1.0 (User-Specified; +https://github.com/modelcontextprotocol/servers)';

/** For the agents of this server: content security policies alone reach 20 KB; bytes. */
export const MAX_HEADER_BYTES = 64 * 1024;
/** Decoded bytes per byte received. */
const MAX_RATIO = 100;
const MIB = 1024 * 1024;

export interface AssemblyOptions {
  readonly settings: PageSettings;
  readonly dispatcher: Dispatcher;
  /** what to do about a refused address */
  readonly remedy: (url: URL) => string;
  readonly metrics: FetchMetrics;
  readonly log: Log;
}

export interface Assembly {
  readonly pages: Pages;
  /** Resolves when a page could be converted. */
  ready(): Promise<void>;
  close(): Promise<void>;
}

/** The parts of a fetch server, whatever it is reached by. */
export function assemble({ settings, dispatcher, remedy, metrics, log }: AssemblyOptions): Assembly {
  const converter = new Converter({
    keep: settings.FETCH_WORKERS,
    most: Math.max(settings.FETCH_WORKERS, settings.FETCH_MAX_WORKERS ?? workersFor(availableParallelism())),
    memoryMb: settings.FETCH_WORKER_MEMORY_MIB,
  });
  const pages = new Pages({
    dispatcher,
    convert: (conversion, signal, endsAt) => converter.convert(conversion, signal, endsAt),
    userAgents: { autonomous: settings.FETCH_USER_AGENT ?? AUTONOMOUS, manual: settings.FETCH_USER_AGENT ?? MANUAL },
    ignoreRobots: settings.FETCH_IGNORE_ROBOTS,
    timeoutMs: settings.FETCH_TIMEOUT_SECONDS * 1000,
    limits: { wireBytes: settings.FETCH_MAX_WIRE_BYTES, decodedBytes: settings.FETCH_MAX_DECODED_BYTES, ratio: MAX_RATIO },
    imageBytes: settings.FETCH_MAX_IMAGE_BYTES,
    perHost: { atOnce: settings.FETCH_HOST_REQUESTS, delayMs: settings.FETCH_HOST_DELAY_SECONDS * 1000 },
    cache: { maxBytes: settings.FETCH_CACHE_MIB * MIB, maxFreshMs: settings.FETCH_CACHE_SECONDS * 1000 },
    remedy,
    metrics,
    audit: (entry) => log.info(entry, 'page'),
  });
  return {
    pages,
    ready: () => converter.ready(),
    close: async () => {
      converter.close();
      await dispatcher.destroy();
    },
  };
}

/**
 * Conversions at once. A few more than processors, so that a slow page holds up none that is quick; with many more, pages that are merely
 * large would all be slow, and be given up together.
 */
function workersFor(processors: number): number {
  return Math.min(2 * processors, 8);
}
