import { parse } from 'yaml';

/**
 * What programs that cannot run here ask of a registry, and what they make of the answers. Each follows its program's source: the same
 * requests in the same order, the same checks before an answer is believed.
 */

interface Entry {
  readonly server: { readonly name: string; readonly description: string; readonly version: string; readonly remotes?: readonly Remote[] };
  readonly _meta: object;
}

interface Remote {
  readonly type: string;
  readonly url: string;
}

interface Page {
  readonly servers: readonly Entry[];
  readonly metadata: { readonly count: number; readonly nextCursor?: string };
}

/**
 * VS Code's gallery of MCP servers.
 * Source: microsoft/vscode, src/vs/platform/mcp/common/mcpGalleryManifestService.ts and mcpGalleryService.ts.
 */
export class VsCode {
  readonly #base: string;

  /** @param serviceUrl the setting chat.mcp.gallery.serviceUrl */
  constructor(serviceUrl: string) {
    this.#base = serviceUrl.replace(/\/$/, '');
  }

  /** The first version of the API that answers. */
  async apiVersion(): Promise<string> {
    for (const version of ['v0.1', 'v0']) if ((await this.#get(`/${version}/servers?limit=1`)).ok) return version;
    return 'v0.1';
  }

  /** Page by page, as a person scrolls down; the text is asked for on the first page only. */
  async *pages(text?: string): AsyncGenerator<readonly Entry[]> {
    const servers = `/${await this.apiVersion()}/servers?limit=50&version=latest`;
    let page = await this.#page(text === undefined ? servers : `${servers}&search=${encodeURIComponent(text.trim())}`);
    yield page.servers;
    while (page.metadata.nextCursor !== undefined) {
      // it does not escape the cursor
      page = await this.#page(`${servers}&cursor=${page.metadata.nextCursor}`);
      yield page.servers;
    }
  }

  /** A server by its name, as when one is installed, updated or held against a policy. */
  async server(name: string): Promise<Entry | undefined> {
    const answer = await this.#get(`/${await this.apiVersion()}/servers/${encodeURIComponent(name)}/versions/latest`);
    if (answer.status >= 400 && answer.status < 500) return undefined;
    const record = (await answer.json()) as Entry;
    if (!isBelievable(record)) throw new Error(`VS Code cannot read ${JSON.stringify(record)}`);
    return record;
  }

  async #page(path: string): Promise<Page> {
    const page = (await (await this.#get(path)).json()) as Page;
    if (!Array.isArray(page.servers) || !page.servers.every(isBelievable)) throw new Error(`VS Code cannot read ${JSON.stringify(page)}`);
    return page;
  }

  /** From a window of its own, where the browser's rules hold. */
  async #get(path: string): Promise<Response> {
    const origin = 'vscode-file://vscode-app';
    const answer = await fetch(this.#base + path, { headers: { origin } });
    const allowed = answer.headers.get('access-control-allow-origin');
    if (allowed !== '*' && allowed !== origin) throw new Error(`the browser does not show VS Code the answer to ${path}`);
    return answer;
  }
}

function isBelievable({ server, _meta }: Partial<Entry>): boolean {
  const texts = [server?.name, server?.description, server?.version];
  return typeof _meta === 'object' && texts.every((text) => typeof text === 'string' && text !== '');
}

/**
 * ToolHive's registry client.
 * Source: stacklok/toolhive v0.63.0, pkg/config/registry.go, pkg/registry/provider_api.go, pkg/registry/api/client.go.
 */
export class ToolHive {
  readonly #base: string;

  /** @param url as in `thv config set-registry URL --allow-private-ip` */
  constructor(url: string) {
    this.#base = url.replace(/\/$/, '');
  }

  /** What it takes the address for, and whether it may be set: one that is no API is taken for a file. */
  async detect(): Promise<'api' | 'file'> {
    const answer = await fetch(`${this.#base}/v0.1/servers?limit=1&version=latest`, { signal: AbortSignal.timeout(5000) });
    if (!answer.ok || answer.headers.get('content-type')?.includes('application/json') !== true) return 'file';
    const { servers, metadata } = (await answer.json()) as Partial<Page>;
    return Array.isArray(servers) && typeof metadata === 'object' && !Array.isArray(metadata) ? 'api' : 'file';
  }

  /** @throws Error with what is wrong */
  async validateEndpoint(): Promise<void> {
    const answer = await fetch(`${this.#base}/openapi.yaml`);
    if (answer.status !== 200) throw new Error(`/openapi.yaml: ${answer.status}`);
    const { info } = parse(await answer.text()) as { info?: { version?: unknown; description?: unknown } };
    if (info?.version !== '1.0.0') throw new Error(`/openapi.yaml: version is ${String(info?.version)}`);
    const description = String(info.description);
    if (!description.includes('https://github.com/modelcontextprotocol/registry')) throw new Error(`/openapi.yaml: ${description}`);
  }

  /** @param limit 1 when it tries the registry out, which walks all of it too */
  async list(limit: 1 | 100): Promise<readonly Entry[]> {
    const all: Entry[] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const query: string = new URLSearchParams({ ...(cursor !== '' && { cursor }), limit: String(limit), version: 'latest' }).toString();
      const page = (await this.#get(`/v0.1/servers?${query}`)) as Page;
      all.push(...page.servers);
      cursor = page.metadata.nextCursor;
    }
    return all;
  }

  async search(text: string): Promise<readonly Entry[]> {
    const query = new URLSearchParams({ search: text, version: 'latest' }).toString();
    return ((await this.#get(`/v0.1/servers?${query}`)) as Page).servers;
  }

  async server(name: string): Promise<Entry> {
    return (await this.#get(`/v0.1/servers/${encodeURIComponent(name)}/versions/latest`)) as Entry;
  }

  async #get(path: string): Promise<unknown> {
    const answer = await fetch(this.#base + path);
    if (answer.status !== 200) throw new Error(`API returned status ${answer.status} for ${path}`);
    return answer.json();
  }
}
