import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { quietPort } from '../port.ts';
import { Bench, record, until } from './bench.ts';

const MAIN = join(import.meta.dirname, '../../operator/main.ts');

let bench: Bench;
let child: ChildProcess | undefined;

beforeEach(async () => {
  bench = await Bench.start();
});

afterEach(async () => {
  child?.kill('SIGKILL');
  await bench.close();
});

function run(env: NodeJS.ProcessEnv, args: readonly string[] = []): ChildProcess {
  child = spawn(process.execPath, [MAIN, ...args], { env: { PATH: process.env['PATH'], ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  return child;
}

async function output(process: ChildProcess): Promise<{ code: number | null; text: string }> {
  const chunks: Buffer[] = [];
  for (const stream of [process.stdout, process.stderr]) stream?.on('data', (chunk: Buffer) => chunks.push(chunk));
  const [code] = (await once(process, 'close')) as [number | null];
  return { code, text: Buffer.concat(chunks).toString('utf8') };
}

test('the process tells whether it can do its job, counts what it does, and stops when told to', async () => {
  const server = await bench.server();
  await bench.declare('weather', record('com.example/weather', `${server.url}/mcp`));
  const [port, metricsPort] = [await quietPort(), await quietPort()];
  const operator = run({
    ...bench.environment(),
    PORT: String(port),
    METRICS_PORT: String(metricsPort),
    DRAIN_SECONDS: '0',
  });
  const ended = output(operator);
  await bench.untilStatus('com.example/weather', 'active', '1.0.0', 20_000);
  const ready = await fetch(`http://127.0.0.1:${port}/readyz`);
  expect(ready.status).toBe(200);
  const metrics = await until('metrics show it', async () => {
    const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    return text.includes('toolyard_declarations{state="Published"} 1') && text;
  });
  expect(metrics).toContain('toolyard_registry_writes_total{action="publish",outcome="done"} 1');
  expect(metrics).toContain('toolyard_registry_up 1');
  await bench.stopRegistry();
  await until('it is not ready', async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status === 503);
  expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
  operator.kill('SIGTERM');
  const { code, text } = await ended;
  expect(code).toBe(0);
  expect(text).not.toContain('abababab');
});

test('told to stop while a server and the registry hang, it is gone within seconds; killed, the next one goes on where it was', async () => {
  const hanging = createServer(() => {}).listen(0, '127.0.0.1');
  await once(hanging, 'listening');
  const { port: nowhere } = hanging.address() as AddressInfo;
  try {
    const server = await bench.server();
    await bench.declare('weather', record('com.example/weather', `${server.url}/mcp`));
    await bench.declare('hangs', record('com.example/hangs', `http://127.0.0.1:${nowhere}/mcp`));
    const settings = { ...bench.environment(), PORT: '0', METRICS_PORT: 'off', DRAIN_SECONDS: '0', PROBE_TIMEOUT_SECONDS: '60' };
    const killed = run(settings);
    const died = output(killed);
    await bench.untilStatus('com.example/weather', 'active', '1.0.0', 30_000);
    killed.kill('SIGKILL');
    await died;
    await bench.declare('weather', record('com.example/weather', `${server.url}/mcp`, { description: 'changed meanwhile' }));
    const next = run(settings);
    const ended = output(next);
    await until(
      'the next one goes on',
      async () => (await bench.records('com.example/weather'))[0]?.document.description === 'changed meanwhile',
      30_000,
    );
    next.kill('SIGTERM');
    const since = performance.now();
    expect((await ended).code).toBe(0);
    expect(performance.now() - since).toBeLessThan(8_000);
    const stuck = run({ ...settings, REGISTRY_URL: `http://127.0.0.1:${nowhere}` });
    const stopped = output(stuck);
    await once(hanging, 'connection');
    stuck.kill('SIGTERM');
    const then = performance.now();
    expect((await stopped).code).toBe(0);
    expect(performance.now() - then).toBeLessThan(8_000);
  } finally {
    hanging.close();
  }
});

test('a status file that cannot be written is told once, and records are published all the same', async () => {
  const server = await bench.server();
  await bench.declare('weather', record('com.example/weather', `${server.url}/mcp`));
  await bench.declare('silent', record('com.example/silent', 'http://127.0.0.1:1/mcp'));
  const file = join(bench.root, 'seed', 'below-a-file.json');
  const operator = run({ ...bench.environment(), PORT: '0', METRICS_PORT: 'off', DRAIN_SECONDS: '0', STATUS_FILE: file });
  const ended = output(operator);
  await bench.untilStatus('com.example/weather', 'active', '1.0.0', 30_000);
  operator.kill('SIGTERM');
  const { code, text } = await ended;
  expect(code).toBe(0);
  expect(text.split('STATUS_FILE cannot be written')).toHaveLength(2);
});

test('wrong settings are named, each with what it got', async () => {
  const { code, text } = await output(run({ REGISTRY_URL: 'ftp://x', NAME_POLICY: '{', PROBE_INTERVAL_SECONDS: '-1' }));
  expect(code).toBe(2);
  for (const name of [
    'REGISTRY_URL: got "ftp://x"',
    'NAME_POLICY: got "{"',
    'PROBE_INTERVAL_SECONDS: got "-1"',
    'REGISTRY_JWT_SEED_FILE: got (not set)',
  ]) {
    expect(text).toContain(name);
  }
});

test('help lists every setting', async () => {
  const { code, text } = await output(run({}, ['--help']));
  expect(code).toBe(0);
  expect(text).toContain('WITHDRAW_AFTER_SECONDS (30)');
});
