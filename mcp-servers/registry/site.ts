import type { OutgoingHttpHeaders } from 'node:http';
import type { Registry as Metrics } from 'prom-client';
import { catalogue, cataloguePolicy } from './catalogue.ts';
import { openapi, toYaml } from './openapi.ts';
import type { Store } from './store.ts';

export interface SitePage {
  readonly type: string;
  readonly body: string;
  readonly headers?: OutgoingHttpHeaders;
  /** may be given again until the next commit */
  readonly keep?: boolean;
}

/** What the registry shows outside its API; undefined where there is nothing. */
export type Site = (path: string, query: string | undefined) => SitePage | undefined | Promise<SitePage | undefined>;

const pageHeaders = { 'content-security-policy': cataloguePolicy, 'x-frame-options': 'DENY', 'referrer-policy': 'no-referrer' };

export function createSite(store: Store, metrics: Metrics): Site {
  const yaml = toYaml(openapi).trimStart();
  const json = JSON.stringify(openapi);
  const pages: Readonly<Record<string, (query: string | undefined) => SitePage | Promise<SitePage>>> = {
    '/': (query) => ({ type: 'text/html; charset=utf-8', body: catalogue(store, query), headers: pageHeaders, keep: true }),
    '/docs': () => ({ type: 'text/plain; charset=utf-8', body: yaml }),
    '/openapi.yaml': () => ({ type: 'application/openapi+yaml', body: yaml }),
    '/openapi.json': () => ({ type: 'application/openapi+json', body: json }),
    '/metrics': async () => ({ type: metrics.contentType, body: await metrics.metrics() }),
  };
  return (path, query) => (Object.hasOwn(pages, path) ? pages[path]?.(query) : undefined);
}
