import { readdir, readFile, readlink } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';

const HOST = '127.0.0.1';
const LISTEN = '0A';

/** A process that listens on a port. */
export interface Holder {
  readonly pid: number;
  /** its command line, arguments joined by blanks */
  readonly command: string;
}

/** Whether a process may listen on 127.0.0.1:port now. */
export async function isFree(port: number): Promise<boolean> {
  try {
    await close(await listen(port));
    return true;
  } catch {
    return false;
  }
}

/** Fills in every 0 with a port that is free now; all are held at once while choosing, so no two are alike. */
export async function choosePorts<T extends Record<string, number>>(wanted: T): Promise<T> {
  const held: Server[] = [];
  const chosen: Record<string, number> = {};
  for (const [name, port] of Object.entries(wanted)) {
    if (port !== 0) {
      chosen[name] = port;
      continue;
    }
    const server = await listen(0);
    held.push(server);
    chosen[name] = portOf(server);
  }
  await Promise.all(held.map(close));
  return chosen as T;
}

/**
 * Who listens on a port, from Linux's /proc. `undefined` where that cannot be told: on other systems, or when the process belongs to
 * another user.
 */
export async function holderOf(port: number): Promise<Holder | undefined> {
  const inodes = new Set([...(await listenersIn('/proc/net/tcp', port)), ...(await listenersIn('/proc/net/tcp6', port))]);
  if (inodes.size === 0) return undefined;
  for (const entry of await readdir('/proc')) {
    const pid = Number(entry);
    if (Number.isInteger(pid) && (await holdsSocket(pid, inodes))) return { pid, command: await commandOf(pid) };
  }
  return undefined;
}

/** A running process's command line, empty when it is gone or hidden. */
export async function commandOf(pid: number): Promise<string> {
  const raw = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  return raw.split('\0').filter(Boolean).join(' ');
}

async function listenersIn(table: string, port: number): Promise<string[]> {
  const text = await readFile(table, 'utf8').catch(() => '');
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  return text
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter((columns) => columns[3] === LISTEN && columns[1]?.endsWith(`:${hex}`) === true)
    .map((columns) => `socket:[${columns[9] ?? ''}]`);
}

async function holdsSocket(pid: number, sockets: ReadonlySet<string>): Promise<boolean> {
  const fds = await readdir(`/proc/${pid}/fd`).catch(() => []);
  for (const fd of fds) {
    if (sockets.has(await readlink(`/proc/${pid}/fd/${fd}`).catch(() => ''))) return true;
  }
  return false;
}

function listen(port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ port, host: HOST, exclusive: true }, () => resolve(server));
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('a TCP server has a numeric port');
  return address.port;
}
