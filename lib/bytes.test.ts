import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { Bytes, gather } from './bytes.ts';

test('what came in pieces is there as a whole, at any time', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 40 })), (pieces) => {
      const bytes = new Bytes();
      for (const [index, piece] of pieces.entries()) {
        bytes.add(piece);
        const whole = Buffer.concat(pieces.slice(0, index + 1));
        expect([bytes.length, bytes.all]).toEqual([whole.length, whole]);
      }
    }),
  );
});

test('a body is gathered as long as it keeps to its bound; of a longer one no more is asked for', async () => {
  let asked = 0;
  async function* body() {
    for (; asked < 100; asked += 1) yield Buffer.from('abc');
  }
  expect((await gather(body(), 300))?.toString()).toBe('abc'.repeat(100));
  asked = 0;
  expect(await gather(body(), 8)).toBeUndefined();
  expect(asked).toBe(2);
});
