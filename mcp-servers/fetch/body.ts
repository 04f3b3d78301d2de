import { pipeline, Readable, type Transform } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip, createInflate, createInflateRaw, createZstdDecompress } from 'node:zlib';
import { RequestProblem } from './http.ts';

export interface BodyLimits {
  /** bytes as received */
  readonly wireBytes: number;
  /** bytes after decompression */
  readonly decodedBytes: number;
  /** decoded bytes per received byte, judged from `RATIO_FLOOR` on */
  readonly ratio: number;
}

export interface Body {
  readonly bytes: Buffer;
  readonly wireBytes: number;
  /** the limit at which reading stopped; what had arrived is in `bytes` */
  readonly cut?: 'wire' | 'decoded' | 'ratio' | 'kind';
}

/** Small pages compress well, and hurt nobody: the ratio counts from here on, bytes. */
export const RATIO_FLOOR = 1024 * 1024;
/** Bytes that a verdict about the kind of content is based on (WHATWG MIME Sniffing, resource header). */
export const HEAD_BYTES = 1_445;
const MAX_ENCODINGS = 2;

/** Bodies that end too early are common, and what arrived is good. */
const gzipOptions = { finishFlush: constants.Z_SYNC_FLUSH };
const brotliOptions = { finishFlush: constants.BROTLI_OPERATION_FLUSH };
/** 8 MiB, the window that RFC 9659 allows; by default a decoder would allocate up to 128 MiB for each stream. */
const zstdOptions = { finishFlush: constants.ZSTD_e_flush, params: { [constants.ZSTD_d_windowLogMax]: 23 } };

type Bytes = AsyncIterable<Buffer>;

const decoders: ReadonlyMap<string, (source: Bytes) => Bytes> = new Map([
  ['gzip', (source: Bytes) => through(source, createGunzip(gzipOptions))],
  ['x-gzip', (source: Bytes) => through(source, createGunzip(gzipOptions))],
  ['deflate', inflate],
  ['br', (source: Bytes) => through(source, createBrotliDecompress(brotliOptions))],
  ['zstd', (source: Bytes) => through(source, createZstdDecompress(zstdOptions))],
]);

/**
 * Reads a body within its limits, decompressing as it comes: at a limit reading stops, and the rest of the body is never asked for.
 * `accepts` sees the first HEAD_BYTES decoded bytes, of a body that has more, and may decline the rest.
 * @throws RequestProblem for an encoding that is unknown or nested too deep; the stream's own error when it breaks
 */
export async function readBody(
  body: Readable,
  contentEncoding: string,
  limits: BodyLimits,
  accepts: (head: Buffer) => boolean = () => true,
): Promise<Body> {
  const wire = { bytes: 0, cut: false };
  const reading = new Reading(limits, accepts);
  try {
    for await (const chunk of decoded(metered(body, limits.wireBytes, wire), contentEncoding)) {
      if (!reading.take(chunk, wire.bytes)) break;
    }
    return reading.result(wire);
  } finally {
    body.destroy();
  }
}

/** Collects what is decoded until a limit is reached. */
class Reading {
  readonly #limits: BodyLimits;
  readonly #accepts: (head: Buffer) => boolean;
  readonly #chunks: Buffer[] = [];
  #length = 0;
  #judged = false;
  #cut: Body['cut'];

  constructor(limits: BodyLimits, accepts: (head: Buffer) => boolean) {
    this.#limits = limits;
    this.#accepts = accepts;
  }

  /** Whether to go on. */
  take(chunk: Buffer, wireBytes: number): boolean {
    const { decodedBytes, ratio } = this.#limits;
    const room = decodedBytes - this.#length;
    this.#chunks.push(chunk.length > room ? chunk.subarray(0, room) : chunk);
    this.#length += Math.min(chunk.length, room);
    if (chunk.length > room) this.#cut = 'decoded';
    else if (this.#length > RATIO_FLOOR && this.#length > ratio * wireBytes) this.#cut = 'ratio';
    if (!this.#judged && this.#length >= HEAD_BYTES) {
      this.#judged = true;
      if (!this.#accepts(Buffer.concat(this.#chunks).subarray(0, HEAD_BYTES))) this.#cut = 'kind';
    }
    return this.#cut === undefined;
  }

  result(wire: { readonly bytes: number; readonly cut: boolean }): Body {
    const cut = this.#cut ?? (wire.cut ? 'wire' : undefined);
    return { bytes: Buffer.concat(this.#chunks), wireBytes: wire.bytes, ...(cut === undefined ? {} : { cut }) };
  }
}

async function* metered(body: Readable, limit: number, wire: { bytes: number; cut: boolean }): AsyncGenerator<Buffer> {
  for await (const chunk of body as Bytes) {
    const room = limit - wire.bytes;
    wire.bytes += Math.min(chunk.length, room);
    wire.cut = chunk.length > room;
    yield wire.cut ? chunk.subarray(0, room) : chunk;
    if (wire.cut) return;
  }
}

function decoded(source: Bytes, contentEncoding: string): Bytes {
  const names = contentEncoding
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '' && name !== 'identity');
  if (names.length > MAX_ENCODINGS)
    throw new RequestProblem('DecodingError', `more than ${MAX_ENCODINGS} content encodings: ${names.length}`);
  return names.reduceRight((inner, name) => {
    const decode = decoders.get(name);
    if (decode === undefined) throw new RequestProblem('DecodingError', `unknown content encoding ${name.slice(0, 40)}`);
    return decode(inner);
  }, source);
}

/** Whoever stops reading the result ends the source too; whatever breaks the source breaks the result. */
function through(source: Bytes, decoder: Transform): Bytes {
  return pipeline(Readable.from(source, { objectMode: false }), decoder, () => {}) as Bytes;
}

/** `deflate` means zlib's format (RFC 9110 section 8.4.1.2), and from some servers the bare one. */
async function* inflate(source: Bytes): AsyncGenerator<Buffer> {
  const rest = source[Symbol.asyncIterator]();
  const first = await rest.next();
  if (first.done === true) return;
  const whole = async function* (): AsyncGenerator<Buffer> {
    yield first.value;
    yield* { [Symbol.asyncIterator]: () => rest };
  };
  yield* through(whole(), hasZlibHeader(first.value) ? createInflate(gzipOptions) : createInflateRaw(gzipOptions));
}

/** RFC 1950 section 2.2: method 8, and a check that makes the first two bytes a multiple of 31. */
function hasZlibHeader(head: Buffer): boolean {
  if (head.length < 2) return (head[0] ?? 0) % 16 === 8;
  return (head[0] ?? 0) % 16 === 8 && head.readUInt16BE(0) % 31 === 0;
}
