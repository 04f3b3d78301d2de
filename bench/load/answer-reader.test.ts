import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { AnswerReader } from './answer-reader.ts';

const plain = (body: string) => `HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
const chunked = (...chunks: string[]) =>
  `HTTP/1.1 404 Not Found\r\ntransfer-encoding: chunked\r\n\r\n${[...chunks, ''].map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('')}`;

const ascii = fc.string({ unit: 'binary-ascii', maxLength: 40 });
const answers = fc.oneof(
  ascii.map(plain),
  fc.array(fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 40 })).map((chunks) => chunked(...chunks)),
);

/** Cuts a text at these places, which may lie anywhere. */
function cut(text: string, places: readonly number[]): Buffer[] {
  const ends = [...new Set(places.map((place) => place % text.length)), text.length].toSorted((a, b) => a - b);
  return ends.map((end, index) => Buffer.from(text.slice(ends[index - 1] ?? 0, end))).filter(({ length }) => length > 0);
}

test('an answer is whole with its last byte and not before, however it is cut', () => {
  fc.assert(
    fc.property(fc.array(answers, { minLength: 1, maxLength: 4 }), fc.array(fc.nat(), { maxLength: 8 }), (several, places) => {
      const reader = new AnswerReader();
      for (const answer of several) {
        const pieces = cut(answer, places);
        expect(pieces.map((piece) => reader.read(piece))).toEqual(pieces.map((_, index) => index === pieces.length - 1));
        expect(reader.status).toBe(Number(answer.slice(9, 12)));
      }
    }),
  );
});

test.each([
  ['no HTTP/1.1 answer', 'SSH-2.0-x\r\n\r\n'],
  ['without a length', 'HTTP/1.1 200 OK\r\n\r\n'],
  ['bytes after the end', `${plain('a')}b`],
  ['bytes after the end', `${chunked('a')}b`],
  ['no size of a chunk', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n'],
])('%s is an error', (what, bytes) => {
  expect(() => new AnswerReader().read(Buffer.from(bytes))).toThrow(what);
});
