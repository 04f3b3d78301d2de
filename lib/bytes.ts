/** Bytes that come in pieces, in one buffer that grows: who sends them one by one takes up no more room than what was sent, not 400 times as much. */
export class Bytes {
  #room = Buffer.alloc(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** What came so far; valid until more is added. */
  get all(): Buffer {
    return this.#room.subarray(0, this.#length);
  }

  add(piece: Uint8Array): void {
    const end = this.#length + piece.length;
    if (end > this.#room.length) this.#room = Buffer.concat([this.all], Math.max(end, 2 * this.#room.length));
    this.#room.set(piece, this.#length);
    this.#length = end;
  }
}

/** All of a body; undefined when it has more than so many bytes: then the rest is not read, and its connection closed. */
export async function gather(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Buffer | undefined> {
  const read = new Bytes();
  for await (const piece of body) {
    if (read.length + piece.length > maxBytes) return undefined;
    read.add(piece);
  }
  return read.all;
}
