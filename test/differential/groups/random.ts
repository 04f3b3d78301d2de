import * as fc from 'fast-check';
import { documentOf, pathOf } from '../../../mcp-servers/registry/testing.ts';
import { drawing } from '../drawing.ts';
import type { TwoRegistries } from '../two-registries.ts';
import { alike } from './alike.ts';
import { words } from './words.ts';

/** Requests that nobody thought of. */
export function random(pair: TwoRegistries): void {
  const same = alike(pair);

  same('any path', async ({ both }) => {
    const name = both.freshName();
    for (const version of ['1.0.0', '50%', 'a/b']) await both.publish(name, version);
    const property = fc.asyncProperty(method, pathsAround(name).filter(isNoPage), async (method, path) => {
      // Go's own refusal of a broken escape has a body also for HEAD, which no client can read.
      const target = method === 'HEAD' ? path.replace(/%(?![0-9a-f]{2})/gi, '%25') : path;
      await both.ask(method, target, { token: null });
      refuseDifferences(both);
    });
    await fc.assert(property, drawing(600));
  });

  same('any damage to the text of a document, published and as an edit', async ({ both }) => {
    const property = fc.asyncProperty(damages, async (damage) => {
      const name = both.freshName();
      await both.publish(name, '1.0.0');
      const body = damage(richDocument(name));
      await both.ask('PUT', pathOf(name, '1.0.0'), { body });
      await both.ask('POST', '/v0/publish', { body });
      await both.get(pathOf(name, 'latest'));
      refuseDifferences(both);
    });
    await fc.assert(property, drawing(150));
  });

  same('any damage to a change of status, to its token and its type', async ({ both }) => {
    const name = both.freshName();
    await both.publish(name, '1.0.0');
    const property = fc.asyncProperty(damages, damages, damages, async (ofBody, ofToken, ofType) => {
      const token = await both.tokenFor({ action: 'edit', resource: `${both.space}/*` });
      const headers = { authorization: headerText(ofToken(`Bearer ${token}`)), 'content-type': headerText(ofType('application/json')) };
      const body = ofBody('{"status":"deprecated","statusMessage":"why"}');
      await both.ask('PATCH', `${pathOf(name, '1.0.0')}/status`, { body, headers, token: null });
      await both.get(pathOf(name, 'latest'));
      refuseDifferences(both);
    });
    await fc.assert(property, drawing(300));
  });
}

function refuseDifferences(both: TwoRegistries): void {
  if (both.differences.length === 0) return;
  const found = JSON.stringify(both.differences.splice(0), null, 1).slice(0, 3_000);
  throw new Error(`answered differently: ${found}`);
}

const method = fc.constantFrom(...words`GET GET GET HEAD POST PUT PATCH DELETE`);

/** Names have pages of ours under /servers/, which is among what may differ. */
function isNoPage(path: string): boolean {
  return !path.replaceAll(/v0(\.1)?\/servers/g, '').includes('servers');
}

/** Segments that have a meaning somewhere, in any order. */
function pathsAround(name: string): fc.Arbitrary<string> {
  const escaped = encodeURIComponent(name);
  const segment = fc.constantFrom(
    ...words`v0 v0 v0.1 servers servers versions status latest 1.0.0 publish validate health %2e %2E%2E . .. %20 % %zz %2 %25 %2525 50%2525 50%25 a%252Fb a%2Fb ~ * ; = & + : @`,
    '',
    escaped,
    escaped.replace('%2F', '%2f'),
    escaped.replace('%2F', '%252F'),
    escaped.replaceAll('f', '%66'),
  );
  const query = fc.constantFrom(
    '',
    '',
    '',
    '?',
    '?include_deleted=true',
    '?include_deleted=1&include_deleted=0',
    '?x=%zz',
    '?limit=1&search=%',
    '??',
  );
  const served = fc.tuple(
    fc.constantFrom('v0', 'v0.1'),
    fc.constant('servers'),
    segment,
    fc.constantFrom('versions', 'status', ''),
    segment,
  );
  return fc
    .tuple(fc.oneof(served, fc.array(segment, { maxLength: 6 })), query)
    .map(([segments, query]) => `/${segments.join('/')}${query}`)
    .filter((target) => !answeredOtherwise.some((shape) => shape.test(target)));
}

/** What differences.ts tells of, and cannot take out of the answers. */
const answeredOtherwise = [
  // the page at the root
  /^\/(\?|$)/,
  // a name with its slash unescaped
  /^\/[^/]+\/servers\/[^/]+\/[^/]+\/(versions|status)/,
  // a redirect for which the official registry resolves `..` after it decoded `%2F`, which is another place
  /^(?=[^?]*%2f)(?=[^?]*(\.|%2e){2})[^?]*\/(\?|$)/i,
];

/** One to three cuts, insertions or repetitions anywhere in a text. */
const damages: fc.Arbitrary<(text: string) => string> = (() => {
  const pieces = [
    '"',
    '\\',
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    'null',
    '0',
    '-',
    '.5',
    'e9',
    '\\u0000',
    '\\ud800',
    '\\x',
    '\u0001',
    '\u007f',
    'é',
    '\u{1F600}',
    ' ',
    '\n',
  ];
  const part = fc.record({ at: fc.double({ min: 0, max: 1, noNaN: true }), cut: fc.nat(6), piece: fc.option(fc.constantFrom(...pieces)) });
  return fc.array(part, { minLength: 0, maxLength: 3 }).map((parts) => {
    const damage = (text: string): string =>
      parts.reduce((sofar, { at, cut, piece }) => {
        const place = Math.floor(at * sofar.length);
        return sofar.slice(0, place) + (piece ?? sofar.slice(place, place + cut)) + sofar.slice(place + (piece === null ? 0 : cut));
      }, text);
    return Object.assign(damage, { [fc.toStringMethod]: () => JSON.stringify(parts) });
  });
})();

function richDocument(name: string): string {
  return documentOf(name, {
    title: 'A title',
    websiteUrl: 'https://a.example/',
    repository: { url: 'https://github.com/a/b', source: 'github' },
    icons: [{ src: 'https://a.example/i.png', sizes: ['any'] }],
    remotes: [{ type: 'sse', url: 'https://{host}/mcp', variables: { host: { isRequired: true, choices: ['a'] } } }],
  });
}

/** What a header can carry at all. */
function headerText(text: string): string {
  return text.replace(/[^\t\x20-\x7e]/g, '').trim();
}
