import type { Sites } from './site.ts';

/** One request, in either server's terms. */
export type Ask =
  | {
      readonly tool: Readonly<Record<string, unknown>>;
      /** the incumbent judges addresses, as ours always does; else it is told not to, since the sites are local */
      readonly guarded?: true;
    }
  | { readonly prompt: Readonly<Record<string, string>> }
  | { readonly list: 'tools' | 'prompts' | 'resources' }
  | { readonly unknown: 'tool' };

/** A request, and what of the two answers shows a difference: the answer in one line is matched. */
export interface Shown {
  readonly ask: (sites: Sites) => Ask;
  readonly theirs: RegExp;
  readonly ours: RegExp;
}

/** One way in which our server answers otherwise than mcp-server-fetch, and the rows of the table in mcp-servers/fetch/README.md. */
export interface Difference {
  readonly what: string;
  readonly incumbent: string;
  readonly here: string;
  readonly why: string;
  /** requests that show it, or the test that does since no request can */
  readonly proof: readonly Shown[] | string;
}

const page = (path: string, more: Readonly<Record<string, unknown>> = {}) =>
  ((sites: Sites): Ask => ({ tool: { url: `${sites.main.origin}${path}`, ...more } })) satisfies Shown['ask'];
const url =
  (address: string): Shown['ask'] =>
  () => ({ tool: { url: address }, guarded: true });

export const differences: readonly Difference[] = [
  {
    what: 'address check',
    incumbent: 'looks up, then connects by another look-up',
    here: 'what was checked is dialled',
    why: 'DNS rebinding',
    proof: 'lib/address-guard/guard.test.ts',
  },
  {
    what: 'counted as public',
    incumbent:
      'Azure’s 168.63.129.16, `::127.0.0.1`, `::ffff:0:127.0.0.1`, fec0::/10, 3fff::/20, 5f00::/16, 4000::/2, a few anycast services in special ranges',
    here: 'refused',
    why: 'no web pages there, but metadata and other people’s networks',
    proof: ['[fec0::1]', '[3fff::1]', '[5f00::1]'].map((host) => ({
      ask: url(`http://${host}/`),
      theirs: /^error Error executing tool fetch: Failed to fetch robots\.txt .* due to a connection issue$/,
      ours: /^error Error executing tool fetch: Refused to fetch .* which is not a public address/,
    })),
  },
  {
    what: 'refused address',
    incumbent: 'names `--allow-private-ips`',
    here: 'names `FETCH_ALLOW_ORIGINS`; with `--stdio` the same',
    why: 'one origin, not everything',
    proof: [
      {
        ask: url('http://10.1.2.3/'),
        theirs:
          /Refused to fetch http:\/\/10\.1\.2\.3\/robots\.txt: 10\.1\.2\.3 resolves to 10\.1\.2\.3, which is not a public address\. Start the server with --allow-private-ips/,
        ours: /Refused to fetch http:\/\/10\.1\.2\.3\/robots\.txt: 10\.1\.2\.3 resolves to 10\.1\.2\.3, which is not a public address\. Start the server with http:\/\/10\.1\.2\.3 in FETCH_ALLOW_ORIGINS/,
      },
    ],
  },
  {
    what: 'a name unknown here',
    incumbent: 'passes the check',
    here: 'fails, except with `--proxy-url`',
    why: 'only a proxy could know it',
    proof: 'test/fetch/stdio.test.ts',
  },
  {
    what: 'proxy variables (`HTTPS_PROXY` …), socks',
    incumbent: 'honoured',
    here: 'only `--proxy-url`, HTTP',
    why: 'with a proxy the check is the proxy’s: nobody gets that by an inherited variable',
    proof: 'test/fetch/stdio.test.ts',
  },
  {
    what: 'time',
    incumbent: '30 s per read, none in all',
    here: '30 s in all',
    why: 'a byte per second never ends',
    proof: 'test/fetch/hostile.test.ts',
  },
  {
    what: 'size',
    incumbent: 'none',
    here: 'cut, with a note',
    why: '65 KB of gzip are 64 MiB of text',
    proof: [
      {
        ask: page('/large.txt', { start_index: 5_242_870, max_length: 999_999 }),
        theirs: /:\\nx{1000}.*\\n\\n<error>Content truncated/,
        ours: /:\\nx{10}\\n\\n<error>The page is larger/,
      },
    ],
  },
  {
    what: 'robots.txt answers 5xx',
    incumbent: 'parsed, so nearly always allowed',
    here: 'not allowed',
    why: 'RFC 9309, 2.3.1.4',
    proof: [
      {
        ask: ({ failing }) => ({ tool: { url: `${failing.origin}/page` } }),
        theirs: /^ok .*a page$/,
        ours: /^error .*received status 500/,
      },
    ],
  },
  {
    what: 'robots.txt cache',
    incumbent: 'none',
    here: '1 h per site, 1 min when unreachable, then the last answer for up to a day',
    why: 'RFC 9309, 2.4; a call asks once, not once per hop',
    proof: 'mcp-servers/fetch/robots-gate.test.ts',
  },
  {
    what: 'page cache',
    incumbent: 'none: each part downloads and converts again',
    here: 'as above',
    why: '',
    proof: 'mcp-servers/fetch/documents.test.ts',
  },
  {
    what: '429 and 503 with Retry-After',
    incumbent: 'the status',
    here: 'the status and the time to wait; the host is left alone until then',
    why: 'it asked for that',
    proof: 'mcp-servers/fetch/hosts.test.ts',
  },
  { what: 'requests to one host', incumbent: 'any number', here: '4 at a time', why: '', proof: 'mcp-servers/fetch/hosts.test.ts' },
  {
    what: 'robots.txt groups',
    incumbent: 'any whose name is part of the User-Agent header',
    here: 'the one for its product token, else `*`',
    why: 'RFC 9309, 2.2.1',
    proof: 'mcp-servers/fetch/robots.test.ts',
  },
  {
    what: 'robots.txt that is made to match slowly',
    incumbent: 'matched',
    here: 'not allowed',
    why: 'all pages share the process that matches',
    proof: 'mcp-servers/fetch/robots.test.ts',
  },
  {
    what: 'disallowed',
    incumbent: 'quotes the whole file, instructs the assistant',
    here: 'quotes the line',
    why: 'a stranger’s file is no place for instructions',
    proof: [
      {
        ask: ({ strict }) => ({ tool: { url: `${strict.origin}/closed` } }),
        theirs: /^error .*Disallow: \/secret.*The assistant must/,
        ours: /^error (?!.*(\/secret|must)).*<robots>\\nDisallow: \/closed\\n<\/robots>/,
      },
    ],
  },
  {
    what: 'PDFs',
    incumbent: 'decoded as text, a success',
    here: 'their text by page; raw, or without any: a failure',
    why: 'somebody wants to read them',
    proof: [
      {
        ask: page('/paper.pdf'),
        theirs: /^ok Content type application\/pdf cannot.*%PDF-1\.7/,
        ours: /^ok Contents of .*1 page\\n\\n## Page 1\\n\\nOne page of text$/,
      },
    ],
  },
  {
    what: 'images',
    incumbent: 'decoded as text, a success',
    here: 'PNG, JPEG, GIF and WebP as images, up to `FETCH_MAX_IMAGE_BYTES`; type and size as text. SVG is text, as there',
    why: 'models see them',
    proof: [
      {
        ask: page('/picture.png'),
        theirs: /^ok Content type image\/png cannot.*\uFFFD?PNG/,
        ours: /^ok Contents of .*:\\nimage\/png, 20 bytes \+image\/png$/,
      },
    ],
  },
  {
    what: 'other binary content',
    incumbent: 'decoded as text, a success',
    here: 'a failure with type and size',
    why: 'nobody can read it',
    proof: [
      {
        ask: page('/archive.zip'),
        theirs: /^ok Content type application\/zip.*PK/,
        ours: /^error .*the content is application\/zip \(8 bytes\), which cannot be shown as text$/,
      },
    ],
  },
  {
    what: 'feeds (RSS, RDF, Atom)',
    incumbent: 'their XML',
    here: 'a list of their entries: title with link, author and date, summary; their XML when raw',
    why: 'that is what they are read for',
    proof: [
      {
        ask: page('/atom'),
        theirs: /^ok Content type application\/atom\+xml.*<feed/,
        ours: /^ok Contents of .*:\\n# News\\n\\n## \[One\]\(http.*\/1\)\\n\\n2026-11-30$/,
      },
      { ask: page('/atom', { raw: true }), theirs: /<feed/, ours: /<feed/ },
    ],
  },
  {
    what: 'Markdown that a site has',
    incumbent: 'not asked for; with the line about raw content',
    here: 'asked for first where HTML would be simplified; without that line',
    why: 'the author’s is the best there is',
    proof: [
      { ask: page('/readme.md'), theirs: /^ok Content type text\/markdown cannot/, ours: /^ok Contents of .*:\\n# A readme\\n$/ },
      { ask: page('/negotiated'), theirs: /Words of a paragraph/, ours: /:\\n# Written by hand$/ },
      { ask: page('/accept'), theirs: /:\\n\*\/\*$/, ours: /:\\ntext\/markdown, text\/html;q=0\.9, .*\*\/\*;q=0\.8$/ },
      { ask: page('/accept', { raw: true }), theirs: /:\\n\*\/\*$/, ours: /:\\n\*\/\*$/ },
    ],
  },
  {
    what: 'charset',
    incumbent: 'Content-Type, else UTF-8; iso-8859-1 as such',
    here: 'byte order mark, Content-Type, page, bytes; as browsers name them',
    why: 'other pages come out as U+FFFD',
    proof: [{ ask: page('/meta'), theirs: /\uFFFD/, ours: /Привет/ }],
  },
  {
    what: 'characters that hide or turn others (control characters, overriding directions, tags, invisible ones)',
    incumbent: 'kept',
    here: 'left out of all text, raw too',
    why: 'what a model reads should be what a person sees, and no terminal should obey a page',
    proof: [{ ask: page('/override.txt'), theirs: /a\u202Eb\u200B\u{E0041}c$/u, ours: /:\\nabc$/ }],
  },
  {
    what: 'what is HTML',
    incumbent: '`<html` in the first 100 characters, `text/html`, no type',
    here: '`text/html`, XHTML, or it opens as HTML; without a type, by its bytes',
    why: 'JSON that quotes HTML is no page',
    proof: [
      { ask: page('/quotes.json'), theirs: /^ok Contents of /, ours: /^ok Content type application\/json cannot.*\{"page": "<html>"\}$/ },
    ],
  },
  {
    what: 'HTML without an article',
    incumbent: 'one line or nothing',
    here: 'what its scripts would unhide, else all of its body, else what its data says',
    why: 'hidden until a script runs is still text',
    proof: [{ ask: page('/lost'), theirs: /^(?!.*Words of a paragraph)/, ours: /Words of a paragraph/ }],
  },
  {
    what: 'Markdown',
    incumbent: 'relative links, no title, no code languages, no footnotes',
    here: 'absolute links, title, byline and date in front, code languages, footnotes, formulas; no `data:` images',
    why: 'links that can be followed',
    proof: [
      {
        ask: page('/article'),
        theirs: /^ok Contents of [^#]*\[go on\]\(next\)/,
        ours: /^ok Contents of .*:\\n# The title\\n\\n.*\[go on\]\(http:.*\/next\)/,
      },
    ],
  },
  {
    what: 'redirect to another site',
    incumbent: 'not told',
    here: 'a line `Redirected to …` before the line that names the page, where other notes stand as well',
    why: 'who says it matters',
    proof: [{ ask: page('/away'), theirs: /^ok Content type/, ours: /^ok Redirected to http:\/\/127\.0\.0\.1:\d+\/open\\nContent type/ }],
  },
  {
    what: 'redirect that leads back',
    incumbent: 'followed 20 times',
    here: 'ends at once, with the same text',
    why: '',
    proof: 'test/fetch/hostile.test.ts',
  },
  {
    what: 'cookies within a call',
    incumbent: 'by domain',
    here: 'by origin',
    why: 'enough for a redirect to itself',
    proof: 'mcp-servers/fetch/http.test.ts',
  },
  {
    what: 'ftp and the like',
    incumbent: 'with robots on: robots.txt could not be fetched',
    here: '`UnsupportedProtocol` always',
    why: 'says what is wrong',
    proof: [
      { ask: url('ftp://127.0.0.1/'), theirs: /^error .*robots\.txt/, ours: /^error .*UnsupportedProtocol\(/ },
      { ask: page('/ftp'), theirs: /^error /, ours: /^error .*UnsupportedProtocol\(/ },
    ],
  },
  {
    what: 'wrong arguments',
    incumbent: 'pydantic’s details, with a link',
    here: 'its first line for each',
    why: '',
    proof: [
      { max_length: '10' },
      { max_length: 0 },
      { max_length: 1_000_000 },
      { start_index: -1 },
      { start_index: null },
      { raw: 'maybe' },
      { url: undefined },
      { url: 'not a url' },
    ].map((wrong) => ({
      ask: page('/', wrong),
      theirs: new RegExp(`^error Error executing tool fetch: 1 validation error for fetchArguments\\\\n${Object.keys(wrong)[0]}\\\\n  \\w`),
      ours: new RegExp(`^error Error executing tool fetch: 1 validation error for fetchArguments\\\\n${Object.keys(wrong)[0]}\\\\n  \\w`),
    })),
  },
  {
    what: '`10.0` as an integer',
    incumbent: 'refused',
    here: 'accepted',
    why: 'the same number in JSON',
    proof: 'mcp-servers/fetch/arguments.test.ts',
  },
  {
    what: 'URL length',
    incumbent: 'any',
    here: '16,384 characters',
    why: '',
    proof: [
      {
        ask: page(`/method?${'a'.repeat(16_400)}`),
        theirs: /^(ok|error) (?!.*validation)/,
        ours: /^error .*URL should have at most 16384 characters/,
      },
    ],
  },
  {
    what: 'unknown tool',
    incumbent: '`Unknown tool: X`',
    here: '`Tool X not found`',
    why: 'the SDK’s; the code, −32602, is the same',
    proof: [{ ask: () => ({ unknown: 'tool' }), theirs: /^-32602 .*Unknown tool: get/, ours: /^-32602 .*Tool get not found/ }],
  },
  {
    what: 'empty resources',
    incumbent: 'listed',
    here: 'not offered',
    why: 'there are none',
    proof: [{ ask: () => ({ list: 'resources' }), theirs: /^\{"resources":\[\]/, ours: /^not offered$/ }],
  },
  {
    what: 'description',
    incumbent: 'tells the model that it has gained internet access',
    here: 'says what the tool does',
    why: '',
    proof: [{ ask: () => ({ list: 'tools' }), theirs: /internet access/, ours: /^(?!.*internet access).*Retrieves the page at a URL/ }],
  },
];
