import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { promisify } from 'node:util';
import { OFFICIAL_META, PUBLISHER_META, SCHEMA_URL } from '../../lib/registry-api/server-json.ts';
import { seedTokenSource } from '../../lib/registry-api/token.ts';
import { documentOf, pathOf, send } from '../../mcp-servers/registry/testing.ts';
import { startRegistryProcess } from '../registry/registry-process.ts';
import { fieldsOf, inBodies, inErrors, inIssues, inRecords, microsecondsOf, type Fields, type Pair, type Shown } from './answers.ts';
import { temporaryFolder } from './official/folder.ts';
import { startOfficialRegistry } from './official/registry.ts';
import type { BothAnswers, TwoRegistries } from './two-registries.ts';

/** One way in which the embedded registry may answer otherwise than the official one: the rows of docs/differential.md. */
export interface AllowedDifference {
  /** in a few words, unique */
  readonly what: string;
  readonly official: string;
  readonly embedded: string;
  readonly why: string;
  readonly proof: Proof;
}

/** What shows that the difference is there, and no larger than it says. */
type Proof =
  /** Taken out of every two answers before they are compared. A run in which that was never needed fails. */
  | { readonly by: 'comparison'; readonly without: (pair: Pair) => Pair }
  /** Requests that show it, and what of the answers they must show. */
  | { readonly by: 'request'; readonly show: (pairs: Pairs) => Promise<Seen>; readonly expected: Seen };

/** `usual` is what all tests ask; `strict` has package checks (official), local remotes (embedded), and no anonymous tokens. */
export interface Pairs {
  readonly usual: TwoRegistries;
  readonly strict: TwoRegistries;
}

interface Seen {
  readonly official: unknown;
  readonly embedded: unknown;
}

export const allowedDifferences: readonly AllowedDifference[] = [
  {
    what: 'times of records',
    official: 'nanoseconds in the answer to a write, cut to microseconds when it is read',
    embedded: 'microseconds, each later than all before',
    why: 'two clocks; that the times of a record are equal or follow each other is compared',
    proof: { by: 'comparison', without: inRecords(withoutTimes) },
  },
  {
    what: 'echo of a body that could not be read',
    official: 'whole, as the value of the fault',
    embedded: 'none',
    why: 'up to 1 MiB for nothing; the values that belong to all other faults are compared',
    proof: {
      by: 'comparison',
      without: inErrors((errors, status) =>
        errors.map(({ value, ...fault }) =>
          fault.location === 'body' && (status === 400 || status === 415) ? fault : { ...fault, value },
        ),
      ),
    },
  },
  {
    what: 'words of JSON, token and database libraries',
    official: 'Go’s and PostgreSQL’s, as the cause of a 400 or 401',
    embedded: 'ours',
    why: 'status, detail and place of the fault are compared; clients match on those',
    proof: {
      by: 'comparison',
      without: inErrors((errors, status) => errors.map((fault) => (isLibrarys(fault, status) ? { ...fault, message: '' } : fault))),
    },
  },
  {
    what: 'why a text is no URI',
    official: 'the words of Go’s net/url',
    embedded: 'a short reason',
    why: 'which text is refused, and where, is compared',
    proof: {
      by: 'comparison',
      without: inErrors((errors) =>
        errors.map((fault) => ({ ...fault, message: fault.message.replace(/(?<=expected string to be RFC 3986 uri: ).*/s, '') })),
      ),
    },
  },
  {
    what: 'place of an empty key',
    official: '`body.`',
    embedded: '`body.""`',
    why: 'a path that ends in a dot shows no key',
    proof: {
      by: 'comparison',
      without: inErrors((errors) =>
        errors.map(({ location = '', ...fault }) => ({ ...fault, location: location.replace(/\.(?:"")?$/, '') })),
      ),
    },
  },
  {
    what: 'order of faults',
    official: 'that of a walk over a Go map, which changes',
    embedded: 'that of the document',
    why: 'no order is promised',
    proof: { by: 'comparison', without: inErrors((errors) => errors.toSorted(byText)) },
  },
  {
    what: 'findings of `/validate` by JSON Schema',
    official: 'every branch that its validator tried',
    embedded: 'one per fault',
    why: 'whether the document is valid, and every semantic finding, are compared',
    proof: { by: 'comparison', without: inIssues((issues) => issues.filter(({ type }) => type === 'semantic')) },
  },
  {
    what: 'variables listed in a message',
    official: 'in the order of a Go map, which changes',
    embedded: 'in the order of the document',
    why: 'no order is promised',
    proof: {
      by: 'comparison',
      without: inIssues((issues) =>
        issues.map(({ message, ...issue }) => ({ ...issue, message: String(message).replace(/(?<=Available variables: ).*/s, '') })),
      ),
    },
  },
  {
    what: 'the sign of zero',
    official: 'kept in the answer to a write, lost when it is read',
    embedded: 'lost',
    why: 'PostgreSQL’s numbers have no negative zero',
    proof: {
      by: 'comparison',
      without: inBodies((body) => (typeof body === 'object' ? (JSON.parse(JSON.stringify(body)) as unknown) : body)),
    },
  },
  {
    what: 'anonymous tokens',
    official: 'signed at one moment',
    embedded: 'signed at another',
    why: 'their claims are compared in a test of their own',
    proof: { by: 'comparison', without: inBodies((body) => (fieldsOf(body)?.['registry_token'] === undefined ? body : 'a token')) },
  },
  {
    what: 'text of a redirect',
    official: 'a link, for GET',
    embedded: 'none',
    why: 'clients follow the Location, which is compared',
    proof: {
      by: 'comparison',
      without: ({ official, embedded }) => ({ official: withoutText(official), embedded: withoutText(embedded) }),
    },
  },
  {
    what: 'escapes in a redirected path',
    official: 'decoded after a trailing slash, and with `%2F` the name is lost; encoded once more in an unclean path',
    embedded: 'kept',
    why: 'the official redirects lead to a 404; where to, escapes aside, is compared',
    proof: { by: 'comparison', without: withoutEscapesInLocation },
  },
  {
    what: 'headers for browsers',
    official: 'CORS only for requests with `Origin`, nosniff only on unknown paths',
    embedded: 'both always, and so no `Vary`',
    why: 'some clients look for them without sending an `Origin`',
    proof: { by: 'comparison', without: withoutMoreHeaders },
  },
  {
    what: 'spelling of JSON',
    official: '`<`, `>` and `&` escaped in lists, keys in the order of Go’s types and maps',
    embedded: 'nothing escaped that need not be, keys in an order of its own',
    why: 'answers are compared as they parse',
    proof: {
      by: 'request',
      show: async ({ usual }) => {
        const name = usual.freshName();
        await usual.ask('POST', '/v0/publish', { body: documentOf(name, { description: 'a<b' }) });
        const text = async (url: string) => (await fetch(`${url}/v0/servers?search=${name}`)).text();
        const found = async (url: string) => /"a(.*)b"/.exec(await text(url))?.[1];
        return { official: await found(usual.urls.official), embedded: await found(usual.urls.embedded) };
      },
      expected: { official: String.raw`\u003c`, embedded: '<' },
    },
  },
  {
    what: 'a name with its slash unescaped in a path',
    official: '404',
    embedded: 'accepted',
    why: 'proxies unescape it',
    proof: {
      by: 'request',
      show: async ({ usual }) => {
        const name = usual.freshName();
        await usual.publish(name, '1.0.0');
        return statuses(await usual.askWithoutComparing('GET', `/v0.1/servers/${name}/versions/1.0.0`));
      },
      expected: { official: 404, embedded: 200 },
    },
  },
  {
    what: 'OPTIONS that is no preflight',
    official: '404',
    embedded: '204',
    why: 'GitHub Copilot’s requirements for registries',
    proof: {
      by: 'request',
      show: async ({ usual }) => statuses(await usual.askWithoutComparing('OPTIONS', '/v0.1/servers')),
      expected: { official: 404, embedded: 204 },
    },
  },
  {
    what: 'an escaped slash at the end of a version',
    official: 'redirected as a trailing slash',
    embedded: 'part of the version',
    why: 'such a version can be published, and should be readable',
    proof: {
      by: 'request',
      show: async ({ usual }) => {
        const name = usual.freshName();
        await usual.publish(name, '1/');
        return statuses(await usual.askWithoutComparing('GET', `/v0.1/servers/${encodeURIComponent(name)}/versions/1%2F`));
      },
      expected: { official: 308, embedded: 200 },
    },
  },
  {
    what: 'invalid UTF-8 in a path or query',
    official: '500, from PostgreSQL',
    embedded: '400',
    why: 'it is the request’s fault',
    proof: {
      by: 'request',
      show: async ({ usual }) => {
        const targets = [
          '/v0/servers?search=%FF%FF%FF',
          '/v0/servers?cursor=%FF',
          '/v0/servers/%FF/versions',
          '/v0/servers/a/versions/%FF',
        ];
        return statusesOf(usual, targets);
      },
      expected: { official: [500, 500, 500, 500], embedded: [400, 400, 400, 400] },
    },
  },
  {
    what: 'bytes above ASCII unescaped in a target',
    official: 'taken',
    embedded: '400',
    why: 'Node’s HTTP parser refuses them; RFC 9112 allows none',
    proof: {
      by: 'request',
      show: async ({ usual }) => {
        const target = Buffer.from('/v0/servers?search=äöü').toString('latin1');
        return statuses(await usual.askWithoutComparing('GET', target));
      },
      expected: { official: 200, embedded: 400 },
    },
  },
  {
    what: 'nesting of a document',
    official: 'up to 10,000 levels',
    embedded: 'up to 2,100 levels',
    why: 'as deep as a publish can be within its 4 KB; only an edit can be deeper, and no reader likes that',
    proof: {
      by: 'request',
      show: async ({ usual }) => {
        const name = usual.freshName();
        const nested = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;
        const body = (levels: number): string =>
          documentOf(name, { _meta: { [PUBLISHER_META]: { a: 0 } } }).replace('"a":0', `"a":${nested(levels)}`);
        await usual.askWithoutComparing('POST', '/v0/publish', { body: body(2_000) });
        return statuses(await usual.askWithoutComparing('PUT', pathOf(name, '1.0.0'), { body: body(2_200) }));
      },
      expected: { official: 200, embedded: 422 },
    },
  },
  {
    what: 'times in a token',
    official: 'numbers, or strings of digits',
    embedded: 'numbers',
    why: 'RFC 7519 knows numbers only, and the registries’ own tokens have them',
    proof: {
      by: 'request',
      show: async ({ usual }) => {
        const token = await usual.signed({ exp: String(Math.floor(Date.now() / 1000) + 60) });
        return statuses(await usual.askWithoutComparing('POST', '/v0/publish', { body: documentOf(usual.freshName()), token }));
      },
      expected: { official: 200, embedded: 401 },
    },
  },
  {
    what: 'refusal of an `io.github.*` name',
    official: 'with a hint on GitHub’s logins',
    embedded: 'without',
    why: 'there are no GitHub logins',
    proof: {
      by: 'request',
      show: async ({ usual }) => {
        const token = await usual.tokenFor({ action: 'publish', resource: 'io.github.a/*' });
        const answers = await usual.askWithoutComparing('POST', '/v0/publish', { body: documentOf('io.github.b/c'), token });
        return {
          official: detailOf(answers.official).replace(/(?<=\. )If you.*/s, '…'),
          embedded: detailOf(answers.embedded),
        };
      },
      expected: {
        official:
          'You do not have permission to publish this server. You have permission to publish: io.github.a/*. Attempting to publish: io.github.b/c. …',
        embedded:
          'You do not have permission to publish this server. You have permission to publish: io.github.a/*. Attempting to publish: io.github.b/c',
      },
    },
  },
  {
    what: 'JSON Schema that `/validate` checks an older document by',
    official: 'that of the document’s own version',
    embedded: 'that of 2025-12-11, where it is stricter than publishing',
    why: 'older documents are accepted by both, with the same warning; five old schemas would have to be carried for findings nobody acts on',
    proof: {
      by: 'request',
      show: async ({ usual }) => {
        const $schema = SCHEMA_URL.replace('2025-12-11', '2025-07-09');
        const packages = [{ registryType: 'npm', identifier: 'a', transport: { type: 'stdio' } }];
        const answers = await usual.askWithoutComparing('POST', '/v0/validate', { body: documentOf('aa/bb', { $schema, packages }) });
        const valid = ({ body }: { readonly body: unknown }) => fieldsOf(body)?.['valid'];
        return { official: valid(answers.official), embedded: valid(answers.embedded) };
      },
      expected: { official: false, embedded: true },
    },
  },
  {
    what: 'checks that a package belongs to its server',
    official: 'on unless switched off, then with a list of registries',
    embedded: 'none',
    why: 'they need the network; the comparison is with them off',
    proof: {
      by: 'request',
      show: async ({ strict }) => {
        const packages = [{ registryType: 'homebrew', identifier: 'a', transport: { type: 'stdio' } }];
        return statuses(await strict.askWithoutComparing('POST', '/v0/publish', { body: documentOf('aa/packaged', { packages }) }));
      },
      expected: { official: 400, embedded: 200 },
    },
  },
  {
    what: 'remotes on http or on this machine',
    official: 'refused',
    embedded: 'refused, unless `ALLOW_LOCAL_REMOTES=true`',
    why: '`toolyard up` publishes what runs on the laptop',
    proof: {
      by: 'request',
      show: async ({ strict }) => {
        const remotes = [{ type: 'streamable-http', url: 'http://127.0.0.1:8001/mcp' }];
        return statuses(await strict.askWithoutComparing('POST', '/v0/publish', { body: documentOf('aa/local', { remotes }) }));
      },
      expected: { official: 422, embedded: 200 },
    },
  },
  {
    what: 'exchange of GitHub, DNS and HTTP proofs for tokens',
    official: 'yes, and of OIDC tokens when switched on',
    embedded: 'no such paths',
    why: 'tokens are signed with the seed, or anonymous ones are switched on',
    proof: {
      by: 'request',
      show: async ({ usual }) => {
        const paths = ['github-at', 'github-oidc', 'dns', 'http', 'oidc'].map((proof) => `/v0/auth/${proof}`);
        return statusesOf(usual, paths, { method: 'POST', body: '{}' });
      },
      expected: { official: [422, 422, 422, 422, 404], embedded: [404, 404, 404, 404, 404] },
    },
  },
  {
    what: 'pages and descriptions',
    official: '`/docs` and `/` with scripts from elsewhere; also `/openapi-3.0.*` and `/schemas/*.json`',
    embedded:
      '`/docs` is the OpenAPI text; `/` loads nothing from elsewhere and also works without its script; a page of each server at `/servers/<name>`; OpenAPI 3.1 only',
    why: 'a registry inside a cluster has no way out; the operations described are compared',
    proof: {
      by: 'request',
      show: async ({ usual }) => {
        const name = usual.freshName();
        await usual.publish(name, '1.0.0');
        const pages = ['/', '/docs', `/servers/${name}`, '/openapi.yaml', '/openapi.json'];
        return statusesOf(usual, [...pages, '/openapi-3.0.yaml', '/schemas/ServerJSON.json']);
      },
      expected: { official: [200, 200, 404, 200, 200, 200, 200], embedded: [200, 200, 200, 200, 200, 404, 404] },
    },
  },
  {
    what: 'health for Kubernetes',
    official: '`/v0.1/health` only, which does not look at the database',
    embedded: 'the same, and `/healthz`, `/readyz`',
    why: 'a registry whose file is gone must not get requests',
    proof: {
      by: 'request',
      show: ({ usual }) => statusesOf(usual, ['/healthz', '/readyz']),
      expected: { official: [404, 404], embedded: [200, 200] },
    },
  },
  {
    what: '`/version` and `/metrics`',
    official: 'of the official build; names of OpenTelemetry and Go',
    embedded: 'of toolyard; names of its own and of Node',
    why: 'two programs; the shapes are those of the official one',
    proof: {
      by: 'request',
      show: async ({ usual }) => {
        const version = await usual.askWithoutComparing('GET', '/v0/version');
        const metrics = await usual.askWithoutComparing('GET', '/metrics');
        const seen = (side: keyof BothAnswers) => ({
          version: Object.keys(fieldsOf(version[side].body) ?? {}),
          metrics: metrics[side].headers['content-type']?.split(';')[0],
          runtime: /^(go|nodejs)_/m.exec(String(metrics[side].body))?.[1],
        });
        return { official: seen('official'), embedded: seen('embedded') };
      },
      expected: {
        official: { version: ['version', 'git_commit', 'build_time'], metrics: 'text/plain', runtime: 'go' },
        embedded: { version: ['version', 'git_commit', 'build_time'], metrics: 'text/plain', runtime: 'nodejs' },
      },
    },
  },
  {
    what: 'the database fails during a write',
    official: '400',
    embedded: '500',
    why: 'it is no refusal: clients may try again',
    proof: { by: 'request', show: publishWithoutDatabase, expected: { official: 400, embedded: 500 } },
  },
];

function withoutTimes(record: Fields): unknown {
  const official = fieldsOf(fieldsOf(record['_meta'])?.[OFFICIAL_META]);
  if (official === undefined) return record;
  const { statusChangedAt, publishedAt, updatedAt, ...rest } = official;
  const times = [statusChangedAt, publishedAt, updatedAt].map((time) => microsecondsOf(String(time)));
  const order = [...new Set(times)].sort();
  const places = times.map((time) => order.indexOf(time));
  return { ...record, _meta: { [OFFICIAL_META]: { ...rest, places } } };
}

function isLibrarys({ message, location = '' }: { readonly message: string; readonly location?: string }, status: number): boolean {
  return status === 401 || (status === 400 && (location === 'body' || /SQLSTATE|NUL|not be blank|unsupported Unicode/.test(message)));
}

function byText(one: unknown, other: unknown): number {
  return JSON.stringify(one) < JSON.stringify(other) ? -1 : 1;
}

/** More than the official registry sends is allowed, less is not: of a list it must have all. */
function withoutMoreHeaders({ official, embedded }: Pair): Pair {
  const { vary: _, ...theirs } = official.headers;
  const ours = Object.entries(embedded.headers).flatMap(([name, value]) => {
    const wanted = theirs[name];
    if (wanted === undefined) return /^access-control-|^x-content-type-options$/.test(name) ? [] : [[name, value]];
    const list = name.startsWith('access-control-allow-') ? value.toLowerCase().split(/,\s*/) : [];
    return [[name, list.includes(wanted.toLowerCase()) ? wanted : value]];
  });
  return {
    official: { ...official, headers: theirs },
    embedded: { ...embedded, headers: Object.fromEntries(ours) as Record<string, string> },
  };
}

function withoutText(shown: Shown): Shown {
  const { 'content-type': _, ...headers } = shown.headers;
  return shown.status >= 300 && shown.status < 400 ? { ...shown, headers, body: '' } : shown;
}

function withoutEscapesInLocation({ official, embedded }: Pair): Pair {
  const plain = (shown: Shown): Shown => {
    const { location, ...others } = shown.headers;
    return location === undefined ? shown : { ...shown, headers: { ...others, location: placeOf(location) } };
  };
  return { official: plain(official), embedded: plain(embedded) };
}

/** Where a Location leads: escapes decoded, `..` resolved. */
function placeOf(location: string): string {
  const [path = '', ...query] = location.split('?');
  return [posix.normalize(unescaped(path)), ...query].join('?');
}

/** Until there is nothing left to decode. */
function unescaped(text: string): string {
  const decoded = text.replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return decoded === text ? text : unescaped(decoded);
}

function statuses({ official, embedded }: BothAnswers): Seen {
  return { official: official.status, embedded: embedded.status };
}

async function statusesOf(
  both: TwoRegistries,
  targets: readonly string[],
  { method = 'GET', ...ask }: { readonly method?: string; readonly body?: string } = {},
): Promise<Seen> {
  const answers = [];
  for (const target of targets) answers.push(statuses(await both.askWithoutComparing(method, target, ask)));
  return { official: answers.map(({ official }) => official), embedded: answers.map(({ embedded }) => embedded) };
}

/** Registries of their own, since they are lost: one's PostgreSQL is stopped, the other may write no file any more. */
async function publishWithoutDatabase(): Promise<Seen> {
  const official = await startOfficialRegistry();
  const folder = await temporaryFolder('toolyard-differential-');
  const embedded = await startRegistryProcess({
    DATABASE_FILE: join(folder.path, 'registry.sqlite'),
    JWT_PRIVATE_KEY_FILE: official.seedFile,
  });
  try {
    await official.database.close();
    await promisify(execFile)('prlimit', ['--pid', String(embedded.pid), '--fsize=0']);
    const token = await seedTokenSource({ readSeed: () => readFile(official.seedFile, 'utf8') }).token();
    const publish = async (url: string) => (await send(url, 'POST', '/v0/publish', { body: documentOf('aa/lost'), token })).status;
    return { official: await publish(official.url), embedded: await publish(embedded.url) };
  } finally {
    await Promise.all([official.close(), embedded.stop('SIGKILL')]);
    await folder.remove();
  }
}

function detailOf({ body }: { readonly body: unknown }): string {
  return String(fieldsOf(body)?.['detail']);
}
