import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { answer, startSite, type Site } from '../fetch/site.ts';
import { startServer, type ServerProcess } from '../mcp-http/server-process.ts';

/** Both MCP servers as processes of their own, and a page that the one may fetch. */
export interface Servers {
  readonly fetch: string;
  readonly sandbox: string;
  readonly page: string;
  /** why no code can run on this machine, and what to install; undefined where it can */
  readonly unready: string | undefined;
  close(): Promise<void>;
}

const READY_TIMEOUT_MS = 30_000;

/** @param html what the page says */
export async function startServers(html: string): Promise<Servers> {
  const undo: (() => Promise<unknown>)[] = [];
  const close = async () => {
    for (const step of undo.splice(0).toReversed()) await step();
  };
  try {
    const state = await mkdtemp(join(tmpdir(), 'toolyard-interop-'));
    undo.push(() => rm(state, { recursive: true, force: true }));
    const site: Site = await startSite({ '/page': answer(html, { 'content-type': 'text/html; charset=utf-8' }) });
    undo.push(() => site.close());
    const started = await Promise.allSettled([
      startServer('mcp-servers/fetch/main.ts', { FETCH_ALLOW_ORIGINS: site.origin }),
      startServer('mcp-servers/sandbox/main.ts', { STATE_DIR: join(state, 'sandboxes') }),
    ]);
    for (const each of started) if (each.status === 'fulfilled') undo.push(() => each.value.close());
    const [fetch, sandbox] = started.map(running) as [ServerProcess, ServerProcess];
    const unready = await whyUnready(sandbox.url);
    return { fetch: `${fetch.url}/mcp`, sandbox: `${sandbox.url}/mcp`, page: `${site.origin}/page`, unready, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function running(result: PromiseSettledResult<ServerProcess>): ServerProcess {
  if (result.status === 'rejected') throw result.reason;
  return result.value;
}

/** Asks until the server knows whether it can run code. */
async function whyUnready(url: string): Promise<string | undefined> {
  const deadline = performance.now() + READY_TIMEOUT_MS;
  for (;;) {
    const answer = await fetch(`${url}/readyz`);
    const said = await answer.text();
    if (answer.ok) return undefined;
    if (!said.includes('finding out') || performance.now() > deadline) return said;
    await wait(50);
  }
}
