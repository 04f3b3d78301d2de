import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { commandIn, quoted } from './shell.ts';

const directory = mkdtempSync(join(tmpdir(), "toyd shell'"));
afterAll(() => rmSync(directory, { recursive: true }));

const shell = (line: string) => spawnSync('sh', ['-c', line], { encoding: 'utf8', cwd: '/' });

test('a quoted word is one word of the same characters', () => {
  const word = fc.string({ unit: 'grapheme', maxLength: 30 }).filter((text) => !text.includes('\0') && text.isWellFormed());
  fc.assert(
    fc.property(word, (text) => {
      expect(shell(`printf '[%s]' ${quoted(text)}`).stdout).toBe(`[${text}]`);
    }),
    { numRuns: 50 },
  );
});

test('a command runs where, with what and on what it was told', () => {
  const stdin = join(directory, 'in');
  writeFileSync(stdin, 'line 1\nline 2\n');
  const line = commandIn('pwd; echo "$GREETING|$OTHER"; cat; ls', { cwd: directory, env: { GREETING: "it's $HOME", OTHER: '' }, stdin });
  expect(shell(line)).toMatchObject({ status: 0, stdout: `${directory}\nit's $HOME|\nline 1\nline 2\n` });
});

test('a command does not run where it cannot', () => {
  const { status, stdout, stderr } = shell(commandIn('echo ran', { cwd: '/nowhere' }));
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(stderr).toContain('/nowhere');
});

test('a NUL character is refused, wherever it is', () => {
  for (const [command, around] of [
    ['a\0b', {}],
    ['a', { cwd: 'b\0' }],
    ['a', { env: { A: '\0' } }],
  ] as const) {
    expect(() => commandIn(command, around)).toThrow('NUL');
  }
});
