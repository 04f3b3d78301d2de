/** A `{name}` in a URL: where it starts and ends (exclusive), and the name. */
interface Placeholder {
  readonly start: number;
  readonly end: number;
  readonly name: string;
}

/** The names between braces in a URL, in order, as `http://{host}:{port}/mcp` names `host` and `port`. Linear in the length. */
export function templateVariables(url: string): string[] {
  return placeholders(url).map(({ name }) => name);
}

/** What the registry puts in the place of these variables before it parses a URL; a templated scheme is http and so never a remote's. */
const KNOWN: Readonly<Record<string, string>> = { host: 'example.com', port: '8080', path: 'api', protocol: 'http', scheme: 'http' };

/**
 * A URL with every variable replaced by a plausible value, so that it can be parsed.
 * Source: modelcontextprotocol/registry v1.8.8 internal/validators/utils.go.
 */
export function fillTemplate(url: string): string {
  const known = url.replace(/\{(host|port|path|protocol|scheme)\}/g, (_, name: string) => KNOWN[name] ?? '');
  let filled = '';
  let from = 0;
  for (const { start, end } of placeholders(known)) {
    const port = known[start - 1] === ':' && (end === known.length || known[end] === '/');
    filled += known.slice(from, start) + (port ? '8080' : 'placeholder');
    from = end;
  }
  return filled + known.slice(from);
}

function placeholders(url: string): Placeholder[] {
  const found: Placeholder[] = [];
  let open = url.indexOf('{');
  let close = url.indexOf('}', open);
  while (open !== -1 && close !== -1) {
    if (close > open + 1) {
      found.push({ start: open, end: close + 1, name: url.slice(open + 1, close) });
      open = url.indexOf('{', close + 1);
    } else {
      open = url.indexOf('{', open + 1);
    }
    if (close < open) close = url.indexOf('}', open);
  }
  return found;
}
