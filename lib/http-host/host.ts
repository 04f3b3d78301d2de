import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { collectDefaultMetrics, type Registry } from 'prom-client';
import type { Log } from '../log.ts';
import { answerJson, pathOf } from './answer.ts';
import type { HttpHostSettings } from './config.ts';
import { defaultLimits, type HttpLimits } from './limits.ts';
import { authority, dialled } from './listen.ts';
import { Servers } from './servers.ts';
import { createTlsServer, tlsFiles } from './tls.ts';
import { Traffic, type Readiness, type Served } from './traffic.ts';

export type { Readiness };

export interface HttpHostOptions extends Served {
  readonly settings: HttpHostSettings;
  /** @default defaultLimits */
  readonly limits?: Partial<HttpLimits>;
  /** called last, when no request is in flight any more */
  readonly onClose?: () => Promise<void>;
  /** called when no more connections are accepted, while requests are in flight: ends what they should not be waited for */
  readonly onDrain?: () => Promise<void>;
}

export interface HttpHost {
  /** `http://127.0.0.1:PORT`, with the port that is really listened on */
  readonly url: string;
  readonly tlsUrl?: string;
  /** `http://127.0.0.1:PORT/metrics` */
  readonly metricsUrl?: string;
  /** Reports unready, accepts requests for DRAIN_SECONDS more, calls onDrain, gives those in flight FINISH_SECONDS to finish, then calls onClose. */
  close(): Promise<void>;
}

/**
 * Listens on PORT, on TLS_PORT when a certificate is given, and on METRICS_PORT unless it is off.
 * @throws ListenError naming the port and its setting; ConfigError for an unusable certificate
 */
export async function startHttpHost(options: HttpHostOptions): Promise<HttpHost> {
  const limits = { ...defaultLimits, ...options.limits };
  const traffic = new Traffic(options, limits);
  const servers = new Servers(limits);
  try {
    const urls = await openAll(options, traffic, servers);
    options.log.info(urls, 'listening');
    let closing: Promise<void> | undefined;
    return { ...urls, close: () => (closing ??= drain(options, traffic, servers)) };
  } catch (error) {
    await servers.stop();
    throw error;
  }
}

async function openAll({ settings, metrics, log }: HttpHostOptions, { listener }: Traffic, servers: Servers) {
  const host = settings.HOST;
  const address = (port: number) => authority(dialled(host), port);
  const files = tlsFiles(settings);
  const port = await servers.open({ host, port: settings.PORT, setting: 'PORT' }, (to) => createServer(to, listener));
  const urls: { url: string; tlsUrl?: string; metricsUrl?: string } = { url: `http://${address(port)}` };
  if (files !== undefined) {
    const where = { host, port: settings.TLS_PORT, setting: 'TLS_PORT' };
    urls.tlsUrl = `https://${address(await servers.open(where, (to) => createTlsServer(files, to, listener, log)))}`;
  }
  if (settings.METRICS_PORT !== 'off') {
    collectDefaultMetrics({ register: metrics });
    const where = { host, port: settings.METRICS_PORT, setting: 'METRICS_PORT' };
    urls.metricsUrl = `http://${address(await servers.open(where, (to) => createServer(to, metricsListener(metrics, log))))}/metrics`;
  }
  return urls;
}

function metricsListener(metrics: Registry, log: Log) {
  return async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    if (pathOf(req) !== '/metrics') return answerJson(res, 404, { error: 'metrics are at /metrics' });
    try {
      const text = await metrics.metrics();
      res.writeHead(200, { 'content-type': metrics.contentType }).end(text);
    } catch (error) {
      log.error({ err: error }, 'metrics could not be collected');
      answerJson(res, 500, { error: 'metrics could not be collected; the log of this server says more' });
    }
  };
}

async function drain(options: HttpHostOptions, traffic: Traffic, servers: Servers): Promise<void> {
  const { settings, log } = options;
  log.info({ seconds: settings.DRAIN_SECONDS }, 'stopping: unready, still accepting');
  traffic.drain();
  if (settings.DRAIN_SECONDS > 0) await delay(settings.DRAIN_SECONDS * 1000);
  const stopped = servers.stop();
  await options.onDrain?.();
  const late = new AbortController();
  await Promise.race([traffic.idle(), delay(settings.FINISH_SECONDS * 1000, undefined, { signal: late.signal }).catch(() => {})]);
  late.abort();
  servers.cut();
  await stopped;
  await options.onClose?.();
  log.info('stopped');
}
