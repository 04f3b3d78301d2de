import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Stands between an operator and a registry: counts requests, and loses answers when told to. */
export class Proxy {
  readonly #server: Server;
  readonly #target: () => string;
  /** whole readings of the registry: each begins with a first page */
  lists = 0;
  writes = 0;
  /** answers of the next writes that never arrive, though the registry did what it was asked */
  lose = 0;

  private constructor(target: () => string) {
    this.#target = target;
    this.#server = createServer((req, res) => this.#pass(req, res));
  }

  static async start(target: () => string): Promise<Proxy> {
    const proxy = new Proxy(target);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }

  #pass(req: IncomingMessage, res: ServerResponse): void {
    const { method = 'GET', url = '/', headers } = req;
    const write = method !== 'GET';
    if (write) this.writes += 1;
    else if (url.startsWith('/v0.1/servers?') && !url.includes('cursor=')) this.lists += 1;
    const lost = write && this.lose > 0;
    if (lost) this.lose -= 1;
    const { hostname, port } = new URL(this.#target());
    const onward = request({ hostname, port, path: url, method, headers }, (answer) => {
      if (lost) answer.resume().once('end', () => res.destroy());
      else answer.pipe(res.writeHead(answer.statusCode ?? 502, answer.headers));
    });
    onward.once('error', () => res.destroy());
    req.pipe(onward);
  }
}
