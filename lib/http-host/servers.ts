import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { answerUnreadable } from './answer.ts';
import type { HttpLimits } from './limits.ts';
import { listen, type Listening } from './listen.ts';

/** The listening servers of one host, opened and closed together. */
export class Servers {
  readonly #limits: HttpLimits;
  readonly #open: Server[] = [];

  constructor(limits: HttpLimits) {
    this.#limits = limits;
  }

  /** Resolves with the port listened on. @throws ListenError */
  async open(where: Listening, create: (options: ServerOptions) => Server): Promise<number> {
    const { maxHeaderBytes, headersTimeoutMs, requestTimeoutMs, keepAliveTimeoutMs, maxConnections } = this.#limits;
    const server = create({
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: headersTimeoutMs,
      requestTimeout: requestTimeoutMs,
      keepAliveTimeout: keepAliveTimeoutMs,
      connectionsCheckingInterval: Math.min(1000, headersTimeoutMs),
    });
    server.maxConnections = maxConnections;
    answerParserErrors(server);
    const port = await listen(server, where);
    this.#open.push(server);
    return port;
  }

  /** Stops accepting; connections close when they become idle. Resolves when all are closed. */
  async stop(): Promise<void> {
    await Promise.all(this.#open.map((server) => new Promise<void>((resolve) => server.close(() => resolve()))));
  }

  /** Closes the connections that carry no request now. */
  closeIdle(): void {
    for (const server of this.#open) server.closeIdleConnections();
  }

  /** Cuts every connection. */
  cut(): void {
    for (const server of this.#open) server.closeAllConnections();
  }
}

function answerParserErrors(server: Server): void {
  const answering = new WeakMap<Duplex, ServerResponse>();
  server.on('request', (req: IncomingMessage, res: ServerResponse) => answering.set(req.socket, res));
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const res = answering.get(socket);
    const begun = res !== undefined && res.headersSent && !res.writableFinished;
    if (begun || !socket.writable || error.code === 'ECONNRESET') socket.destroy();
    else answerUnreadable(error, socket);
  });
}
