/** Finds the end of HTTP/1.1 answers in what a socket delivers, and nothing else: a load client must cost less than the server it loads. */
export class AnswerReader {
  /** of the answer that was read last */
  status = 0;
  /** its head and, up to a few KB, its body: for saying what was wrong */
  shown = '';
  /** bytes of the body still to come; in a chunked one, of the chunk with the line end after it */
  #left = 0;
  /** the last chunk of a chunked body was seen; undefined: it is not chunked */
  #lastChunk: boolean | undefined;
  /** a head or a line that is not whole yet */
  #text = '';
  #inHead = true;

  /**
   * @returns whether the answer is whole now
   * @throws Error for what is no answer, and for bytes after one: a request was sent for each
   */
  read(bytes: Buffer): boolean {
    let at = this.#inHead ? this.#head(bytes) : 0;
    while (!this.#inHead && at < bytes.length) at = this.#body(bytes, at);
    const whole = !this.#inHead && this.#left === 0 && this.#lastChunk !== false;
    if (whole) this.#inHead = true;
    return whole;
  }

  #head(bytes: Buffer): number {
    const before = this.#text.length;
    const text = this.#text + bytes.toString('latin1');
    const end = text.indexOf('\r\n\r\n');
    if (end === -1) {
      this.#text = text;
      return bytes.length;
    }
    const head = text.slice(0, end + 2);
    this.#text = '';
    this.shown = text.slice(0, end + KEPT_BODY);
    this.status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1] ?? fail('no HTTP/1.1 answer', text));
    const length = /\r\ncontent-length: *(\d+)\r\n/i.exec(head)?.[1];
    const chunked = /\r\ntransfer-encoding: *chunked\r\n/i.test(head);
    if (length === undefined && !chunked) fail('an answer without a length', text);
    this.#left = Number(length ?? 0);
    this.#lastChunk = chunked ? false : undefined;
    this.#inHead = false;
    return end + '\r\n\r\n'.length - before;
  }

  #body(bytes: Buffer, at: number): number {
    if (this.#left > 0) {
      const taken = Math.min(this.#left, bytes.length - at);
      this.#left -= taken;
      return at + taken;
    }
    if (this.#lastChunk !== false) fail('bytes after the end of an answer', bytes.toString('latin1', at));
    return this.#chunk(bytes, at);
  }

  #chunk(bytes: Buffer, at: number): number {
    const end = bytes.indexOf('\n', at);
    if (end === -1) {
      this.#text += bytes.toString('latin1', at);
      return bytes.length;
    }
    const line = this.#text + bytes.toString('latin1', at, end + 1);
    this.#text = '';
    const size = /^([0-9a-f]+)\r\n$/i.exec(line)?.[1] ?? fail('no size of a chunk', line);
    this.#left = Number.parseInt(size, 16) + '\r\n'.length;
    this.#lastChunk = Number.parseInt(size, 16) === 0;
    return end + 1;
  }
}

const KEPT_BODY = 2000;

function fail(what: string, text: string): never {
  throw new Error(`${what}: ${JSON.stringify(text.slice(0, KEPT_BODY))}`);
}
