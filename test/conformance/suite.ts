import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client';
import { Client as V1Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as V1Transport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runBin, runConformance, type Check, type Revision } from './run.ts';

/** What a server may offer besides tools. */
export type Offer = 'prompts' | 'resources';

export interface ConformingServer {
  readonly name: string;
  readonly offers: readonly Offer[];
  /** a call that has a result, with or without `isError`, and that a test may make */
  readonly call: { readonly name: string; readonly arguments: Record<string, unknown> };
  start(): Promise<{ readonly url: string; close(): Promise<unknown> }>;
}

interface Scenario {
  readonly name: string;
  readonly needs?: Offer;
}

/** Scenarios of @modelcontextprotocol/conformance 0.2.0-alpha.12 that need no fixture of its own in the server. */
const scenarios: Record<Revision, readonly Scenario[]> = {
  '2025-11-25': [
    { name: 'server-initialize' },
    { name: 'ping' },
    { name: 'tools-list' },
    { name: 'prompts-list', needs: 'prompts' },
    { name: 'resources-list', needs: 'resources' },
    { name: 'server-sse-multiple-streams' },
    { name: 'server-session-lifecycle' },
    { name: 'dns-rebinding-protection' },
  ],
  '2026-07-28': [
    { name: 'server-stateless' },
    { name: 'tools-list' },
    { name: 'prompts-list', needs: 'prompts' },
    { name: 'resources-list', needs: 'resources' },
    { name: 'sep-2164-resource-not-found', needs: 'resources' },
    { name: 'caching' },
    { name: 'server-sse-multiple-streams' },
    { name: 'dns-rebinding-protection' },
    { name: 'http-header-validation' },
    { name: 'input-required-result-unsupported-methods' },
    { name: 'input-required-result-ignore-extra-params' },
    { name: 'input-required-result-missing-input-response' },
    { name: 'input-required-result-validate-input' },
  ],
};

const WANTS_DIAGNOSTIC_TOOL = 'only testable on a server that lists a diagnostic tool of the suite (test_missing_capability and the like)';

interface ExpectedFailure {
  readonly scenario: string;
  readonly check: string;
  readonly reason: string;
  /** the check passes on a server that offers this */
  readonly unless?: Offer;
}

/** Checks that fail for a reason that is not the server's; one that passes fails its test, so that this list never goes stale. */
const expectedFailures: readonly ExpectedFailure[] = [
  { scenario: 'server-stateless', check: 'sep-2575-server-rejects-undeclared-capability', reason: WANTS_DIAGNOSTIC_TOOL },
  { scenario: 'server-stateless', check: 'sep-2575-missing-capability-http-400', reason: WANTS_DIAGNOSTIC_TOOL },
  { scenario: 'server-stateless', check: 'sep-2575-http-server-no-independent-requests-on-stream', reason: WANTS_DIAGNOSTIC_TOOL },
  { scenario: 'server-stateless', check: 'sep-2575-server-no-log-without-loglevel', reason: WANTS_DIAGNOSTIC_TOOL },
  { scenario: 'caching', check: 'sep-2549-prompts-list-caching-hints', reason: 'there are no prompts to list', unless: 'prompts' },
  { scenario: 'caching', check: 'sep-2549-resources-list-caching-hints', reason: 'there are no resources to list', unless: 'resources' },
  {
    scenario: 'caching',
    check: 'sep-2549-resources-templates-list-caching-hints',
    reason: 'there are no resources to list',
    unless: 'resources',
  },
];

/** What every MCP server of toolyard has to pass, run against the real thing over HTTP. */
export function conformanceSuite(server: ConformingServer): void {
  describe(`conformance of ${server.name}`, () => {
    let running: Awaited<ReturnType<ConformingServer['start']>>;
    let endpoint: string;
    const results = new Map<Revision, ReadonlyMap<string, readonly Check[]>>();

    beforeAll(async () => {
      running = await server.start();
      endpoint = `${running.url}/mcp`;
      const run = async (revision: Revision) => void results.set(revision, await runConformance(endpoint, revision));
      // mostly waiting
      await Promise.all([run('2025-11-25'), run('2026-07-28')]);
    });

    afterAll(async () => {
      await running.close();
    });

    describe.each(['2025-11-25', '2026-07-28'] as const)('to %s', (revision) => {
      test.each(applicable(scenarios[revision], server))('$name', ({ name }) => {
        const checks = results.get(revision)?.get(name) ?? [];
        // none when the suite no longer has this scenario
        expect(checks).not.toEqual([]);
        expect(verdict(name, checks, server)).toEqual({ failed: [], stale: [] });
      });
    });

    test.each(['legacy', 'modern'])('the Inspector finds nothing to complain about in its tools (%s)', async (era) => {
      const args = ['--cli', endpoint, '--transport', 'http', '--method', 'tools/list', '--strict', '--protocol-era', era];
      const listed = expect.stringContaining(`"name": "${server.call.name}"`);
      expect(await runBin('@modelcontextprotocol/inspector', 'mcp-inspector', args)).toEqual({ code: 0, output: listed });
    });

    test('a client built on SDK v1 lists and calls', async () => {
      const client = new V1Client({ name: 'v1', version: '1' });
      await client.connect(new V1Transport(new URL(endpoint)));
      expect((await client.listTools()).tools.map(({ name }) => name)).toContain(server.call.name);
      expect((await client.callTool(server.call)).content).not.toEqual([]);
      expect(offered(client.getServerCapabilities())).toEqual(server.offers.toSorted());
      await client.close();
    });

    test.each([
      { era: 'legacy', mode: 'legacy', negotiated: '2025-11-25' },
      { era: 'modern', mode: { pin: '2026-07-28' }, negotiated: '2026-07-28' },
      { era: 'whichever', mode: 'auto', negotiated: '2026-07-28' },
    ] as const)('a client built on SDK v2 lists and calls ($era)', async ({ mode, negotiated }) => {
      const client = new ModernClient({ name: 'v2', version: '1' }, { versionNegotiation: { mode } });
      await client.connect(new ModernTransport(new URL(endpoint)));
      expect(client.getNegotiatedProtocolVersion()).toBe(negotiated);
      expect((await client.listTools()).tools.map(({ name }) => name)).toContain(server.call.name);
      expect((await client.callTool(server.call)).content).not.toEqual([]);
      await client.close();
    });
  });
}

function applicable(all: readonly Scenario[], server: ConformingServer): readonly Scenario[] {
  return all.filter(({ needs }) => needs === undefined || offers(server, needs));
}

function offers(server: ConformingServer, offer: Offer | undefined): boolean {
  return offer !== undefined && server.offers.includes(offer);
}

function offered(capabilities: Partial<Record<Offer, unknown>> | undefined): readonly Offer[] {
  return (['prompts', 'resources'] as const).filter((offer) => capabilities?.[offer] !== undefined);
}

/** Failures that are not expected, and expected ones that did not come. */
function verdict(name: string, checks: readonly Check[], server: ConformingServer) {
  const expected = expectedFailures.filter(({ scenario, unless }) => scenario === name && !offers(server, unless));
  const failures = checks.filter(({ status }) => status === 'FAILURE');
  const failed = failures.filter(({ id }) => !expected.some(({ check }) => check === id));
  const stale = expected.filter(({ check }) => !failures.some(({ id }) => id === check));
  return { failed: failed.map(({ id, errorMessage }) => `${id}: ${errorMessage ?? ''}`), stale: stale.map(({ check }) => check) };
}
