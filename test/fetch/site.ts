import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Route = (request: IncomingMessage, response: ServerResponse) => void;

/** A web site on a free loopback port, as friendly or hostile as its routes. */
export interface Site {
  readonly origin: string;
  /** paths asked for, in order */
  readonly asked: string[];
  /** those whose answer was given up before its end, by either side */
  readonly cut: string[];
  /** connections that were made, ever */
  connections(): number;
  /** connections that are open now */
  open(): Promise<number>;
  close(): Promise<void>;
}

/** Serves the routes by exact path, 404 elsewhere; so a site without a route for /robots.txt has none. */
export async function startSite(routes: Readonly<Record<string, Route>>): Promise<Site> {
  const asked: string[] = [];
  const cut: string[] = [];
  let connections = 0;
  const listener: RequestListener = (request, response) => {
    asked.push(request.url ?? '');
    response.once('close', () => {
      if (!response.writableFinished) cut.push(request.url ?? '');
    });
    const [path = ''] = (request.url ?? '').split('?', 1);
    const route = routes[path];
    if (route === undefined) response.writeHead(404).end('not here');
    else route(request, response);
  };
  const server: Server = createServer(listener).listen(0, '127.0.0.1');
  server.on('connection', () => (connections += 1));
  server.on('clientError', (_error, socket) => socket.destroy());
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    cut,
    connections: () => connections,
    open: () => new Promise((resolve) => server.getConnections((_error, count) => resolve(count))),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A route that answers with this. */
export function answer(body: string | Uint8Array, headers: Record<string, string> = { 'content-type': 'text/html' }, status = 200): Route {
  return (_request, response) => response.writeHead(status, headers).end(body);
}

export function redirect(location: string, status = 302): Route {
  return (_request, response) => response.writeHead(status, { location }).end();
}

/** A route that writes to the connection itself, past HTTP. */
export function raw(write: (socket: NonNullable<ServerResponse['socket']>) => void): Route {
  return (_request, response) => {
    if (response.socket !== null) write(response.socket);
  };
}

/** Writes the same again and again, as fast as it is taken, until the connection ends. */
export function endlessly(chunk: string | Uint8Array): (stream: NodeJS.WritableStream) => void {
  return (stream) => {
    const more = (): void => {
      while (stream.writable && stream.write(chunk));
    };
    stream.on('drain', more);
    stream.on('error', () => {});
    more();
  };
}

/** Writes the same every so often until the connection ends. */
export function dripping(chunk: string, everyMs: number): (stream: NodeJS.WritableStream) => void {
  return (stream) => {
    const timer = setInterval(() => stream.write(chunk), everyMs);
    stream.on('close', () => clearInterval(timer));
    stream.on('error', () => clearInterval(timer));
  };
}
