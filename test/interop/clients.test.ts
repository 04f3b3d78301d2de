import { afterAll, beforeAll, describe, expect, test, type TestContext } from 'vitest';
import { runBin } from '../conformance/run.ts';
import { withProgram } from './ensure.ts';
import { html, makeSandbox, markdown, readNothing, readPage, readPrivate, runFibonacci, sandboxTools, useSandbox } from './errands.ts';
import { pythonClients, requirements } from './python-clients.ts';
import { startServers, type Servers } from './servers.ts';
import { typescriptClients, visitWithV2 } from './typescript-clients.ts';
import type { Call, McpClient } from './visit.ts';

/** Clients that others write, unchanged, at both servers: each lists, calls and is refused as its users would be. */

let servers: Servers;

beforeAll(async () => {
  servers = await startServers(html);
  if (servers.unready !== undefined) process.stderr.write(`\n!!! NO CODE RUNS HERE, SO NOR DO INTEROP TESTS OF IT: ${servers.unready}\n\n`);
});

afterAll(() => servers.close());

/** Where no sandbox is to be had, a test that needs one is skipped; under CI it fails. */
function needsSandbox(context: TestContext): void {
  if (servers.unready === undefined) return;
  if (process.env['CI'] !== 'true') context.skip(servers.unready);
  expect.fail(servers.unready);
}

allSeeTheSame(typescriptClients);
for (const file of ['sdk-v2.txt', 'langchain-adapter.txt'] as const) {
  await withProgram(`the Python clients of ${file}`, ['ensure-python-packages', requirements(file)], (python) => {
    allSeeTheSame(pythonClients(python, file));
  });
}

function allSeeTheSame(clients: readonly McpClient[]): void {
  describe.each(clients)('$name, in $revision', (client) => {
    test('finds the fetch tool and prompt, reads a page, and is told what was wrong as a result', async () => {
      const errands = [readPage(servers.page), readPrivate, readNothing(servers.page)];
      const prompt = { name: 'fetch', arguments: { url: servers.page } };
      expect(await client.visit({ url: servers.fetch, calls: errands.map(({ call }) => call), prompt })).toEqual({
        revision: client.revision,
        tools: ['fetch'],
        results: errands.map(({ result }) => result),
        prompt: markdown,
      });
    });

    test('runs programs and moves files with every tool of the sandbox server, whose results fit their schemas', async (context) => {
      needsSandbox(context);
      const key = `${client.name}, ${client.revision}`;
      const made = await visitWithV2({ url: servers.sandbox, calls: [makeSandbox(key)], prompt: null });
      const errands = useSandbox(key, String(made.results[0]?.structured?.['sandbox_claim_name']));
      const seen = await client.visit({ url: servers.sandbox, calls: errands.map(({ call }) => call), prompt: null });
      expect({ ...seen, tools: seen.tools.toSorted() }).toEqual({
        revision: client.revision,
        tools: sandboxTools,
        results: errands.map(({ result }) => result),
        prompt: null,
      });
    });
  });
}

/** That it finds nothing wrong with any tool is tested in test/conformance. */
describe.each(['legacy', 'modern'])('the Inspector’s command line, %s', (era) => {
  const inspect = async (url: string, { name, arguments: given }: Call) => {
    const tool = ['--tool-name', name, '--tool-args-json', JSON.stringify(given)];
    const how = ['--transport', 'http', '--protocol-era', era, '--format', 'json'];
    const args = ['--cli', url, '--method', 'tools/call', ...tool, ...how];
    const { code, output } = await runBin('@modelcontextprotocol/inspector', 'mcp-inspector', args);
    const [line = ''] = output.split('\n', 1);
    return { code, ...(JSON.parse(line) as { result: object }).result };
  };

  test('reads a page', async () => {
    const { call, result } = readPage(servers.page);
    expect(await inspect(servers.fetch, call)).toMatchObject({ code: 0, content: [{ type: 'text', text: result.text }] });
  });

  test('shows a refusal and tells it by its exit code', async () => {
    const { call, result } = readPrivate;
    expect(await inspect(servers.fetch, call)).toMatchObject({ code: 5, isError: true, content: [{ type: 'text', text: result.text }] });
  });

  test('runs a program', async (context) => {
    needsSandbox(context);
    const { call, result } = runFibonacci;
    expect(await inspect(servers.sandbox, call)).toMatchObject({ code: 0, structuredContent: result.structured });
  });
});
