import { pipeline, Readable, type Transform } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip, createInflate, createInflateRaw, createZstdDecompress } from 'node:zlib';
import { Bytes } from '../../lib/bytes.ts';
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
/** A server may send its page byte by byte; each piece costs a microsecond of the thread that everybody shares. */
const MAX_PIECES = 64 * 1024;

/** Bodies that end too early are common, and what arrived is good. */
const gzipOptions = { finishFlush: constants.Z_SYNC_FLUSH };
const brotliOptions = { finishFlush: constants.BROTLI_OPERATION_FLUSH };
/** 8 MiB, the window that RFC 9659 allows; by default a decoder would allocate up to 128 MiB for each stream. */
const zstdOptions = { finishFlush: constants.ZSTD_e_flush, params: { [constants.ZSTD_d_windowLogMax]: 23 } };

type Chunks = AsyncIterable<Buffer>;

const decoders: ReadonlyMap<string, (source: Chunks) => Chunks> = new Map([
  ['gzip', (source: Chunks) => through(source, createGunzip(gzipOptions))],
  ['x-gzip', (source: Chunks) => through(source, createGunzip(gzipOptions))],
  ['deflate', inflate],
  ['br', (source: Chunks) => through(source, createBrotliDecompress(brotliOptions))],
  ['zstd', (source: Chunks) => through(source, createZstdDecompress(zstdOptions))],
]);

export interface ReadOptions {
  /** sees the first HEAD_BYTES decoded bytes, of a body that has more, and may decline the rest */
  readonly accepts?: (head: Buffer) => boolean;
  /** told of so many further bytes before they are kept; may throw instead */
  readonly reserve?: (bytes: number) => void;
  /** told how many bytes have been received, as they are decoded */
  readonly received?: (wireBytes: number) => void;
}

/**
 * Reads a body within its limits, decompressing as it comes: at a limit reading stops, and the rest of the body is never asked for.
 * @throws RequestProblem for an encoding that is unknown or nested too deep; the stream's own error when it breaks; what `reserve` throws
 */
export async function readBody(body: Readable, contentEncoding: string, limits: BodyLimits, options: ReadOptions = {}): Promise<Body> {
  const wire: Meter = { limit: limits.wireBytes, bytes: 0, pieces: 0, cut: false };
  // what one decoder hands to the next may be a bomb that the next makes nothing of
  const between: Meter = { limit: limits.decodedBytes, bytes: 0, pieces: 0, cut: false };
  const reading = new Reading(limits, options);
  try {
    for await (const chunk of decoded(metered(body, wire), contentEncoding, between)) {
      options.received?.(wire.bytes);
      if (!reading.take(chunk, wire.bytes)) break;
    }
    const cut = reading.cut ?? (between.cut ? 'decoded' : wire.cut ? 'wire' : undefined);
    return { bytes: reading.bytes, wireBytes: wire.bytes, ...(cut === undefined ? {} : { cut }) };
  } finally {
    body.destroy();
  }
}

/** Collects what is decoded until a limit is reached. */
class Reading {
  cut: Body['cut'];
  readonly #limits: BodyLimits;
  readonly #options: ReadOptions;
  readonly #bytes = new Bytes();
  #judged = false;

  constructor(limits: BodyLimits, options: ReadOptions) {
    this.#limits = limits;
    this.#options = options;
  }

  get bytes(): Buffer {
    return this.#bytes.all;
  }

  /** Whether to go on. */
  take(chunk: Buffer, wireBytes: number): boolean {
    const { decodedBytes, ratio } = this.#limits;
    const kept = chunk.subarray(0, decodedBytes - this.#bytes.length);
    this.#options.reserve?.(kept.length);
    this.#bytes.add(kept);
    const { length } = this.#bytes;
    if (kept.length < chunk.length) this.cut = 'decoded';
    else if (length > RATIO_FLOOR && length > ratio * wireBytes) this.cut = 'ratio';
    if (!this.#judged && length >= HEAD_BYTES) {
      this.#judged = true;
      if (this.#options.accepts?.(this.bytes.subarray(0, HEAD_BYTES)) === false) this.cut = 'kind';
    }
    return this.cut === undefined;
  }
}

interface Meter {
  readonly limit: number;
  bytes: number;
  pieces: number;
  cut: boolean;
}

async function* metered(source: Chunks, meter: Meter): AsyncGenerator<Buffer> {
  for await (const chunk of source) {
    const kept = chunk.subarray(0, meter.limit - meter.bytes);
    meter.bytes += kept.length;
    meter.pieces += 1;
    meter.cut = kept.length < chunk.length || meter.pieces > MAX_PIECES;
    yield kept;
    if (meter.cut) return;
  }
}

function decoded(source: Chunks, contentEncoding: string, between: Meter): Chunks {
  const names = contentEncoding
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '' && name !== 'identity');
  if (names.length > MAX_ENCODINGS)
    throw new RequestProblem('DecodingError', `more than ${MAX_ENCODINGS} content encodings: ${names.length}`);
  return names.reduceRight((inner, name, index) => {
    const decode = decoders.get(name);
    if (decode === undefined) throw new RequestProblem('DecodingError', `unknown content encoding ${name.slice(0, 40)}`);
    return index === 0 ? decode(inner) : metered(decode(inner), between);
  }, source);
}

/** Whoever stops reading the result ends the source too; whatever breaks the source breaks the result. */
function through(source: Chunks, decoder: Transform): Chunks {
  return pipeline(Readable.from(source, { objectMode: false }), decoder, () => {}) as Chunks;
}

/** `deflate` means zlib's format (RFC 9110 section 8.4.1.2), and from some servers the bare one. */
async function* inflate(source: Chunks): AsyncGenerator<Buffer> {
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
