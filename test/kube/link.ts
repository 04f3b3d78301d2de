import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** Stands between a client and an API server, and breaks connections in the ways that networks do. */
export class Link {
  readonly #server: Server;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  #open = true;

  private constructor(port: number) {
    this.#server = createServer((near) => {
      if (!this.#open) return near.destroy();
      const far = connect(port, '127.0.0.1');
      const pair = [near, far] as const;
      this.#pairs.add(pair);
      near.pipe(far);
      far.pipe(near);
      for (const socket of pair) {
        socket.on('error', () => {});
        socket.on('close', () => {
          this.#pairs.delete(pair);
          for (const end of pair) end.destroy();
        });
      }
      return near;
    });
  }

  static async start(port: number): Promise<Link> {
    const link = new Link(port);
    link.#server.listen(0, '127.0.0.1');
    await once(link.#server, 'listening');
    return link;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Ends every connection; new ones are taken, unless the link is shut. */
  cut(): void {
    for (const [near, far] of this.#pairs) {
      near.destroy();
      far.destroy();
    }
  }

  /** Refuses what comes, and ends what is there. */
  shut(): void {
    this.#open = false;
    this.cut();
  }

  reopen(): void {
    this.#open = true;
  }

  async close(): Promise<void> {
    this.shut();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
