import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { answerUnreadable } from './answer.ts';
import type { HttpLimits } from './limits.ts';
import { listen, type Listening } from './listen.ts';

const CHECK_EVERY_MS = 1000;
const TCP_KEEP_ALIVE_MS = 30_000;

/** The listening servers of one host, opened and closed together. */
export class Servers {
  readonly #limits: HttpLimits;
  readonly #open: Server[] = [];

  constructor(limits: HttpLimits) {
    this.#limits = limits;
  }

  /** Resolves with the port listened on. @throws ListenError */
  async open(where: Listening, create: (options: ServerOptions) => Server): Promise<number> {
    const { maxHeaderBytes, headersTimeoutMs, requestTimeoutMs, keepAliveTimeoutMs, maxConnections, stallTimeoutMs } = this.#limits;
    const server = create({
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: headersTimeoutMs,
      requestTimeout: requestTimeoutMs,
      keepAliveTimeout: keepAliveTimeoutMs,
      connectionsCheckingInterval: Math.min(CHECK_EVERY_MS, headersTimeoutMs),
      // finds clients whose machine is gone while they wait for an answer
      keepAlive: true,
      keepAliveInitialDelay: TCP_KEEP_ALIVE_MS,
    });
    server.maxConnections = maxConnections;
    // whoever comes next finds the places of those that only keep their connection
    server.on('drop', () => server.closeIdleConnections());
    server.timeout = stallTimeoutMs;
    watchConnections(server);
    this.#open.push(server);
    return listen(server, where);
  }

  /** Stops accepting; connections close when they become idle. Resolves when all are closed. */
  async stop(): Promise<void> {
    await Promise.all(this.#open.map((server) => new Promise<void>((resolve) => server.close(() => resolve()))));
  }

  /** Cuts every connection. */
  cut(): void {
    for (const server of this.#open) server.closeAllConnections();
  }
}

/** Answers what the parser refuses, and cuts clients that do not read: both depend on what a connection is being answered. */
function watchConnections(server: Server): void {
  const answers = new WeakMap<Duplex, Set<ServerResponse>>();
  const answersTo = (socket: Duplex): ReadonlySet<ServerResponse> => answers.get(socket) ?? new Set();
  server.on('request', ({ socket }: IncomingMessage, res: ServerResponse) => {
    const open = answers.get(socket) ?? new Set();
    answers.set(socket, open.add(res));
    res.once('close', () => open.delete(res));
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const open = [...answersTo(socket)];
    // with an answer begun or several due, the client would take this one for another
    const unambiguous = open.length === 0 || (open.length === 1 && open[0]?.headersSent === false);
    if (unambiguous && socket.writable && error.code !== 'ECONNRESET') answerUnreadable(error, socket);
    else socket.destroy();
  });
  // nothing moved on this connection for a while: fine while its client waits for us; before its first request the headers' time counts
  server.on('timeout', (socket) => {
    const open = answers.get(socket);
    const waiting = open === undefined || (open.size > 0 && socket.writableLength === 0);
    if (!waiting) socket.destroy();
  });
}
