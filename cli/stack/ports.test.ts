import { readFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { choosePorts, holderOf } from './ports.ts';
import { processFacts } from './proc.ts';

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

const ports = (choice: Awaited<ReturnType<typeof choosePorts>>) => (choice.is === 'free' ? Object.values(choice.ports) : []);

test('a port that somebody listens on is taken, whichever address he took', async () => {
  for (const host of ['127.0.0.1', '0.0.0.0']) {
    const port = await listenOn(host);
    expect(await choosePorts({ registry: 0, fetch: port })).toEqual({ is: 'taken', name: 'fetch', port });
  }
});

test('ports that were asked for stay, zeros become free ones, all different', async () => {
  const [free = 0] = ports(await choosePorts({ any: 0 }));
  const chosen = await choosePorts({ registry: 0, fetch: free, sandbox: 0 });
  expect(chosen).toMatchObject({ is: 'free', ports: { fetch: free } });
  expect(new Set(ports(chosen)).size).toBe(3);
});

test('one port for two is taken', async () => {
  const [port = 0] = ports(await choosePorts({ any: 0 }));
  expect(await choosePorts({ registry: port, fetch: port })).toEqual({ is: 'taken', name: 'fetch', port });
});

test.runIf(process.platform === 'linux')('a port that this user may not listen on is forbidden, not taken', async () => {
  const unprivileged = Number(readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8'));
  const root = process.getuid?.() === 0;
  if (root) process.seteuid?.(65_534);
  try {
    const choice = await choosePorts({ registry: 1 });
    expect(choice).toEqual(unprivileged > 1 ? { is: 'forbidden', name: 'registry', port: 1 } : { is: 'free', ports: { registry: 1 } });
  } finally {
    if (root) process.seteuid?.(0);
  }
});

test.runIf(process.platform === 'linux')('the holder of a port is named with its command, its parent and its age', async () => {
  const holder = await holderOf(await listenOn('127.0.0.1'));
  expect(holder).toEqual(processFacts(process.pid));
  expect(holder).toMatchObject({ pid: process.pid, parent: process.ppid, command: expect.stringContaining('node') as string });
});

test('a free port has no holder, and a process that is gone no facts', async () => {
  const [port = 0] = ports(await choosePorts({ any: 0 }));
  expect(await holderOf(port)).toBeUndefined();
  expect(processFacts(2 ** 22 + 1)).toEqual({ pid: 2 ** 22 + 1, command: '', parent: 0, started: '' });
});
