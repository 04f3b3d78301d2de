import type { OutgoingHttpHeaders } from 'node:http';
import type { Registry as Metrics } from 'prom-client';
import type { ServerRecord } from '../../../lib/registry-api/server-json.ts';
import { openapi, toYaml } from '../openapi.ts';
import type { Store } from '../store.ts';
import { percentDecode, queryValue } from '../target.ts';
import { cataloguePage } from './catalogue.ts';
import { pageHeaders } from './layout.ts';
import { Names } from './names.ts';
import type { OperatorStatus } from './operator-status.ts';
import { select, wishOf } from './selection.ts';
import { serverPage, unknownPage } from './server-page.ts';

export interface SitePage {
  /** default: 200 */
  readonly status?: number;
  readonly type: string;
  readonly body: string;
  readonly headers?: OutgoingHttpHeaders;
  /** may be given again until the next commit, or until the operator's status changes */
  readonly keep?: boolean;
}

/** What the registry shows outside its API; undefined where there is nothing. */
export type Site = (path: string, query: string | undefined) => SitePage | undefined | Promise<SitePage | undefined>;

interface SiteOptions {
  readonly store: Store;
  readonly metrics: Metrics;
  /** what the operator wrote last, as far as there is one */
  readonly status: () => OperatorStatus | undefined;
}

/** Of a name with thousands of versions the newest are enough to choose from. */
const VERSIONS_SHOWN = 50;

export function createSite({ store, metrics, status }: SiteOptions): Site {
  const yaml = toYaml(openapi).trimStart();
  const json = JSON.stringify(openapi);
  const names = new Names(store, status);
  const pages: Readonly<Record<string, (query: string | undefined) => SitePage | Promise<SitePage>>> = {
    '/': (query) => catalogue(names, query),
    '/docs': () => ({ type: 'text/plain; charset=utf-8', body: yaml }),
    '/openapi.yaml': () => ({ type: 'application/openapi+yaml', body: yaml }),
    '/openapi.json': () => ({ type: 'application/openapi+json', body: json }),
    '/metrics': async () => ({ type: metrics.contentType, body: await metrics.metrics() }),
  };
  return (path, query) => {
    if (Object.hasOwn(pages, path)) return pages[path]?.(query);
    const name = serverIn(path);
    return name === undefined ? undefined : server({ store, status, names }, name, query);
  };
}

function catalogue(names: Names, query: string | undefined): SitePage {
  const wish = wishOf(query);
  const entries = names.entries();
  if (wish.search !== '') names.readWords();
  const words = names.words.bind(names);
  return document(cataloguePage({ wish, selection: select(entries, wish, words), words }));
}

/** The name in `/servers/<space>/<name>`; the slash may be escaped, as the API has it. */
function serverIn(path: string): string | undefined {
  const decoded = percentDecode(path);
  return decoded.ok ? /^\/servers\/([^/]+\/[^/]+)$/.exec(decoded.text)?.[1] : undefined;
}

interface Sources {
  readonly store: Store;
  readonly status: () => OperatorStatus | undefined;
  readonly names: Names;
}

function server({ store, status, names }: Sources, name: string, query: string | undefined): SitePage {
  const entry = names.entries().find(({ key, isName }) => isName && key === name);
  if (entry === undefined) return missing(unknownPage(name, undefined));
  const version = versionIn(query);
  const text = version === undefined ? store.latest(name, true) : store.version(name, version, true);
  if (text === undefined && version !== undefined) return missing(unknownPage(name, version));
  const versions = store.states(name);
  return document(
    serverPage({
      name,
      record: text === undefined ? undefined : (JSON.parse(text) as ServerRecord),
      state: versions.find((state) => state.version === (version ?? entry.latest?.version)),
      versions: versions.slice(0, VERSIONS_SHOWN),
      count: versions.length,
      declarations: entry.declarations,
      toldAt: status()?.updatedAt,
    }),
  );
}

/** undefined for the latest, whichever that is */
function versionIn(query: string | undefined): string | undefined {
  const asked = queryValue(query, 'version');
  return asked.ok && asked.text !== '' && asked.text !== 'latest' ? asked.text : undefined;
}

function document(body: string): SitePage {
  return { type: 'text/html; charset=utf-8', body, headers: pageHeaders, keep: true };
}

/** Not kept: there is no end of names that are not there. */
function missing(body: string): SitePage {
  return { ...document(body), status: 404, keep: false };
}
