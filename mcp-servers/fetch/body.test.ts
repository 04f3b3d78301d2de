import { Readable } from 'node:stream';
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { problemOf } from './http.ts';
import { readBody, RATIO_FLOOR, type Body, type BodyLimits } from './body.ts';

const MIB = 1024 * 1024;
const limits: BodyLimits = { wireBytes: 5 * MIB, decodedBytes: 10 * MIB, ratio: 100 };

const brotli = (bytes: Buffer) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } });

const encoders = {
  '': (bytes: Buffer) => bytes,
  identity: (bytes: Buffer) => bytes,
  gzip: (bytes: Buffer) => gzipSync(bytes),
  'X-GZIP': (bytes: Buffer) => gzipSync(bytes),
  deflate: (bytes: Buffer) => deflateSync(bytes),
  ' deflate ': (bytes: Buffer) => deflateRawSync(bytes),
  br: brotli,
  zstd: (bytes: Buffer) => zstdCompressSync(bytes),
  'gzip, br': (bytes: Buffer) => brotli(gzipSync(bytes)),
  'deflate,zstd': (bytes: Buffer) => zstdCompressSync(deflateRawSync(bytes)),
};
const bombs = ['gzip', 'deflate', 'br', 'zstd', 'gzip, br'] as const;

/** A stream that counts how much of it was taken. */
function streamOf(bytes: Buffer, chunk = 16 * 1024): Readable & { taken: number } {
  const stream = Object.assign(
    new Readable({
      read() {
        const next = bytes.subarray(stream.taken, stream.taken + chunk);
        stream.taken += next.length;
        this.push(next.length === 0 ? null : next);
      },
    }),
    { taken: 0 },
  );
  return stream;
}

async function read(bytes: Buffer, encoding: string, some: Partial<BodyLimits> = {}): Promise<Body> {
  return readBody(streamOf(bytes), encoding, { ...limits, ...some });
}

describe('every encoding gives the bytes back', () => {
  test.each(Object.entries(encoders))('"%s"', async (encoding, encode) => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 4_000 }), fc.integer({ min: 1, max: 500 }), async (bytes, chunk) => {
        const encoded = encode(Buffer.from(bytes));
        const body = await readBody(streamOf(encoded, chunk), encoding, limits);
        expect(body).toEqual({ bytes: Buffer.from(bytes), wireBytes: encoded.length });
      }),
      { numRuns: 25 },
    );
  });

  test.each(bombs)('an empty body announced as %s is empty', async (encoding) => {
    expect((await read(Buffer.alloc(0), encoding)).bytes).toHaveLength(0);
  });
});

describe('a bomb stops at a limit, with little of it decoded', () => {
  const bomb = Buffer.alloc(24 * MIB, 'a');

  test.each(bombs)('%s, by ratio', async (encoding) => {
    const encoded = encoders[encoding](bomb);
    const body = await read(encoded, encoding);
    expect(body.cut).toBe('ratio');
    expect(body.bytes.length).toBeLessThan(Math.max(RATIO_FLOOR, limits.ratio * body.wireBytes) + 128 * 1024);
  });

  test.each(bombs)('%s, by size', async (encoding) => {
    const body = await read(encoders[encoding](bomb), encoding, { ratio: Infinity });
    expect(body.cut).toBe('decoded');
    expect(body.bytes).toHaveLength(limits.decodedBytes);
  });
});

test('a body that never ends is read up to the limit, and let go', async () => {
  const endless = new Readable({ read: () => void endless.push(Buffer.alloc(16 * 1024, 'x')) });
  const body = await readBody(endless, '', limits);
  expect(body).toMatchObject({ cut: 'wire', wireBytes: limits.wireBytes });
  expect(endless.destroyed).toBe(true);
});

test('a body of exactly the limit is whole', async () => {
  const body = await read(Buffer.alloc(1000, 'x'), '', { wireBytes: 1000, decodedBytes: 1000 });
  expect(body).toEqual({ bytes: Buffer.alloc(1000, 'x'), wireBytes: 1000 });
});

test('a repetitive page of ordinary size is no bomb', async () => {
  const page = Buffer.alloc(RATIO_FLOOR, 'a');
  expect((await read(gzipSync(page), 'gzip')).bytes).toHaveLength(RATIO_FLOOR);
});

describe('a bomb between two encodings stops as well, though nothing of it comes out', () => {
  const header = Buffer.from([0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3]);
  test.each([
    ['a gzip stream whose file name never ends', Buffer.concat([header, Buffer.alloc(40 * MIB, 'n')])],
    ['one of empty blocks', Buffer.concat([Buffer.from(header).fill(0, 3, 4), Buffer.alloc(40 * MIB, Buffer.from([0, 0, 0, 0xff, 0xff]))])],
  ])('%s', async (_name, inner) => {
    const stream = streamOf(zstdCompressSync(inner), 256);
    const body = await readBody(stream, 'gzip, zstd', limits);
    expect(body).toMatchObject({ cut: 'decoded', bytes: Buffer.alloc(0) });
    expect(stream.destroyed).toBe(true);
  });
});

describe('memory', () => {
  test('is asked for before it is taken, for just what is kept', async () => {
    let total = 0;
    const reserve = (bytes: number): void => void (total += bytes);
    const body = await readBody(streamOf(Buffer.alloc(4 * MIB, 'x')), '', { ...limits, decodedBytes: 3 * MIB }, { reserve });
    expect(body).toMatchObject({ cut: 'decoded' });
    expect(total).toBe(3 * MIB);
  });

  test('that is not to be had ends the reading', async () => {
    const stream = streamOf(Buffer.alloc(MIB, 'x'));
    let left = 100_000;
    const reserve = (bytes: number): void => {
      left -= bytes;
      if (left < 0) throw new Error('no more');
    };
    await expect(readBody(stream, '', limits, { reserve })).rejects.toThrow('no more');
    expect(stream.destroyed).toBe(true);
  });

  test('is not held by the packets that small pieces came in', async () => {
    const packet = Buffer.alloc(64 * 1024, 'x');
    const { bytes } = await readBody(Readable.from([packet.subarray(0, 1), packet.subarray(9, 10)], { objectMode: false }), '', limits);
    expect(bytes.toString()).toBe('xx');
    expect(bytes.buffer).not.toBe(packet.buffer);
  });
});

test('a page that comes byte by byte is cut before it takes long', async () => {
  const piece = Buffer.from('x');
  const endless = new Readable({ read: () => void endless.push(piece), highWaterMark: 1 });
  const body = await readBody(endless, '', limits);
  expect(body.cut).toBe('wire');
  expect(body.wireBytes).toBeLessThan(MIB);
});

test('content that is declined is not read on', async () => {
  const stream = streamOf(Buffer.alloc(4 * MIB, 'x'));
  const body = await readBody(stream, '', limits, { accepts: (head) => head[0] !== 0x78 });
  expect(body.cut).toBe('kind');
  expect(stream.taken).toBeLessThan(256 * 1024);
});

test.each(bombs)('what arrived of a %s body that ends too early is kept', async (encoding) => {
  const text = Array.from({ length: 20_000 }, (_, line) => `line ${line * 7919}`).join('\n');
  const encoded = encoders[encoding](Buffer.from(text));
  const { bytes } = await read(encoded.subarray(0, encoded.length >> 1), encoding);
  expect(bytes.length).toBeGreaterThan(1_000);
  expect(text.startsWith(bytes.toString())).toBe(true);
});

describe('a broken body is an error', () => {
  test.each(['gzip', 'br', 'zstd', 'deflate'])('%s that is none', async (encoding) => {
    const failure = await read(Buffer.from('this is plain text, not what it says'), encoding).catch(problemOf);
    expect(failure).toMatchObject({ kind: 'DecodingError' });
  });

  test('an unknown encoding, and too many of them', async () => {
    await expect(read(Buffer.from('x'), 'compress')).rejects.toThrow("DecodingError('unknown content encoding compress')");
    await expect(read(Buffer.from('x'), 'gzip, gzip, gzip')).rejects.toThrow("DecodingError('more than 2 content encodings: 3')");
    await expect(read(Buffer.from('x'), 'constructor')).rejects.toThrow('unknown content encoding');
  });

  test('and its stream is let go', async () => {
    const stream = streamOf(Buffer.from('x'));
    await expect(readBody(stream, 'compress', limits)).rejects.toThrow('DecodingError');
    expect(stream.destroyed).toBe(true);
  });

  test.each([...bombs, ''])('"%s" whose stream breaks', async (encoding) => {
    const stream = new Readable({ read: () => {} });
    setImmediate(() => stream.destroy(new Error('connection lost')));
    await expect(readBody(stream, encoding, limits)).rejects.toThrow('connection lost');
  });
});
