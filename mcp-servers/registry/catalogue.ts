import { createHash } from 'node:crypto';
import { versionPath, versionsPath } from '../../lib/registry-api/paths.ts';
import {
  OFFICIAL_META,
  type OfficialMeta,
  type Package,
  type ServerJson,
  type ServerRecord,
  type Transport,
} from '../../lib/registry-api/server-json.ts';
import { html, type Html } from './html.ts';
import type { Store } from './store.ts';
import { queryValue } from './target.ts';

const PER_PAGE = 50;
const VERSIONS_SHOWN = 12;
const WAYS_SHOWN = 10;
/** A way to connect whose markup is longer is not shown: nobody could see what it is. */
const LONGEST_SHOWN = 2000;

const style = `
:root { color-scheme: light dark; --ink: light-dark(#1b1f24, #e6e8eb); --faint: light-dark(#57606a, #9aa4af); --line: light-dark(#d8dee4, #30363d);
  --page: light-dark(#fff, #0f1216); --panel: light-dark(#f6f8fa, #171b21); --link: light-dark(#0a58ca, #79b8ff);
  --active: light-dark(#116329, #56d364); --deprecated: light-dark(#8a5300, #e3b341); --deleted: light-dark(#a40e26, #ff7b72) }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 54rem; padding: 2rem 1.25rem 4rem; background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, sans-serif;
  overflow-wrap: anywhere }
h1 { font-size: 1.4rem; margin: 0 }
h2 { font-size: 1.05rem; margin: 0 }
p { margin: .35rem 0 }
a { color: var(--link) }
code, pre { font: .85rem/1.5 ui-monospace, monospace; unicode-bidi: isolate }
pre { margin: .5rem 0; padding: .6rem .8rem; background: var(--panel); border: 1px solid var(--line); border-radius: 6px; white-space: pre-wrap }
form { display: flex; gap: .5rem; margin: 1.25rem 0 }
input { flex: 1; min-width: 0 }
input, button { font: inherit; color: inherit; background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: .4rem .7rem }
article { border-top: 1px solid var(--line); padding: 1.1rem 0; overflow: clip }
summary { cursor: pointer }
.faint { color: var(--faint) }
.versions { display: flex; flex-wrap: wrap; gap: .25rem .8rem; padding: 0; margin: .35rem 0; list-style: none }
.active { color: var(--active) } .deprecated { color: var(--deprecated) } .deleted { color: var(--deleted) }
`;

/** The page runs no script, loads nothing and may be framed by nobody. */
export const cataloguePolicy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The records as a page for people: names, versions, states, and how to connect. Everything in a record is untrusted text. */
export function catalogue(store: Store, query: string | undefined): string {
  const search = valueIn(query, 'search');
  const after = valueIn(query, 'after');
  const { records, next } = store.list({
    limit: PER_PAGE,
    onlyLatest: true,
    includeDeleted: false,
    ...(search !== '' && { search }),
    ...(after !== '' && { after: { name: after } }),
  });
  const entries = records.map((text) => entry(store, JSON.parse(text) as ServerRecord));
  const more = next && `/?${new URLSearchParams({ search, after: next.name }).toString()}`;
  return page(html`
    <header>
      <h1>MCP servers</h1>
      <p class="faint">
        Clients list them at <a href="/v0.1/servers?version=latest"><code>/v0.1/servers</code></a
        >; the API is described in <a href="/openapi.yaml"><code>/openapi.yaml</code></a
        >.
      </p>
    </header>
    <form role="search">
      <input type="search" name="search" aria-label="part of a name" placeholder="part of a name" value="${search}" /><button>
        Search
      </button>
    </form>
    <main>${entries.length > 0 ? entries : html`<p>${search === '' ? 'Nothing is published yet.' : 'No name holds this.'}</p>`}</main>
    ${more === undefined ? undefined : html`<p><a href="${more}" rel="next">More</a></p>`}
  `);
}

function page(body: Html): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>MCP servers</title>
<style>${style}</style>
</head>
<body>${body.markup}</body>
</html>
`;
}

function entry(store: Store, { server, _meta }: ServerRecord): Html {
  const official = _meta[OFFICIAL_META];
  return html`<article>
    <h2><bdi>${server.title ?? server.name}</bdi></h2>
    ${server.title === undefined ? undefined : html`<p><code>${server.name}</code></p>`}
    <p><bdi>${server.description}</bdi></p>
    ${messageOf(official)} ${versionsOf(store, server.name)} ${linksOf(server)} ${waysToConnect(server)}
  </article>`;
}

function messageOf(official: OfficialMeta | undefined): Html | undefined {
  if (official?.statusMessage === undefined) return undefined;
  return html`<p class="${official.status}">${official.status}: <bdi>${official.statusMessage}</bdi></p>`;
}

function versionsOf(store: Store, name: string): Html {
  const shown = store.states(name, VERSIONS_SHOWN);
  const items = shown.map(
    ({ version, status, isLatest }) =>
      html`<li>
        <a href="/v0.1${versionPath(name, version)}?include_deleted=true"><bdi>${version}</bdi></a>
        <span class="${status}">${status}</span>${isLatest ? ', latest' : ''}
      </li>`,
  );
  const rest = store.count(name) - shown.length;
  return html`<ul class="versions">
    ${items}${rest > 0 ? html`<li><a href="/v0.1${versionsPath(name)}">${rest} more</a></li>` : undefined}
  </ul>`;
}

function linksOf({ websiteUrl, repository }: ServerJson): Html | undefined {
  const links = [
    ['website', websiteUrl],
    ['source', repository?.url],
  ].filter((link): link is [string, string] => link[1] !== undefined && /^https?:\/\//i.test(link[1]));
  if (links.length === 0) return undefined;
  return html`<p>${links.map(([text, url]) => html`<a href="${url}" rel="noreferrer noopener">${text}</a> `)}</p>`;
}

function waysToConnect({ name, remotes = [], packages = [] }: ServerJson): Html {
  const short = name.slice(name.indexOf('/') + 1);
  const ways = [...remotes.map((remote) => remoteWay(short, remote)), ...packages.map(packageWay)];
  const shown = ways.filter(({ markup }) => markup.length <= LONGEST_SHOWN).slice(0, WAYS_SHOWN);
  const rest = ways.length - shown.length;
  return html`<details>
    <summary>Connect</summary>
    ${shown}${rest > 0 ? html`<p>${rest} more in the record</p>` : undefined}
    ${ways.length === 0 ? html`<p>The record names neither an address nor a package.</p>` : undefined}
  </details>`;
}

function remoteWay(short: string, { type, url = '' }: Transport): Html {
  const kind = type === 'sse' ? 'sse' : 'http';
  const address = visible(url);
  const settings = JSON.stringify({ servers: { [short]: { type: kind, url: address } } }, undefined, 2);
  return html`<p>Claude Code</p>
    <pre>claude mcp add --transport ${kind} ${short} ${shellQuoted(address)}</pre>
    <p>VS Code, in <code>.vscode/mcp.json</code></p>
    <pre>${settings}</pre>`;
}

function packageWay({ registryType, identifier, version }: Package): Html {
  return html`<p>Package <code>${registryType}</code>: <code>${identifier}${version === undefined ? '' : `@${version}`}</code></p>`;
}

/** An address as whoever copies it should see it: characters that are drawn elsewhere, or not at all, stand as their escapes. */
function visible(url: string): string {
  return url.replaceAll(/[^\x21-\x7e]/gu, encodeURIComponent);
}

/** A record's address is pasted into a shell: nothing in it may be more than text. */
function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function valueIn(query: string | undefined, name: string): string {
  const value = queryValue(query, name);
  return value.ok ? value.text : '';
}
