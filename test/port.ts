import { createServer } from 'node:net';

/** The kernel gives ports from 32768 on to connections, which then stand in the way of a program that starts again. */
const PORTS = { from: 18_000, many: 12_000 };

/** A port that is free now, and that nobody else is given by chance while its program is away for a moment. */
export async function quietPort(): Promise<number> {
  for (;;) {
    const port = PORTS.from + Math.floor(Math.random() * PORTS.many);
    if (await canListen(port)) return port;
  }
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
