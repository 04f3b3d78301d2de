import { spawnSync } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { SandboxError } from './backend.ts';
import { matchesIn, move, newDirectory, removal, requireDone, search } from './file-commands.ts';

let directory: string;

beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'toyd-files-'))));
afterEach(() => rmSync(directory, { recursive: true }));

/** The code of the failure, or `done`. */
function run(command: string): string {
  const { status, stdout, stderr } = spawnSync('sh', ['-c', command], { cwd: directory, env: { PATH: process.env['PATH'] } });
  try {
    requireDone({ exitCode: status ?? 0, stdout, stderr, dropped: { stdout: 0, stderr: 0 }, timedOut: false }, 'x');
    return 'done';
  } catch (error) {
    return (error as SandboxError).code;
  }
}

const put = (path: string, content = 'x'): void => writeFileSync(join(directory, path), content);
const there = (path: string): boolean => lstatSync(join(directory, path), { throwIfNoEntry: false }) !== undefined;

/** Names that a careless command line would take for something else. */
const names = ['a', 'b c', "it's", '-rf', '$HOME', '*', 'a\nb'];

describe('removal', () => {
  test.each(names)('removes %j and nothing else', (name) => {
    for (const each of names) put(each);
    expect(run(removal(name, false))).toBe('done');
    expect(names.filter(there)).toEqual(names.filter((each) => each !== name));
  });

  test('removes a directory with files in it only when told so, and a link instead of what it leads to', () => {
    mkdirSync(join(directory, 'full'));
    put('full/x');
    symlinkSync('full', join(directory, 'link'));
    expect(run(removal('full', false))).toBe('wrong-kind');
    expect(run(removal('link', true))).toBe('done');
    expect([there('link'), there('full/x')]).toEqual([false, true]);
    expect(run(removal('full', true))).toBe('done');
    expect(run(removal('full', true))).toBe('no-such-file');
  });

  test('removes an empty directory and a link that leads nowhere', () => {
    mkdirSync(join(directory, 'empty'));
    symlinkSync('nowhere', join(directory, 'dangling'));
    expect([run(removal('empty', false)), run(removal('dangling', false))]).toEqual(['done', 'done']);
  });
});

describe('move', () => {
  test.each(names)('moves %j to where directories are made for it', (name) => {
    put(name, 'content');
    expect(run(move(name, `new/place/${name}`, false))).toBe('done');
    expect(readFileSync(join(directory, `new/place/${name}`), 'utf8')).toBe('content');
    expect(there(name)).toBe(false);
  });

  test('replaces what is there only when told so, and puts nothing into a directory of that name', () => {
    put('a', 'a');
    put('b', 'b');
    mkdirSync(join(directory, 'd'));
    expect(run(move('a', 'b', false))).toBe('wrong-kind');
    expect(run(move('a', 'd', true))).toBe('wrong-kind');
    expect(run(move('a', 'b', true))).toBe('done');
    expect(readFileSync(join(directory, 'b'), 'utf8')).toBe('a');
    expect(run(move('nothing', 'c', true))).toBe('no-such-file');
  });
});

test('a directory is made with those above it; over a file it cannot be', () => {
  put('file');
  expect([run(newDirectory('-x/y')), run(newDirectory('-x/y')), run(newDirectory('file'))]).toEqual(['done', 'done', 'wrong-kind']);
  expect(existsSync(join(directory, '-x/y'))).toBe(true);
});

describe('search', () => {
  function matches(wish: Parameters<typeof search>[0]) {
    const { status, stdout } = spawnSync('sh', ['-c', search(wish)], { cwd: directory });
    return { status, matches: matchesIn(stdout).toSorted((a, b) => a.line - b.line) };
  }

  test('finds lines by their pattern, in files by their name', () => {
    put('a.txt', 'one\ntwo: 2\nthree\n');
    put('b:1:c.md', 'two\n');
    put('binary.txt', 'two\0');
    expect(matches({ path: '.', pattern: '^(two|three)' }).matches).toEqual([
      { path: './b:1:c.md', line: 1, text: 'two' },
      { path: './a.txt', line: 2, text: 'two: 2' },
      { path: './a.txt', line: 3, text: 'three' },
    ]);
    expect(matches({ path: '.', pattern: 'two', include: '*.md' }).matches).toHaveLength(1);
    expect(matches({ path: '.', pattern: 'four' })).toEqual({ status: 0, matches: [] });
  });

  test('says what is wrong with a pattern or a path', () => {
    expect(run(search({ path: '.', pattern: '(' }))).toBe('invalid');
    expect(run(search({ path: 'nowhere', pattern: 'a' }))).toBe('no-such-file');
  });
});

test('a place where nothing may be written is denied', () => {
  expect(run('echo "mkdir: cannot create directory: Read-only file system" >&2; exit 1')).toBe('denied');
});
