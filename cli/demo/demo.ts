import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CallToolResult } from '@modelcontextprotocol/client';
import { CliError, exit, type ExitCode } from '../exit.ts';
import { addressOf, asking, connect, registryClient, textOf, type Connection } from '../mcp.ts';
import { onSignals } from '../signals.ts';
import { viewOf, type StackModel } from '../stack/model.ts';
import { Stack } from '../stack/stack.ts';
import { stateDir } from '../stack/state-dir.ts';
import type { Terminal } from '../terminal.ts';
import { openSite, type Site } from './site.ts';
import { must, Steps } from './steps.ts';

/** What the program must print: the fifteenth Fibonacci number. */
const EXPECTED = '610';

const program = `def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


print(fibonacci(15))
`;

/** Everything from an empty machine to two results, as a client sees it; each step that is not as expected ends it with exit code 1. */
export async function demo({ home }: { home: string }, terminal: Terminal): Promise<ExitCode> {
  const interrupted = new AbortController();
  const steps = new Steps(terminal, interrupted.signal);
  const signals = onSignals(() => process.exit(exit.no));
  void signals.asked.then((signal) => interrupted.abort(new CliError(exit.no, `the demo was ended by ${signal}`)));
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => signals.release());
  const state = await mkdtemp(join(tmpdir(), 'toolyard-demo-'));
  cleanup.defer(() => rm(state, { recursive: true, force: true }));
  const [allowed, other] = await Promise.all([openSite(), openSite()]);
  cleanup.defer(() => allowed.close());
  cleanup.defer(() => other.close());

  const stack = await start({ home, state, allowed }, steps, (stop) => {
    if (interrupted.signal.aborted) void stop();
    else cleanup.defer(stop);
  });
  const found = await discover(stack.model.urls.registry, steps);
  const fetch = await connect(found.fetch);
  cleanup.defer(() => fetch.close());
  await fetchAllowed(fetch, allowed, steps);
  await fetchRefused(fetch, other, steps);
  const sandbox = await connect(found.sandbox);
  cleanup.defer(() => sandbox.close());
  await runProgram(sandbox, steps);
  await steps.run('Stop everything', () => cleanup.disposeAsync());
  steps.done();
  return exit.done;
}

interface Setting {
  readonly home: string;
  readonly state: string;
  readonly allowed: Site;
}

/** `onStarted` gets what stops the stack again, before anything else can fail. */
async function start({ home, state, allowed }: Setting, steps: Steps, onStarted: (stop: () => Promise<void>) => void): Promise<Stack> {
  return await steps.run('Start registry, fetch, sandbox and operator on free ports', async () => {
    const stack = await Stack.start({
      home,
      catalog: join(home, 'catalog'),
      state: stateDir(state),
      ports: { registry: 0, fetch: 0, sandbox: 0 },
      env: { ...process.env, FETCH_ALLOW_ORIGINS: allowed.origin },
      onChange: () => undefined,
    });
    onStarted(() => stack.stop());
    const failure = await Promise.race([stack.settled, stack.failed]);
    if (failure instanceof Error) throw failure;
    requirePublished(stack.model);
    return stack;
  });
}

/** What cannot be used by a client cannot be shown: says why, and what to do about it. */
function requirePublished(model: StackModel): void {
  const { sandbox } = model.parts;
  if (sandbox.is === 'unready') throw new CliError(exit.no, `the sandbox server is not ready: ${sandbox.reason}`);
  for (const { name, state, conditions } of viewOf(model)?.declarations ?? []) {
    if (state === 'Published') continue;
    const why = conditions.find(({ status }) => status === 'False')?.message ?? 'its server was asked in vain';
    throw new CliError(exit.no, `${name} is not published: ${why}`, {
      next: 'the logs of the parts say more: run toolyard up, and look into .toolyard/logs',
    });
  }
}

/** As any client would: search the registry, read the latest version of each, take its address. */
async function discover(registryUrl: string, steps: Steps): Promise<{ fetch: string; sandbox: string }> {
  return await steps.run(`Find the servers in the registry ${registryUrl}`, async (say) => {
    const registry = registryClient(registryUrl);
    const addresses = new Map<string, string>();
    await asking(async () => {
      for await (const { server } of registry.list({ search: 'dev.toolyard/', version: 'latest' })) {
        const latest = await registry.getVersion(server.name, 'latest');
        must(latest !== undefined, `${server.name} to have a latest version`, 'none');
        addresses.set(server.name, addressOf(latest));
        say(`${server.name} ${latest.server.version}  ${addressOf(latest)}`);
      }
    });
    const [fetch, sandbox] = ['dev.toolyard/fetch', 'dev.toolyard/sandbox'].map((name) => addresses.get(name));
    must(
      fetch !== undefined && sandbox !== undefined,
      'dev.toolyard/fetch and dev.toolyard/sandbox',
      [...addresses.keys()].join(', ') || 'nothing',
    );
    return { fetch, sandbox };
  });
}

async function fetchAllowed(server: Connection, site: Site, steps: Steps): Promise<void> {
  await steps.run(`Fetch ${site.origin}/, the one private origin that this fetch server may reach`, async (say) => {
    const result = await server.call('fetch', { url: `${site.origin}/` });
    const text = textOf(result);
    must(result.isError !== true && text.includes('4.2 metres'), 'the page as Markdown', text);
    must(site.hits() === 1, 'one request at the site', String(site.hits()));
    for (const line of text
      .split('\n')
      .filter((line) => line.trim() !== '')
      .slice(0, 5))
      say(line.length > 100 ? `${line.slice(0, 99)}…` : line);
  });
}

async function fetchRefused(server: Connection, site: Site, steps: Steps): Promise<void> {
  await steps.run(`Fetch ${site.origin}/, another port of this machine: it must be refused`, async (say) => {
    const result = await server.call('fetch', { url: `${site.origin}/` });
    must(result.isError === true, 'a refusal', textOf(result));
    must(site.hits() === 0, 'no request at the site', String(site.hits()));
    say(textOf(result));
  });
}

async function runProgram(server: Connection, steps: Steps): Promise<void> {
  const name = await steps.run('Create a sandbox', async (say) => {
    const config = structured(await server.call('get_sandbox_config', {}));
    const { sandbox_claim_name: created } = structured(await server.call('create_sandbox', {}));
    must(typeof created === 'string', 'the name of a sandbox', JSON.stringify(created));
    say(`${created}, isolation: ${String(config['isolation'])}`);
    return created;
  });
  try {
    await steps.run('Write fibonacci.py into it, and run it for n = 15', async (say) => {
      structured(await server.call('upload_file', { sandbox_claim_name: name, path: 'fibonacci.py', content: program }));
      const {
        stdout,
        stderr,
        exit_code: code,
      } = structured(await server.call('execute_command', { sandbox_claim_name: name, command: 'python3 fibonacci.py' }));
      say(`stdout: ${String(stdout).trimEnd()}`);
      say(`exit code: ${String(code)}`);
      must(
        String(stdout).trim() === EXPECTED && code === 0,
        `${EXPECTED} and exit code 0`,
        `${String(stdout)} ${String(stderr)}, exit code ${String(code)}`,
      );
    });
  } finally {
    await steps.run('Delete the sandbox', async () => {
      const result = await server.call('delete_sandbox', { sandbox_claim_name: name });
      must(result.isError !== true, 'the sandbox to be deleted', textOf(result));
    });
  }
}

function structured(result: CallToolResult): Record<string, unknown> {
  must(result.isError !== true, 'a result', textOf(result));
  return (result.structuredContent ?? {}) as Record<string, unknown>;
}
