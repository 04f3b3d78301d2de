import { expect, test } from 'vitest';
import { languagesIn } from './ability.ts';
import { commandLine, runCommand } from './commands.ts';
import { placeOf } from './files.ts';
import type { Program, Runtime } from './runtime.ts';
import { exitCodeOf } from './sandboxd.ts';

test('a command is one argument of a shell, however it looks, and its time is kept inside', () => {
  const line = commandLine("echo 'a b' && $(x)", 1_500, true);
  expect(line.slice(-4)).toEqual(['2', 'bash', '-c', "echo 'a b' && $(x)"]);
  expect(commandLine('x', 1_000, false)[0]).toBe('timeout');
});

test('both ways to say that a signal ended a program are understood', () => {
  expect([-1, 143, 0, 7, 256 + 3].map(exitCodeOf)).toEqual([137, 143, 0, 7, 3]);
});

test.each([
  ['a', '/workspace/a', true],
  ['/workspace', '/workspace', true],
  ['../etc/passwd', '/etc/passwd', false],
  ['/workspace/../workspace-evil/x', '/workspace-evil/x', false],
  ['a/%2e%2e/b', '/workspace/a/%2e%2e/b', true],
])('%s is %s', (path, place, inWorkspace) => {
  expect(placeOf(path)).toEqual({ path: place, inWorkspace });
});

test('versions are taken from what programs say, and nothing else is', () => {
  expect(languagesIn('Python 3.13.5\nNode v26.12.1\nbash 5.2.37(1)-release\n')).toEqual([
    { name: 'python', version: '3.13.5' },
    { name: 'javascript', version: '26.12.1' },
    { name: 'typescript', version: '26.12.1' },
    { name: 'bash', version: '5.2.37' },
  ]);
  expect(languagesIn('bash: python3: command not found\nNode \nbash 5.2\n')).toEqual([{ name: 'bash', version: '5.2' }]);
});

test.each([1, 3, 7, 10, 64])(
  'of long output in pieces of %i bytes the beginning and the end are kept, and the rest is counted',
  async (size) => {
    const printed = Buffer.from(Array.from({ length: 64 }, (_, index) => 33 + index));
    const seen: Uint8Array[] = [];
    const runtime = {
      run: async ({ onOutput }: Program) => {
        for (let at = 0; at < printed.length; at += size) onOutput('stdout', printed.subarray(at, at + size));
        return 0;
      },
    } as Runtime;
    const command = { command: 'x', timeoutMs: 1000, signal: new AbortController().signal };
    const onOutput = (_: string, chunk: Uint8Array): void => void seen.push(chunk);
    const result = await runCommand(runtime, { ...command, onOutput }, { outputBytes: 21, ownTree: true });
    expect(Buffer.from(result.stdout).toString()).toBe(`${printed.subarray(0, 11).toString()}${printed.subarray(-10).toString()}`);
    expect(result.dropped).toEqual({ stdout: 64 - 21, stderr: 0 });
    expect(Buffer.concat(seen)).toEqual(printed.subarray(0, 11));
  },
);

test('output that fits is kept as it is', async () => {
  const runtime = {
    run: async ({ onOutput }: Program) => {
      for (const each of ['one ', 'two ', 'three']) onOutput('stderr', Buffer.from(each));
      return 0;
    },
  } as Runtime;
  const command = { command: 'x', timeoutMs: 1000, signal: new AbortController().signal };
  const result = await runCommand(runtime, command, { outputBytes: 13, ownTree: true });
  expect([Buffer.from(result.stderr).toString(), result.dropped]).toEqual(['one two three', { stdout: 0, stderr: 0 }]);
});
