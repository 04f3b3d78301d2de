import manifest from '../package.json' with { type: 'json' };

/** A published server as a client would be told about it. Its texts are somebody else's. */
export interface Connectable {
  /** the record's name: `dev.toolyard/fetch` */
  readonly name: string;
  readonly url: string;
  /** default: http, the protocol's streamable one */
  readonly transport?: 'http' | 'sse';
  /** those that a client has to send; a value may be a placeholder for the user to replace */
  readonly headers?: readonly { readonly name: string; readonly value: string }[];
}

export interface Instructions {
  readonly claudeCode: readonly string[];
  /** contents of .vscode/mcp.json, one entry a line */
  readonly vscode: readonly string[];
  readonly vscodeGallery: string;
  readonly inspector: readonly string[];
}

/** A server with every text in the form in which it is shown. */
interface Named {
  readonly key: string;
  readonly url: string;
  readonly transport: 'http' | 'sse';
  readonly headers: readonly { readonly name: string; readonly value: string }[];
}

/** The exact lines that connect the common clients. Texts are quoted for a shell, and only where it would read them otherwise. */
export function instructions(servers: readonly Connectable[], registry: string): Instructions {
  const named = servers.map(asShown);
  const inspector = `npx -y @modelcontextprotocol/inspector@${manifest.devDependencies['@modelcontextprotocol/inspector']}`;
  return {
    claudeCode: named.map((one) => `claude mcp add --transport ${one.transport} ${one.key} ${shellWord(one.url)}${headerOptions(one)}`),
    vscode: ['{', '  "servers": {', ...named.map(entry), '  }', '}'],
    vscodeGallery: `"chat.mcp.gallery.serviceUrl": ${JSON.stringify(registry)}`,
    inspector: named.map((one) => `${inspector} --transport ${one.transport} --server-url ${shellWord(one.url)}${headerOptions(one)}`),
  };
}

function asShown({ name, url, transport = 'http', headers = [] }: Connectable): Named {
  return {
    key: clientName(name),
    url: visibleAddress(url),
    transport,
    headers: headers.map(({ name, value }) => ({ name: visibleText(name), value: visibleText(value) })),
  };
}

function headerOptions({ headers }: Named): string {
  return headers.map(({ name, value }) => ` --header ${shellWord(`${name}: ${value}`)}`).join('');
}

function entry({ key, url, transport, headers }: Named, i: number, all: readonly unknown[]): string {
  const list = headers.map(({ name, value }) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`).join(', ');
  const sent = list === '' ? '' : `, "headers": { ${list} }`;
  const end = i + 1 < all.length ? ',' : '';
  return `    ${JSON.stringify(key)}: { "type": "${transport}", "url": ${JSON.stringify(url)}${sent} }${end}`;
}

/** Clients build tool names from this (`mcp__NAME__tool`), so: the part after the slash, letters, digits and dashes only. */
export function clientName(record: string): string {
  const last = record.slice(record.indexOf('/') + 1);
  return last.replaceAll(/[^A-Za-z0-9-]+/g, '-');
}

/** An address as whoever copies it should see it: characters that are drawn elsewhere, or not at all, stand as their escapes. */
export function visibleAddress(url: string): string {
  return url.toWellFormed().replaceAll(/[^\x21-\x7e]/gu, encodeURIComponent);
}

/** Other text for a command line, where everything has to be seen. */
export function visibleText(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/gu, '?');
}

/** One word for a shell, whatever it holds. */
export function shellWord(text: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
