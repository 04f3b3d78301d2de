import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { Bodies } from './body.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const PIECES = 200_000;

/** What this process holds, garbage left out. */
function heldBytes(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

test('a body that comes byte by byte takes up no more room than another', async () => {
  const bodies = new Bodies(4 * 1024 * 1024);
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const requested = once(server, 'request') as Promise<[IncomingMessage, ServerResponse]>;
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.write('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
  const [request, response] = await requested;
  const body = bodies.read(request, response);
  let arrived = 0;
  request.on('data', (piece: Buffer) => (arrived += piece.length));

  const before = heldBytes();
  client.write('1\r\nx\r\n'.repeat(PIECES));
  await expect.poll(() => arrived, { timeout: 10_000 }).toBe(PIECES);
  expect(heldBytes() - before).toBeLessThan(50 * PIECES);

  client.write('0\r\n\r\n');
  expect(await body).toEqual({ taken: true, bytes: Buffer.alloc(PIECES, 'x') });
  client.destroy();
  server.close();
});
