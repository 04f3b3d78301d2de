import type { Client } from '@modelcontextprotocol/client';
import PQueue from 'p-queue';
import { startFetchServer, type FetchServer } from '../../fetch/fetch-server.ts';
import type { Ask } from './differences.ts';
import { startIncumbent } from './incumbent/start.ts';
import { startSites, type Sites } from './site.ts';

/** The incumbent spends its time in Node, one process per page; more at once only wait for processors. */
const AT_ONCE = 3;

export interface Answers {
  readonly theirs: string;
  readonly ours: string;
}

/** Both servers on one local site; answers are asked for once each. */
export class TwoServers {
  readonly sites: Sites;
  readonly #ours: FetchServer;
  readonly #theirs: readonly Client[];
  readonly #guarded: Client;
  readonly #close: () => Promise<unknown>;
  readonly #queue = new PQueue({ concurrency: AT_ONCE });
  #next = 0;
  /** pairs that were compared */
  asked = 0;

  static async start(): Promise<TwoServers> {
    const sites = await startSites();
    const origins = [sites.main, sites.strict, sites.failing].map(({ origin }) => origin);
    const [ours, theirs, guarded] = await Promise.all([
      startFetchServer({ FETCH_ALLOW_ORIGINS: origins.join(','), FETCH_HOST_REQUESTS: '16' }),
      startIncumbent(AT_ONCE, ['--allow-private-ips']),
      startIncumbent(1, []),
    ]);
    const close = (): Promise<unknown> => Promise.all([ours.close(), theirs.close(), guarded.close(), sites.close()]);
    return new TwoServers({ sites, ours, theirs: theirs.clients, guarded: guarded.clients[0] as Client, close });
  }

  private constructor(parts: {
    readonly sites: Sites;
    readonly ours: FetchServer;
    readonly theirs: readonly Client[];
    readonly guarded: Client;
    readonly close: () => Promise<unknown>;
  }) {
    this.sites = parts.sites;
    this.#ours = parts.ours;
    this.#theirs = parts.theirs;
    this.#guarded = parts.guarded;
    this.#close = parts.close;
  }

  /** Each answer on one line: `ok` or `error`, and its text as JSON writes it. */
  ask(ask: Ask): Promise<Answers> {
    return this.#queue.add(async () => {
      this.asked += 1;
      this.#next += 1;
      const client = 'tool' in ask && ask.guarded === true ? this.#guarded : this.#theirs[this.#next % AT_ONCE];
      const [theirs, ours] = await Promise.all([answered(client as Client, ask), answered(this.#ours.client, ask)]);
      return { theirs, ours };
    });
  }

  close(): Promise<unknown> {
    return this.#close();
  }
}

async function answered(client: Client, ask: Ask): Promise<string> {
  try {
    return await answer(client, ask);
  } catch (error) {
    const { code, message } = error as { code?: number; message: string };
    return `${code ?? 'failed'} ${message}`;
  }
}

async function answer(client: Client, ask: Ask): Promise<string> {
  const timeout = { timeout: 120_000 };
  if ('unknown' in ask) return lineOf(await client.callTool({ name: 'get', arguments: {} }, timeout));
  if ('tool' in ask) return lineOf(await client.callTool({ name: 'fetch', arguments: { ...ask.tool } }, timeout));
  if ('prompt' in ask) return JSON.stringify(await client.getPrompt({ name: 'fetch', arguments: { ...ask.prompt } }, timeout));
  if (ask.list === 'resources' && client.getServerCapabilities()?.resources === undefined) return 'not offered';
  const lists = { tools: () => client.listTools(), prompts: () => client.listPrompts(), resources: () => client.listResources() };
  return JSON.stringify(await lists[ask.list]());
}

function lineOf({ content, isError }: Awaited<ReturnType<Client['callTool']>>): string {
  const parts = content.map((part) =>
    part.type === 'text' ? escaped(part.text) : part.type === 'image' ? `+${part.mimeType}` : part.type,
  );
  return `${isError === true ? 'error' : 'ok'} ${parts.join(' ')}`;
}

function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"');
}
