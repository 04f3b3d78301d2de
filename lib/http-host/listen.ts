import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import { isIPv6 } from 'node:net';

/** Where a server should listen, and the settings that say so. */
export interface Listening {
  readonly host: string;
  readonly port: number;
  /** the variable that holds the port */
  readonly setting: string;
}

/** A port or address that could not be listened on; the message names the setting to change. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
  readonly code: string;
  readonly port: number;
  readonly setting: string;

  constructor(wanted: Listening, cause: NodeJS.ErrnoException) {
    super(`${authority(wanted.host, wanted.port)}: ${adviceOn(wanted, cause)}`, { cause });
    this.code = cause.code ?? 'UNKNOWN';
    this.port = wanted.port;
    this.setting = wanted.setting;
  }
}

/** Resolves with the port that is listened on. @throws ListenError */
export async function listen(server: Server, wanted: Listening): Promise<number> {
  try {
    server.listen({ host: wanted.host, port: wanted.port });
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  } catch (error) {
    throw new ListenError(wanted, error as NodeJS.ErrnoException);
  }
}

/** `host:port` as it stands in a URL. */
export function authority(host: string, port: number): string {
  return `${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

/** The address by which a process on this machine reaches a server bound to `host`. */
export function dialled(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}

function adviceOn({ port, setting }: Listening, cause: NodeJS.ErrnoException): string {
  switch (cause.code) {
    case 'EADDRINUSE':
      return `port ${port} is taken by another process; stop that one, or set ${setting} to a free port`;
    case 'EACCES':
      return `this user may not listen on port ${port}; set ${setting} to a port above 1023`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EINVAL':
      return 'not an address of this machine; set HOST to one that is';
    default:
      return `cannot listen (${cause.code ?? cause.message}); check HOST and ${setting}`;
  }
}
