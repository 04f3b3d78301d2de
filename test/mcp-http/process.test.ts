import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterEach, expect, test } from 'vitest';
import { serverEnvironment, startServer, type ServerProcess } from './server-process.ts';

const FIXTURE = 'test/mcp-http/fixture.ts';

const running: ServerProcess[] = [];

afterEach(() => {
  for (const { child } of running.splice(0)) child.kill('SIGKILL');
});

async function start(env: Record<string, string> = {}): Promise<ServerProcess> {
  const server = await startServer(FIXTURE, env);
  running.push(server);
  return server;
}

/** Runs the fixture to its end. */
function run(args: readonly string[], env: Record<string, string> = {}): Promise<{ code: unknown; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [FIXTURE, ...args], { env: serverEnvironment(env), timeout: 10_000 }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    );
  });
}

/** Has a call in flight that only ends when the connection does. */
async function hold(server: ServerProcess): Promise<void> {
  const client = new Client({ name: 't', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`)));
  void client.callTool({ name: 'hold', arguments: {} }).catch(() => {});
  await expect.poll(() => server.log()).toContain('holding');
}

test('--help prints every setting and starts nothing', async () => {
  const { code, stdout } = await run(['--help']);
  expect(code).toBe(0);
  expect(stdout).toContain('  PORT (8000)\n      port for plain HTTP');
  expect(stdout).toContain('  PUBLIC_HOSTS (unset)');
});

test('wrong settings are all named, and end it with 2', async () => {
  const { code, stderr } = await run([], { PORT: 'http', METRICS_PORT: 'none', DRAIN_SECONDS: '-1', LOG_LEVEL: 'loud' });
  expect(code).toBe(2);
  expect(
    stderr
      .trim()
      .split('\n')
      .map((line) => line.replace(/ \(.*/, '')),
  ).toEqual([
    'PORT: got "http", accepts a number',
    'METRICS_PORT: got "none", accepts a port, 0 for any free one, or off',
    'DRAIN_SECONDS: got "-1", accepts at least 0',
    'LOG_LEVEL: got "loud", accepts one of fatal, error, warn, info, debug, trace, silent',
  ]);
});

test('a port in use ends it with 1 and one line that says what to do', async () => {
  const { url } = await start();
  const { port } = new URL(url);
  const { code, stderr } = await run([], { PORT: port });
  expect([code, stderr]).toEqual([
    1,
    `127.0.0.1:${port}: port ${port} is taken by another process; stop that one, or set PORT to a free port\n`,
  ]);
});

test.each(['SIGTERM', 'SIGINT'] as const)('%s stops it in good order, with 0', async (signal) => {
  const server = await start();
  server.child.kill(signal);
  expect(await once(server.child, 'exit')).toEqual([0, null]);
  expect(server.log()).toContain('"msg":"stopped"');
});

test('the same signal again ends it at once; another one does not, since a terminal and a parent may both send theirs', async () => {
  const server = await start();
  await hold(server);
  const exit = once(server.child, 'exit');
  server.child.kill('SIGINT');
  await expect.poll(() => server.log()).toContain('stopping');
  server.child.kill('SIGTERM');
  expect(await Promise.race([exit, delay(300, 'still finishing')])).toBe('still finishing');
  server.child.kill('SIGINT');
  expect(await exit).toEqual([1, null]);
});

test('a server whose parent is killed goes with it', async () => {
  const parent = spawn(process.execPath, ['test/mcp-http/parent.ts', FIXTURE], {
    env: serverEnvironment(),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(parent.stdout, 'data')) as [Buffer];
  const orphan = Number(line.toString());
  expect(alive(orphan)).toBe(true);
  parent.kill('SIGKILL');
  await expect.poll(() => alive(orphan), { timeout: 10_000 }).toBe(false);
});

function alive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
