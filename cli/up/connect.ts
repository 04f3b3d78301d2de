import manifest from '../../package.json' with { type: 'json' };

/** A published server as a client would be told about it. */
export interface Connectable {
  /** the record's name: `dev.toolyard/fetch` */
  readonly name: string;
  readonly url: string;
}

export interface Instructions {
  readonly claudeCode: readonly string[];
  /** contents of .vscode/mcp.json, one entry a line */
  readonly vscode: readonly string[];
  readonly vscodeGallery: string;
  readonly inspector: readonly string[];
}

/** The exact lines that connect the common clients. Names are quoted for a shell, and only where it would read them otherwise. */
export function instructions(servers: readonly Connectable[], registry: string): Instructions {
  const named = servers.map(({ name, url }) => ({ key: clientName(name), url }));
  const inspector = `@modelcontextprotocol/inspector@${manifest.devDependencies['@modelcontextprotocol/inspector']}`;
  return {
    claudeCode: named.map(({ key, url }) => `claude mcp add --transport http ${key} ${shellWord(url)}`),
    vscode: ['{', '  "servers": {', ...named.map(entry), '  }', '}'],
    vscodeGallery: `"chat.mcp.gallery.serviceUrl": ${JSON.stringify(registry)}`,
    inspector: named.map(({ url }) => `npx -y ${inspector} --transport http --server-url ${shellWord(url)}`),
  };
}

function entry({ key, url }: { key: string; url: string }, i: number, all: readonly unknown[]): string {
  return `    ${JSON.stringify(key)}: { "type": "http", "url": ${JSON.stringify(url)} }${i + 1 < all.length ? ',' : ''}`;
}

/** Clients build tool names from this (`mcp__NAME__tool`), so: the part after the slash, letters, digits and dashes only. */
export function clientName(record: string): string {
  const last = record.slice(record.indexOf('/') + 1);
  return last.replaceAll(/[^A-Za-z0-9-]+/g, '-');
}

function shellWord(text: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
