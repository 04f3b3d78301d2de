import { readdir, readFile, readlink } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { CliError, exit } from '../exit.ts';
import { partNames, type PartName } from './model.ts';
import { processFacts, type ProcessFacts } from './proc.ts';

export type Ports = Readonly<Record<PartName, number>>;

const HOST = '127.0.0.1';
const LISTEN = '0A';

/** How long the ports of an `up` that was killed are waited for: its parts stop as soon as they notice. */
const LEFT_BEHIND_MS = 3_000;
const LOOK_EVERY_MS = 50;

/**
 * The ports to listen on: those that are wanted, and any free one for each 0. `leftBehind`: an `up` may have died just now.
 * @throws CliError `inUse` naming who holds a port, `usage` when two parts are given the same, `no` when it is not for this user
 */
export async function claimPorts(wanted: Ports, { leftBehind }: { leftBehind: boolean }): Promise<Ports> {
  const until = performance.now() + (leftBehind ? LEFT_BEHIND_MS : 0);
  for (;;) {
    const choice = await choosePorts(wanted);
    if (choice.is === 'free') return choice.ports;
    if (choice.is === 'forbidden' || performance.now() >= until) throw await refusal(choice, wanted);
    await wait(LOOK_EVERY_MS);
  }
}

async function refusal({ is, name, port }: Exclude<Choice<PartName>, { is: 'free' }>, wanted: Ports): Promise<CliError> {
  const twin = partNames.find((other) => other !== name && wanted[other] === port);
  if (twin !== undefined) {
    return new CliError(exit.usage, `port ${port} is given to both ${twin} and ${name}`, {
      next: 'give each its own; 0 takes any free one',
    });
  }
  if (is === 'forbidden') {
    return new CliError(exit.no, `this user may not listen on port ${port} for ${name}`, {
      next: `give another one: --${name}-port, from 1024 on (0 takes any free one)`,
    });
  }
  const { who, stop } = describe(await holderOf(port));
  return new CliError(exit.inUse, `port ${port} for ${name} is held by ${who}`, {
    next: `${stop}, or give this one other ports: --registry-port, --fetch-port, --sandbox-port (0 takes any free one), and its own --state DIR`,
  });
}

/** The command of a process that starts its parts again when they end: to stop one it has to be stopped. */
const startsParts = /\bcli\/main\.ts\b/;

function describe(holder: ProcessFacts | undefined): { who: string; stop: string } {
  if (holder === undefined) return { who: 'another process', stop: 'stop it' };
  const who = `process ${holder.pid} (${holder.command || 'its command is hidden'})`;
  const parent = processFacts(holder.parent);
  if (!startsParts.test(parent.command)) return { who, stop: 'stop it' };
  return { who: `${who}, which belongs to process ${parent.pid} (${parent.command})`, stop: `stop process ${parent.pid}` };
}

/** Ports that can be listened on now, or the first of those asked for that cannot. */
export type Choice<Name extends string> =
  | { readonly is: 'free'; readonly ports: Readonly<Record<Name, number>> }
  /** `forbidden`: this user may not listen there */
  | { readonly is: 'taken' | 'forbidden'; readonly name: Name; readonly port: number };

/** Tries the ports that are wanted on 127.0.0.1, and takes any free one for each 0. All are held at once meanwhile, so no two are alike. */
export async function choosePorts<Name extends string>(wanted: Readonly<Record<Name, number>>): Promise<Choice<Name>> {
  const held: Server[] = [];
  const ports: Record<Name, number> = { ...wanted };
  try {
    // those asked for first, so that none of them is taken for a 0
    for (const name of namesOf(wanted).toSorted((a, b) => wanted[b] - wanted[a])) {
      const server = await listen(wanted[name]);
      if (typeof server === 'string') return { is: server, name, port: wanted[name] };
      held.push(server);
      ports[name] = portOf(server);
    }
    return { is: 'free', ports };
  } finally {
    await Promise.all(held.map(close));
  }
}

/**
 * Who listens on a port, from Linux's /proc. `undefined` where that cannot be told: on other systems, or when the process belongs to
 * another user.
 */
export async function holderOf(port: number): Promise<ProcessFacts | undefined> {
  const inodes = new Set([...(await listenersIn('/proc/net/tcp', port)), ...(await listenersIn('/proc/net/tcp6', port))]);
  if (inodes.size === 0) return undefined;
  for (const entry of await readdir('/proc')) {
    const pid = Number(entry);
    if (Number.isInteger(pid) && (await holdsSocket(pid, inodes))) return processFacts(pid);
  }
  return undefined;
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

function listen(port: number): Promise<Server | 'taken' | 'forbidden'> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve('taken');
      else if (error.code === 'EACCES') resolve('forbidden');
      else reject(error);
    });
    server.listen({ port, host: HOST, exclusive: true }, () => resolve(server));
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}

function namesOf<Name extends string>(record: Readonly<Record<Name, unknown>>): Name[] {
  return Object.keys(record) as Name[];
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('a TCP server has a numeric port');
  return address.port;
}
