import { PassThrough } from 'node:stream';
import * as fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import { openTerminal, safe, table, wrap, type Terminal } from './terminal.ts';

/** What a command prints where standard output, standard error or both are a terminal of 20 columns. */
function printed(
  tty: { stdout?: true; stderr?: true; columns?: number },
  print: (terminal: Terminal) => void,
): { stdout: string; stderr: string } {
  const streams = { stdout: stream(tty.stdout, tty.columns), stderr: stream(tty.stderr, tty.columns) };
  print(openTerminal({ json: false }, streams));
  return { stdout: read(streams.stdout), stderr: read(streams.stderr) };
}

function stream(isTTY: true | undefined, columns = 20): NodeJS.WriteStream & PassThrough {
  const through = new PassThrough();
  const terminal = { columns, rows: 10, getColorDepth: () => 4, hasColors: () => true };
  return Object.assign(through, isTTY === undefined ? {} : { isTTY, ...terminal }) as NodeJS.WriteStream & PassThrough;
}

function read(from: NodeJS.WriteStream): string {
  return String((from as unknown as PassThrough).read() ?? '');
}

afterEach(() => void vi.unstubAllEnvs());

const words = '  nothing listens at its address';

test('words are broken for a terminal, and go on two blanks further in; in a pipe they stay in one line', () => {
  expect(printed({ stdout: true }, (terminal) => terminal.prose(words)).stdout).toBe('  nothing listens at\n    its address\n');
  expect(printed({ stdout: true }, (terminal) => terminal.prose(words, 6)).stdout).toBe('  nothing listens at\n      its address\n');
  expect(printed({}, (terminal) => terminal.prose(words)).stdout).toBe(`${words}\n`);
  expect(printed({ stdout: true, columns: 0 }, (terminal) => terminal.prose(words)).stdout).toBe(`${words}\n`);
  expect(printed({ stderr: true }, (terminal) => terminal.note(`a\n${words}`)).stderr).toBe('a\n  nothing listens at\n    its address\n');
});

test('a line that goes into a shell or a file is left in one piece', () => {
  expect(printed({ stdout: true }, (terminal) => terminal.line(words)).stdout).toBe(`${words}\n`);
});

test('each stream has colours only when it is a terminal itself', () => {
  for (const name of ['FORCE_COLOR', 'NO_COLOR']) vi.stubEnv(name, undefined);
  const print = (terminal: Terminal): void => {
    terminal.line(terminal.paint.good('x'));
    terminal.note(terminal.paintNote.bad('y'));
  };
  expect(printed({ stdout: true }, print)).toEqual({ stdout: '\u001b[32mx\u001b[39m\n', stderr: 'y\n' });
  expect(printed({ stderr: true }, print)).toEqual({ stdout: 'x\n', stderr: '\u001b[31my\u001b[39m\n' });
});

test('text of others cannot move the cursor, repaint or add lines', () => {
  expect(safe('\u001b[2J\u001b[31mred\u001b[0m\nnext\rover\u0007')).toBe('red next over ');
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(safe(text)).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
      expect(safe(text, { lines: true })).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
    }),
  );
});

test('lines and tabs of a result stay where they are wanted', () => {
  expect(safe('a\n\tb\u001b]0;title\u0007', { lines: true })).toBe('a\n\tb');
});

test('columns are aligned whatever their colour, and no line ends in blanks', () => {
  expect(
    table([
      ['\u001b[32mab\u001b[39m', 'x'],
      ['abcd', 'y'],
      ['e', ''],
    ]),
  ).toEqual(['\u001b[32mab\u001b[39m    x', 'abcd  y', 'e']);
});

test('a long line is broken between words and goes on indented; nothing is lost and nothing is too wide', () => {
  expect(wrap('14:00:00  name  some words that go on', 20, 4)).toEqual(['14:00:00  name  some', '    words that go on']);
  expect(wrap('aaaaaaaaaa bb', 5, 2)).toEqual(['aaaaaaaaaa', '  bb']);
  const words = fc.array(fc.stringMatching(/^[a-z]{1,12}$/), { minLength: 1 });
  fc.assert(
    fc.property(words, fc.integer({ min: 20, max: 60 }), fc.nat(7), (given, columns, hang) => {
      const lines = wrap(given.join(' '), columns, hang);
      expect(lines.flatMap((line) => line.trim().split(' '))).toEqual(given);
      for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns);
    }),
  );
});
