import { cut, html, type Content, type Html } from './html.ts';
import { badge, grouped, page, plural, serverAddress, wordOf } from './layout.ts';
import type { Entry, Words } from './names.ts';
import { faultLine } from '../../../lib/registry-api/fault.ts';
import { reasonOf, toolsOf, type Declaration } from './operator-status.ts';
import { addressOf, type Selection, type Wish } from './selection.ts';
import { states, statesOf, type State } from './state.ts';

const FAULTS_SHOWN = 3;
const MAX_REASON = 300;
const MAX_VERSION = 60;

interface CatalogueOptions {
  readonly wish: Wish;
  readonly selection: Selection;
  readonly words: (entry: Entry) => Words;
}

/** The list of all servers, as a document. Everything in a record or a status is untrusted text. */
export function cataloguePage({ wish, selection, words }: CatalogueOptions): string {
  const present = states.filter((state) => selection.counts[state] > 0);
  const isEmpty = selection.total === 0 && wish.search === '' && wish.state === undefined && present.length === 0;
  const main = html`<h1>MCP servers</h1>
    <form class="search" role="search" action="/">
      <label class="unseen" for="search">Search names, titles, descriptions and tools</label>
      <input
        id="search"
        type="search"
        name="search"
        placeholder="Search names, descriptions, tools"
        value="${wish.search}"
        autocomplete="off"
        spellcheck="false"
      />
      ${wish.state === undefined ? undefined : html`<input type="hidden" name="state" value="${wish.state}" />`}
      <button>Search</button>
    </form>
    <nav id="filters" aria-label="States" ${isEmpty ? html`hidden` : undefined}>${filters(wish, selection, present)}</nav>
    <p id="count" class="count" role="status">${isEmpty ? '' : countLine(wish, selection)}</p>
    <div id="results">
      ${
        selection.total === 0
          ? nothing(wish)
          : html`<ul class="entries" role="list">
              ${selection.shown.map((entry) => item(entry, words(entry)))}
            </ul>`
      }
      ${selection.pages > 1 ? paging(wish, selection) : undefined}
    </div>`;
  return page({ title: titleOf(wish), main, states: present });
}

function titleOf({ search, state, page }: Wish): string {
  const what = [
    ...(state === undefined ? [] : [wordOf(state)]),
    ...(search === '' ? [] : [`“${search}”`]),
    ...(page > 1 ? [`page ${page}`] : []),
  ];
  return [...what, 'MCP servers'].join(' · ');
}

function filters(wish: Wish, { counts, all }: Selection, present: readonly State[]): Html {
  const offered = states.filter((state) => present.includes(state) || state === wish.state);
  const link = (state: State | undefined, label: Content, count: number) =>
    html`<li>
      <a href="${addressOf({ ...wish, state, page: 1 })}" ${wish.state === state ? CURRENT : undefined}
        >${label} <b>${grouped(count)}</b></a
      >
    </li>`;
  return html`<ul class="filters" role="list">
    ${link(undefined, 'All', all)}${offered.map((state) => link(state, badge(state), counts[state]))}
  </ul>`;
}

const CURRENT = html`aria-current="true"`;

function countLine({ search, state }: Wish, { total, page, pages }: Selection): string {
  const what = [
    plural(total, 'server'),
    ...(state === undefined ? [] : [`in state ${wordOf(state)}`]),
    ...(search === '' ? [] : [`with “${search}”`]),
  ].join(' ');
  return pages > 1 ? `${what}, page ${page} of ${pages}` : what;
}

function item(entry: Entry, words: Words): Html {
  const { latest, declarations, states } = entry;
  const version = latest?.version ?? declarations[0]?.version ?? '';
  return html`<li>
    <div>
      <h2>${heading(entry, words)}</h2>
      ${words.description === '' ? undefined : html`<p><bdi>${words.description}</bdi></p>`}${whereabouts(words.place, toolsOf(declarations, version))}
    </div>
    <div class="side">
      ${version === '' ? undefined : html`<bdi class="version">${cut(version, MAX_VERSION)}</bdi>`}${states.map(badge)}
    </div>
    ${reasons(entry)}
  </li>`;
}

function heading({ key, isName }: Entry, { title }: Words): Html {
  const label = title === '' ? html`<code>${key}</code>` : html`<bdi>${title}</bdi>`;
  const address = isName ? serverAddress(key) : undefined;
  const link = address === undefined ? label : html`<a href="${address}">${label}</a>`;
  return title === '' ? link : html`${link}<code>${key}</code>`;
}

function whereabouts(place: string, tools: Declaration['tools']): Html | undefined {
  if (place === '' && tools === undefined) return undefined;
  return html`<p class="where">
    ${place === '' ? undefined : html`<code>${place}</code>`}${tools === undefined ? undefined : html`<span>${plural(tools.count, 'tool')}</span>`}
  </p>`;
}

/** Why it is not plainly published. */
function reasons({ isName, latest, declarations }: Entry): Html | undefined {
  const ofRecord = latest === undefined || latest.status === 'active' ? [] : [latest.statusMessage ?? ''];
  const waiting = declarations.filter((one) => statesOf(undefined, [one]).length > 0);
  // a name's faults are on its page
  const faults = isName ? [] : waiting.flatMap((one) => one.faults ?? []).slice(0, FAULTS_SHOWN);
  const lines = [...ofRecord, ...waiting.map(reasonOf), ...faults.map(faultLine)].filter((line) => line !== '');
  if (lines.length === 0) return undefined;
  return html`<div class="why">${lines.map((line) => html`<p><bdi>${cut(line, MAX_REASON)}</bdi></p>`)}</div>`;
}

function paging(wish: Wish, { page, pages }: Selection): Html {
  const link = (to: number, label: string, rel?: string) =>
    html`<a href="${addressOf({ ...wish, page: to })}" ${rel === undefined ? undefined : html`rel="${rel}"`}>${label}</a>`;
  return html`<nav class="pages" aria-label="Pages">
    ${page > 1 ? [link(1, 'First'), ' ', link(page - 1, 'Previous', 'prev')] : undefined}
    <span class="faint">Page ${grouped(page)} of ${grouped(pages)}</span>
    ${page < pages ? [link(page + 1, 'Next', 'next'), ' ', link(pages, 'Last')] : undefined}
  </nav>`;
}

/** What to do when nothing is shown. */
function nothing({ search, state }: Wish): Html {
  if (search !== '' || state !== undefined) {
    const wider =
      search !== '' && state !== undefined
        ? html` or <a href="${addressOf({ search, state: undefined, page: 1 })}">search in every state</a>`
        : undefined;
    return html`<div class="empty">
      <h2>No server fits</h2>
      <p>Each word has to be somewhere in the name, the title, the description or the tools. <a href="/">Show all servers</a>${wider}.</p>
    </div>`;
  }
  return html`<div class="empty">
    <h2>Nothing is published yet</h2>
    <p>
      While <code>toolyard up</code> runs, drop a <code>server.json</code> into <code>catalog/&lt;any&gt;/</code>: it is here as soon as its
      server answers.
    </p>
    <p class="faint">Whoever has a token publishes with <code>POST /v0.1/publish</code>.</p>
  </div>`;
}
