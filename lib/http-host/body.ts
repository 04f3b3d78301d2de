import type { IncomingMessage } from 'node:http';

/** How much of a refused body is taken in and thrown away, so that its sender gets to read the refusal. */
const DISCARD_BYTES = 64 * 1024 * 1024;

/**
 * The whole body of a request, or `too-large` as soon as it is known to exceed `maxBytes`; the rest is then discarded.
 * @throws Error when the client leaves before the end
 */
export function readBody(req: IncomingMessage, maxBytes: number): Promise<Buffer | 'too-large'> {
  if (Number(req.headers['content-length']) > maxBytes) {
    discard(req);
    return Promise.resolve('too-large');
  }
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const collect = (chunk: Buffer): void => {
      size += chunk.length;
      if (size <= maxBytes) return void chunks.push(chunk);
      req.off('data', collect);
      discard(req);
      resolve('too-large');
    };
    req.on('data', collect);
    req.once('end', () => resolve(Buffer.concat(chunks)));
    req.once('error', reject);
    req.once('close', () => reject(new Error('the client left before the end of its request')));
  });
}

function discard(req: IncomingMessage): void {
  let left = DISCARD_BYTES;
  req.on('error', () => {});
  req.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) req.destroy();
  });
}
