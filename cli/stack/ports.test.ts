import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { choosePorts, holderOf, isFree } from './ports.ts';

const open: Server[] = [];

async function listenOn(host: string): Promise<number> {
  const server = createServer();
  open.push(server);
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return (server.address() as AddressInfo).port;
}

afterEach(async () => {
  for (const server of open.splice(0)) await new Promise((resolve) => server.close(resolve));
});

test('a port that somebody listens on is not free, whichever address he took', async () => {
  for (const host of ['127.0.0.1', '0.0.0.0']) expect(await isFree(await listenOn(host))).toBe(false);
});

test.runIf(process.platform === 'linux')('its holder is named with pid and command', async () => {
  const holder = await holderOf(await listenOn('127.0.0.1'));
  expect(holder?.pid).toBe(process.pid);
  expect(holder?.command).toContain('node');
});

test('a free port has no holder', async () => {
  const { port } = await choosePorts({ port: 0 });
  expect(await holderOf(port)).toBeUndefined();
});

test('ports that were asked for stay, zeros become free ones, all different', async () => {
  const ports = await choosePorts({ registry: 0, fetch: 8123, sandbox: 0 });
  expect(ports.fetch).toBe(8123);
  expect(new Set(Object.values(ports)).size).toBe(3);
  expect(await isFree(ports.registry)).toBe(true);
  expect(await isFree(ports.sandbox)).toBe(true);
});
