import { parseArgs } from 'node:util';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import type { Dispatcher } from 'undici';
import { guardedAgent } from '../../lib/address-guard/guard.ts';
import { anyAddress, publicOnly } from '../../lib/address-guard/policy.ts';
import { guardedProxy } from '../../lib/address-guard/proxy.ts';
import { ConfigError, readConfig } from '../../lib/config.ts';
import { createLog } from '../../lib/log.ts';
import { assemble, MAX_HEADER_BYTES } from './assembly.ts';
import { stdioConfig, type StdioSettings } from './config.ts';
import { FetchMetrics } from './metrics.ts';
import { createFetchServer } from './server.ts';
import { messageOf } from '../../lib/error-message.ts';

/** Whoever started this process is its only caller. */
const PRINCIPAL = 'stdio';

/** The incumbent's options. */
export interface StdioOptions {
  /** settings that options stand for, under their names */
  readonly settings: Readonly<Record<string, string>>;
  readonly allowPrivate: boolean;
  readonly proxy?: URL;
}

/**
 * Serves the fetch tool and prompt on standard input and output, as clients start mcp-server-fetch, until the input ends. The settings of
 * the HTTP server that concern fetching count too; options win. Wrong ones exit with 2.
 */
export function runStdio(args: readonly string[], env: NodeJS.ProcessEnv): void {
  try {
    const options = readOptions(args);
    serve(readConfig(stdioConfig, { ...env, ...options.settings }), options);
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n`);
    process.exit(2);
  }
}

/** @throws ConfigError, TypeError for an option that there is not */
export function readOptions(args: readonly string[]): StdioOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      stdio: { type: 'boolean' },
      'user-agent': { type: 'string' },
      'ignore-robots-txt': { type: 'boolean' },
      'allow-private-ips': { type: 'boolean' },
      'proxy-url': { type: 'string' },
    },
  });
  return {
    settings: {
      ...(values['user-agent'] !== undefined && { FETCH_USER_AGENT: values['user-agent'] }),
      ...(values['ignore-robots-txt'] === true && { FETCH_IGNORE_ROBOTS: 'true' }),
    },
    ...(values['proxy-url'] !== undefined && { proxy: proxyOf(values['proxy-url']) }),
    allowPrivate: values['allow-private-ips'] === true,
  };
}

function proxyOf(text: string): URL {
  const proxy = URL.parse(text);
  if (proxy !== null && ['http:', 'https:'].includes(proxy.protocol)) return proxy;
  // never shown: a proxy's URL may hold its password
  throw new ConfigError([{ name: '--proxy-url', got: '(hidden)', accepts: 'the URL of an HTTP proxy, http://… or https://…' }]);
}

function serve(settings: StdioSettings, options: StdioOptions): void {
  // standard output belongs to the protocol
  const log = createLog('fetch', settings.LOG_LEVEL, pino.destination(2));
  const assembly = assemble({
    settings,
    dispatcher: dispatcherFor(settings, options),
    remedy: () => 'Start the server with --allow-private-ips to allow private, loopback and link-local addresses.',
    metrics: new FetchMetrics(new Registry()),
    log,
  });
  process.stdin.once('close', () => {
    void assembly.close().then(() => process.exit(0));
  });
  serveStdio(() => createFetchServer({ pages: assembly.pages, principal: PRINCIPAL, log, structured: settings.FETCH_STRUCTURED }), {
    onerror: (error) => log.warn({ err: error }, 'a message could not be served'),
  });
}

function dispatcherFor(settings: StdioSettings, { allowPrivate, proxy }: StdioOptions): Dispatcher {
  const deny = settings.FETCH_DENY_CIDRS ?? [];
  const policy = allowPrivate ? anyAddress({ deny }) : publicOnly({ allowOrigins: settings.FETCH_ALLOW_ORIGINS ?? [], deny });
  const pool = { maxHeaderSize: MAX_HEADER_BYTES };
  return proxy === undefined ? guardedAgent(policy, { pool }) : guardedProxy(policy, proxy, { pool });
}
