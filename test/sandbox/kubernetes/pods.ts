import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

/** agent-sandbox's real service, as `scripts/ensure-cluster-tools` builds it. */
export const sandboxd = join(homedir(), '.cache/toolyard/cluster-bin/sandboxd');

/** So many pods can there be at once, each with an address of its own. */
const FIRST_HOST = 10;
const LAST_HOST = 250;
/** Test files run in processes of their own. */
const NETWORK = 100 + Number(process.env['VITEST_POOL_ID'] ?? 0);
let nextHost = FIRST_HOST;

/** The ports that every pod here listens on, at its address. */
export const podPorts = { grpc: 39_090, rest: 38_080 };

/**
 * A pod as the cluster would run it, without a cluster: the real sandboxd and the programs of this machine in bubblewrap, at a loopback
 * address of its own. It has this machine's network, so nothing about networks can be tested with it.
 */
export class Pod {
  readonly address: string;
  readonly #child: ChildProcess;
  readonly #listeners: readonly Server[];
  readonly #sockets: Set<Socket>;

  private constructor(address: string, child: ChildProcess, listeners: readonly Server[], sockets: Set<Socket>) {
    this.address = address;
    this.#child = child;
    this.#listeners = listeners;
    this.#sockets = sockets;
  }

  static async start(address = nextAddress()): Promise<Pod> {
    const [grpc, rest] = [await freePort(), await freePort()];
    const child = spawn('bwrap', bubblewrap(['/opt/sandboxd', '--grpc-port', `${grpc}`, '--rest-port', `${rest}`]), { stdio: 'ignore' });
    const sockets = new Set<Socket>();
    const listeners = [
      await forwarder(address, podPorts.grpc, { to: grpc, sockets }),
      await forwarder(address, podPorts.rest, { to: rest, sockets }),
    ];
    return new Pod(address, child, listeners, sockets);
  }

  /** Open ones, each counted at both of its ends. */
  get connections(): number {
    return this.#sockets.size;
  }

  /** Ends its connections; the next one can be made. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Ends it as a node would that lost its power: the address does not answer any more. */
  async kill(): Promise<void> {
    for (const listener of this.#listeners) listener.close();
    this.cut();
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }
}

/** Defines tests that need pods. Where there can be none, this is shouted about, and under CI the run fails. */
export function describeWithPods(title: string, define: () => void): void {
  const missing = missingForPods();
  if (missing === undefined) defineUnder(title, define);
  else reportMissing(title, missing);
}

function defineUnder(title: string, define: () => void): void {
  describe(`${title}, which bubblewrap holds`, () => {
    define();
  });
}

function reportMissing(title: string, missing: string): void {
  process.stderr.write(`\n!!! ${missing}: TESTS OF THE KUBERNETES BACKEND DO NOT RUN\n\n`);
  test(`pods can be played for: ${title}`, (context) => {
    if (process.env['CI'] !== 'true') context.skip(missing);
    expect.fail(missing);
  });
}

function missingForPods(): string | undefined {
  if (!existsSync(sandboxd)) return `${sandboxd} is not built: scripts/ensure-cluster-tools does it`;
  return existsSync('/usr/bin/bwrap') ? undefined : 'bubblewrap is not installed: scripts/ensure-bubblewrap does it';
}

function bubblewrap(command: readonly string[]): string[] {
  const system = [
    '--ro-bind',
    '/usr',
    '/usr',
    '--symlink',
    'usr/bin',
    '/bin',
    '--symlink',
    'usr/lib',
    '/lib',
    '--symlink',
    'usr/lib64',
    '/lib64',
  ];
  const etc = ['/etc/alternatives', '/etc/ld.so.cache'].flatMap((path) => ['--ro-bind-try', path, path]);
  const programs = ['--ro-bind', process.execPath, '/opt/bin/node', '--ro-bind', sandboxd, '/opt/sandboxd'];
  // a /proc that nothing covers must be in sight, or the kernel lets nobody inside mount one
  const places = [
    '--proc',
    '/proc',
    '--bind',
    '/proc',
    '/opt/proc',
    '--dev',
    '/dev',
    '--size',
    `${32 * 1024 * 1024}`,
    '--tmpfs',
    '/tmp',
    '--size',
    `${32 * 1024 * 1024}`,
    '--tmpfs',
    '/workspace',
  ];
  const apart = [
    '--unshare-user',
    '--unshare-pid',
    '--unshare-ipc',
    '--unshare-uts',
    '--uid',
    '1000',
    '--gid',
    '1000',
    '--die-with-parent',
    '--new-session',
  ];
  const environment = [
    '--clearenv',
    '--setenv',
    'PATH',
    '/opt/bin:/usr/bin',
    '--setenv',
    'HOME',
    '/workspace',
    '--setenv',
    'LANG',
    'C.UTF-8',
  ];
  return [
    ...apart,
    ...system,
    ...etc,
    ...programs,
    ...places,
    ...environment,
    '--remount-ro',
    '/',
    '--chdir',
    '/workspace',
    '--',
    ...command,
  ];
}

function nextAddress(): string {
  const address = `127.0.${NETWORK}.${nextHost}`;
  nextHost = nextHost >= LAST_HOST ? FIRST_HOST : nextHost + 1;
  return address;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function forwarder(host: string, port: number, { to, sockets }: { to: number; sockets: Set<Socket> }): Promise<Server> {
  const server = createServer((near) => {
    const far = connect(to, '127.0.0.1');
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.pipe(other);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
  });
  server.listen(port, host);
  await once(server, 'listening');
  return server;
}
