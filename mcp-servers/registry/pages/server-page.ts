import { instructions, visibleAddress } from '../../../lib/connect.ts';
import { versionPath, versionsPath } from '../../../lib/registry-api/paths.ts';
import type { Argument, KeyValueInput, Package, ServerJson, ServerRecord, Transport } from '../../../lib/registry-api/server-json.ts';
import type { RecordState } from '../store.ts';
import { formatTime, type Micros } from '../time.ts';
import { cut, html, outsideLink, type Content, type Html } from './html.ts';
import { badge, grouped, page, plural, serverAddress, wordOf } from './layout.ts';
import { faultLine } from '../../../lib/registry-api/fault.ts';
import { reasonOf, toolsOf, type Declaration } from './operator-status.ts';
import { isNeeded, runLine, valueOf } from './run-line.ts';
import { statesOf, type State } from './state.ts';

const WAYS_SHOWN = 10;
const INPUTS_SHOWN = 40;
const MAX_TEXT = 1000;
/** A longer address or command is not shown: nobody could see what it is. */
const LONGEST_LINE = 1000;

export interface ServerPageOptions {
  readonly name: string;
  /** the version that is shown; undefined while nothing is published */
  readonly record: ServerRecord | undefined;
  readonly state: RecordState | undefined;
  /** some of its versions, the newest publication first */
  readonly versions: readonly RecordState[];
  /** how many there are */
  readonly count: number;
  readonly declarations: readonly Declaration[];
  /** when the operator wrote what it says of the declarations */
  readonly toldAt: string | undefined;
}

/** All of one server, as a document. Everything in a record or a status is untrusted text. */
export function serverPage(options: ServerPageOptions): string {
  const { name, record, state } = options;
  const isLatest = state?.isLatest !== false;
  // what is declared of other versions is told where the name is
  const declarations = isLatest ? options.declarations : options.declarations.filter(({ version }) => version === state?.version);
  const states = statesOf(state?.status, declarations);
  const main = html`${back()} ${head(options, states)} ${isLatest ? undefined : older(name)} ${notices(state, declarations)}
    <div class="record">
      <div>
        ${record === undefined ? undefined : connecting(record.server)} ${tools(toolsOf(declarations, state?.version))} ${versions(options)}
        ${declared(declarations, options.toldAt)}
      </div>
      ${facts(options)}
    </div>`;
  return page({ title: `${titleOf(options)} · MCP servers`, main, states });
}

function titleOf({ name, record }: ServerPageOptions): string {
  return record?.server.title ?? name;
}

function head(options: ServerPageOptions, states: readonly State[]): Html {
  const { name, record } = options;
  const title = titleOf(options);
  const version = record === undefined ? undefined : html`<bdi class="version">${record.server.version}</bdi>`;
  return html`<div class="head">
    <h1><bdi>${title}</bdi></h1>
    <div class="line">${title === name ? undefined : html`<code>${name}</code>`}${version}${states.map(badge)}</div>
    ${record === undefined ? undefined : html`<p><bdi>${record.server.description}</bdi></p>`}
  </div>`;
}

/** For a name or a version that is not there. */
export function unknownPage(name: string, version: string | undefined): string {
  const shown = cut(name, MAX_TEXT);
  const known = version === undefined ? undefined : serverAddress(name);
  const main = html`${back()}
    <div class="head">
      <h1>${version === undefined ? 'No such server' : 'No such version'}</h1>
      <p>
        ${version === undefined ? html`Nothing of the name <code>${shown}</code> is published or declared here.` : html`<code>${shown}</code> has no version <bdi>${cut(version, MAX_TEXT)}</bdi>.`}
      </p>
      <p>
        ${known === undefined ? undefined : html`<a href="${known}">Show its latest version</a>, or `}<a href="/"
          >look through all servers</a
        >.
      </p>
    </div>`;
  return page({ title: 'Not found · MCP servers', main });
}

function back(): Html {
  return html`<nav aria-label="Way back"><a href="/">← All servers</a></nav>`;
}

function older(name: string): Html {
  return html`<div class="notice">
    <p>This is not the latest version. <a href="${serverAddress(name)}">Show the latest</a></p>
  </div>`;
}

/** What is to be known before anybody connects. */
function notices(state: RecordState | undefined, declarations: readonly Declaration[]): Content {
  const ofRecord = state === undefined || state.status === 'active' ? [] : [notice(state.status, state.statusMessage ?? '')];
  const ofDeclarations = declarations.flatMap((one) => {
    const [first] = statesOf(undefined, [one]);
    return first === undefined ? [] : [notice(first, reasonOf(one), one.faults?.map(faultLine))];
  });
  return [...ofRecord, ...ofDeclarations];
}

function notice(state: State, why: string, details: readonly string[] = []): Html {
  const list = html`<ul>
    ${details.map((line) => html`<li><bdi>${line}</bdi></li>`)}
  </ul>`;
  return html`<div class="notice ${state}">
    <p><strong>${wordOf(state)}</strong>${why === '' ? undefined : html`: <bdi>${cut(why, MAX_TEXT)}</bdi>`}</p>
    ${details.length > 0 ? list : undefined}
  </div>`;
}

function connecting(server: ServerJson): Html {
  const { remotes = [], packages = [] } = server;
  const ways = [...remotes.map((remote) => remoteWay(server.name, remote)), ...packages.map(packageWay)];
  const shown = ways.slice(0, WAYS_SHOWN);
  const rest = ways.length - shown.length;
  return html`<section aria-labelledby="connect">
    <h2 id="connect">Connect</h2>
    ${shown.map((way, index) =>
      index === 0
        ? way.body
        : html`<details>
            <summary>${way.label}</summary>
            <div>${way.body}</div>
          </details>`,
    )}
    ${rest > 0 ? html`<p class="faint">${plural(rest, 'more way')} in the record.</p>` : undefined}
    ${ways.length === 0 ? html`<p>The record names neither an address nor a package.</p>` : undefined}
  </section>`;
}

interface Way {
  readonly label: Html;
  readonly body: Html;
}

function remoteWay(name: string, { type, url = '', headers = [], variables = {} }: Transport): Way {
  const transport = type === 'sse' ? 'sse' : 'http';
  const sent = headers.filter(isNeeded).map((header) => ({ name: header.name, value: valueOf(header, header.name) }));
  const lines = instructions([{ name, url, transport, headers: sent }], '');
  const [claude = '', inspector = ''] = [lines.claudeCode[0], lines.inspector[0]];
  const inputs = [...Object.entries(variables).map(([key, input]) => Object.assign(input, { name: `{${key}}` })), ...headers];
  const label = html`<code>${visibleAddress(url)}</code> ${transport === 'sse' ? html`<span class="faint">(SSE)</span>` : undefined}`;
  if (url.length > LONGEST_LINE) {
    return {
      label: html`A remote`,
      body: html`<p>A remote has an address of ${url.length} characters, which is too long to be shown.</p>`,
    };
  }
  return {
    label,
    body: html`<p>${label}</p>
      ${snippet('Claude Code', claude)}
      ${snippet('VS Code, in .vscode/mcp.json', JSON.stringify(JSON.parse(lines.vscode.join('')), undefined, 2))}
      ${snippet('MCP Inspector', inspector)} ${inputList('What it asks for', inputs)}`,
  };
}

function packageWay(entry: Package): Way {
  const { registryType, identifier, version, transport } = entry;
  const line = runLine(entry);
  const label = html`<span class="faint">${registryType} package</span>
    <code>${cut(identifier, MAX_TEXT)}${version === undefined ? '' : `@${cut(version, MAX_TEXT)}`}</code>`;
  const asked = [
    ...(entry.environmentVariables ?? []),
    ...[...(entry.runtimeArguments ?? []), ...(entry.packageArguments ?? [])].map(argumentInput),
  ];
  return {
    label,
    body: html`<p>${label} <span class="faint">speaks ${transport.type}</span></p>
      ${line === undefined || line.length > LONGEST_LINE ? undefined : snippet('Run it', line)} ${inputList('What it takes', asked)}`,
  };
}

function argumentInput(argument: Argument): KeyValueInput {
  const { type: _, name = '', valueHint = '', ...rest } = argument;
  return { ...rest, name: [name, valueHint, 'argument'].find((text) => text !== '') ?? '' };
}

function snippet(title: string, text: string): Html {
  return html`<figure>
    <figcaption>${title}<button type="button" hidden>Copy</button></figcaption>
    <pre>${cut(text, 4 * LONGEST_LINE)}</pre>
  </figure>`;
}

function inputList(title: string, inputs: readonly KeyValueInput[]): Html | undefined {
  if (inputs.length === 0) return undefined;
  const shown = inputs.slice(0, INPUTS_SHOWN).map(
    (input) =>
      html`<div>
        <dt><code>${cut(input.name, MAX_TEXT)}</code> <span class="faint">${traitsOf(input)}</span></dt>
        ${input.description === undefined ? undefined : html`<dd><bdi>${cut(input.description, MAX_TEXT)}</bdi></dd>`}
      </div>`,
  );
  const rest = inputs.length - shown.length;
  return html`<h3>${title}</h3>
    <dl class="inputs">${shown}</dl>
    ${rest > 0 ? html`<p class="faint">${rest} more in the record.</p>` : undefined}`;
}

function traitsOf({ isRequired, isSecret, default: fallback = '', choices = [] }: KeyValueInput): string {
  return [
    isRequired === true ? 'required' : 'optional',
    ...(isSecret === true ? ['secret'] : []),
    ...(fallback === '' ? [] : [`default ${cut(fallback, MAX_TEXT)}`]),
    ...(choices.length === 0 ? [] : [`one of ${cut(choices.join(', '), MAX_TEXT)}`]),
  ].join(', ');
}

function tools(found: Declaration['tools']): Html | undefined {
  if (found === undefined) return undefined;
  const rest = found.count - found.names.length;
  return html`<section aria-labelledby="tools">
    <h2 id="tools">${plural(found.count, 'tool')}</h2>
    <ul class="tools" role="list">
      ${found.names.map((name) => html`<li><code>${name}</code></li>`)}
    </ul>
    ${rest > 0 ? html`<p class="faint">${rest} more that the operator’s status has no room for.</p>` : undefined}
  </section>`;
}

function versions({ name, versions, count }: ServerPageOptions): Html | undefined {
  if (versions.length === 0) return undefined;
  const rows = versions.map(
    ({ version, status, publishedAt, isLatest }) =>
      html`<tr>
        <th scope="row">
          <a href="${serverAddress(name, version)}"><bdi>${version}</bdi></a
          >${isLatest ? html`<span class="tag">latest</span>` : undefined}
        </th>
        <td>${statesOf(status, []).map(badge)}</td>
        <td>${time(publishedAt)}</td>
      </tr>`,
  );
  const rest = count - versions.length;
  return html`<section aria-labelledby="versions">
    <h2 id="versions">Versions</h2>
    <table>
      <thead>
        <tr>
          <th scope="col">Version</th>
          <th scope="col">State</th>
          <th scope="col">Published</th>
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
    ${rest > 0 ? html`<p><a href="/v0.1${versionsPath(name)}?include_deleted=true">${grouped(rest)} older in the API</a></p>` : undefined}
  </section>`;
}

function declared(declarations: readonly Declaration[], toldAt: string | undefined): Html | undefined {
  if (declarations.length === 0) return undefined;
  const parts = declarations.map(
    ({ source, version, conditions }) =>
      html`<h3><code>${source}</code> <bdi class="faint">${version}</bdi></h3>
        <dl class="conditions">
          ${conditions.map(
            ({ type, status, message, lastTransitionTime }) =>
              html`<div>
                <dt>${type}: ${answers[status]}</dt>
                <dd><bdi>${message}</bdi> <span class="faint">since ${shortTime(lastTransitionTime)}</span></dd>
              </div>`,
          )}
        </dl>`,
  );
  return html`<section aria-labelledby="declaration">
    <h2 id="declaration">${declarations.length === 1 ? 'Declaration' : 'Declarations'}</h2>
    ${parts}
    <p class="faint small">As the operator wrote it at ${shortTime(toldAt ?? '')}.</p>
  </section>`;
}

const answers = { True: 'yes', False: 'no', Unknown: 'unknown' } as const;

function facts({ record, state }: ServerPageOptions): Html | undefined {
  if (record === undefined || state === undefined) return undefined;
  const { name, version, websiteUrl, repository } = record.server;
  const rows: readonly (readonly [string, Content])[] = [
    ['Version', html`<bdi>${version}</bdi>${state.isLatest ? ', the latest' : ''}`],
    ['Published', time(state.publishedAt)],
    ['Updated', time(state.updatedAt)],
    ...(websiteUrl === undefined ? [] : [['Website', link(websiteUrl)] as const]),
    ...(repository?.url === undefined ? [] : [['Source', link(repository.url)] as const]),
    ['Record', html`<a href="/v0.1${versionPath(name, version)}?include_deleted=true">JSON in the API</a>`],
  ];
  return html`<dl class="facts">
    ${rows.map(
      ([term, value]) =>
        html`<div>
          <dt>${term}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`;
}

function link(url: string): Html {
  return outsideLink(url, cut(url.replace(/^https?:\/\//i, ''), 120));
}

function time(at: Micros): Html {
  const text = formatTime(at);
  return html`<time datetime="${text}">${shortTime(text)}</time>`;
}

/** To the minute. What is no such time is shown as it is. */
function shortTime(text: string): string {
  const parts = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d):[\d.]+Z$/.exec(text);
  return parts === null ? text : `${parts[1]} ${parts[2]} UTC`;
}
