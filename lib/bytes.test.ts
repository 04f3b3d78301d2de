import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { Bytes } from './bytes.ts';

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
