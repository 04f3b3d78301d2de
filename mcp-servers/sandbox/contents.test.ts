import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CommandResult } from './backend.ts';
import { decodeContent, encodeContent, printed } from './contents.ts';

const anyBytes = fc.uint8Array({ maxLength: 300 });

describe('binary content', () => {
  test('goes both ways unchanged', () => {
    fc.assert(
      fc.property(anyBytes, (bytes) => {
        expect(Uint8Array.from(decodeContent(encodeContent(bytes, true, 'x'), true, 1000))).toEqual(bytes);
      }),
    );
  });

  test('is refused unless it is exactly what its bytes encode to', () => {
    const character = fc.constantFrom('=', ' ', '\n', '-', '_', '*', 'A');
    fc.assert(
      fc.property(anyBytes, character, fc.nat(), (bytes, extra, position) => {
        const content = Buffer.from(bytes).toString('base64');
        const at = position % (content.length + 1);
        const changed = content.slice(0, at) + extra + content.slice(at);
        const again = Buffer.from(changed, 'base64').toString('base64');
        fc.pre(again !== changed);
        expect(() => decodeContent(changed, true, 1000)).toThrow('not base64');
      }),
    );
  });

  test.each(['YQ', 'YQ=', 'YR==', 'YQ==\n', 'data:;base64,YQ==', '_-8='])('%j is refused', (content) => {
    expect(() => decodeContent(content, true, 1000)).toThrow(expect.objectContaining({ code: 'invalid' }) as Error);
  });
});

describe('the size of content', () => {
  test.each([
    ['x'.repeat(10), false],
    ['ü'.repeat(5), false],
    [Buffer.alloc(10).toString('base64'), true],
  ])('is judged by its bytes: %j fits ten', (content, binary) => {
    expect(decodeContent(content, binary, 10)).toHaveLength(10);
    expect(() => decodeContent(content, binary, 9)).toThrow(expect.objectContaining({ code: 'too-large' }) as Error);
  });

  test('is refused before anything is made of it', () => {
    expect(() => decodeContent('*'.repeat(1_000_000), true, 10)).toThrow('at least');
  });
});

test('text is given as it is, a byte order mark included; what is no text is refused with the way out', () => {
  expect(encodeContent(Buffer.from('\ufeffgrüß'), false, 'x')).toBe('\ufeffgrüß');
  expect(() => encodeContent(Buffer.from([0xff, 0xfe]), false, 'a.bin')).toThrow(
    'a.bin is not UTF-8 text; call download_file again with binary=true',
  );
});

describe('what a command printed', () => {
  const result = (more: Partial<CommandResult> = {}): CommandResult => ({
    exitCode: 0,
    stdout: Buffer.from('out'),
    stderr: Buffer.from('err'),
    dropped: { stdout: 0, stderr: 0 },
    timedOut: false,
    ...more,
  });

  const around = { timeoutSeconds: 60, outputBytes: 6 };

  test('is given as it was when there is nothing to add', () => {
    expect(printed(result(), around)).toEqual({ stdout: 'out', stderr: 'err' });
  });

  test('is followed, on stderr, by what the server did to it', () => {
    const { stdout, stderr } = printed(result({ timedOut: true, note: 'out of memory' }), around);
    expect(stdout).toBe('out');
    expect(stderr.split('\n')).toEqual([
      'err',
      '[toolyard] timed out after 60 s: the command and everything it started was killed',
      '[toolyard] out of memory',
      '',
    ]);
  });

  test('says where something is left out, between the beginning and the end', () => {
    const { stdout, stderr } = printed(result({ stdout: Buffer.from('begend'), dropped: { stdout: 5, stderr: 0 } }), around);
    expect(stdout).toBe('beg\n[toolyard] 5 bytes are left out here; print less, or write to a file and use download_file\nend');
    expect(stderr).toBe('err');
  });

  test('survives being no text', () => {
    expect(printed(result({ stdout: Buffer.from([0x61, 0xff]) }), around).stdout).toBe('a\ufffd');
  });
});
