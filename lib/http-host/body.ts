import type { IncomingMessage, ServerResponse } from 'node:http';
import { Bytes } from '../bytes.ts';

/** How much of a refused body is taken in and thrown away, so that its sender gets to read the refusal. */
const DISCARD_BYTES = 64 * 1024 * 1024;

/** Bodies of full size that one process holds at once. */
const FULL_BODIES = 16;

/** A body in full, or why it was not taken: `too-large` by itself, `too-many` together with those of other requests. */
export type Body = { taken: true; bytes: Buffer } | { taken: false; why: 'too-large' | 'too-many' };

/** Reads request bodies into memory, each and all together within bounds. */
export class Bodies {
  readonly #maxBytes: number;
  #held = 0;

  /** @param maxBytes of one body; all bodies being answered may hold 16 times as much */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Resolves as soon as the body is complete or known to be refused; a refused one is discarded. What is held is given back when `res` closes.
   * @throws Error when the client leaves before the end
   */
  read(req: IncomingMessage, res: ServerResponse): Promise<Body> {
    if (Number(req.headers['content-length']) > this.#maxBytes) {
      discard(req);
      return Promise.resolve({ taken: false, why: 'too-large' });
    }
    return new Promise((resolve, reject) => {
      let body: Bytes | undefined = new Bytes();
      let size = 0;
      const collect = (chunk: Buffer): void => {
        size += chunk.length;
        this.#held += chunk.length;
        const why = this.#refusal(size);
        if (why === undefined) return body?.add(chunk);
        req.off('data', collect);
        body = undefined;
        discard(req);
        resolve({ taken: false, why });
      };
      req.on('data', collect);
      req.once('end', () => body && resolve({ taken: true, bytes: body.all }));
      req.once('error', reject);
      req.once('close', () => reject(new Error('the client left before the end of its request')));
      res.once('close', () => (this.#held -= size));
    });
  }

  #refusal(size: number): 'too-large' | 'too-many' | undefined {
    if (size > this.#maxBytes) return 'too-large';
    return this.#held > FULL_BODIES * this.#maxBytes ? 'too-many' : undefined;
  }
}

function discard(req: IncomingMessage): void {
  let left = DISCARD_BYTES;
  req.on('error', () => {});
  req.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) req.destroy();
  });
}
