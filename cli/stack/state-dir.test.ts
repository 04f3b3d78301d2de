import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { exit } from '../exit.ts';
import {
  boundLog,
  hasStaleLock,
  lastLines,
  openLog,
  prepareStateDir,
  rotateLog,
  runningUp,
  stateDir,
  takeLock,
  type StateDir,
} from './state-dir.ts';

let dir: StateDir;
const about = { catalog: '/catalog', registry: 'http://127.0.0.1:8080' };

beforeEach(() => {
  dir = stateDir(join(mkdtempSync(join(tmpdir(), 'toolyard-state-')), 'state'));
  prepareStateDir(dir);
});

afterEach(() => rmSync(join(dir.root, '..'), { recursive: true, force: true }));

test('secrets are made once, are 256 bits, differ, and are readable by their owner alone', () => {
  const first = readFileSync(dir.registrySeed, 'utf8');
  expect(first).toMatch(/^[0-9a-f]{64}\n$/);
  expect(readFileSync(dir.sandboxKey, 'utf8')).not.toBe(first);
  for (const file of [dir.registrySeed, dir.sandboxKey]) expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(statSync(dir.root).mode & 0o777).toBe(0o700);
  prepareStateDir(dir);
  expect(readFileSync(dir.registrySeed, 'utf8')).toBe(first);
});

test('what a killed process had begun to write stands in no way, and goes', () => {
  rmSync(dir.sandboxKey);
  const { pid: gone } = spawnSync(process.execPath, ['--version']);
  const drafts = [`${dir.sandboxKey}.${process.pid}.tmp`, `${dir.registrySeed}.${gone}.tmp`, `${dir.lock}.${gone}.tmp`];
  for (const draft of drafts) writeFileSync(draft, 'half');
  prepareStateDir(dir);
  expect(readFileSync(dir.sandboxKey, 'utf8')).toMatch(/^[0-9a-f]{64}\n$/);
  expect(readdirSync(dir.root).filter((name) => name.endsWith('.tmp'))).toEqual([]);
});

test('a state directory that cannot be made is refused with its name', () => {
  writeFileSync(join(dir.root, 'file'), '');
  expect(() => prepareStateDir(stateDir(join(dir.root, 'file', 'state')))).toThrow(/state directory .*file\/state cannot be written/);
});

test('one process holds the directory; another is told which', () => {
  const lock = takeLock(dir, about);
  expect(runningUp(dir)).toMatchObject({ pid: process.pid, registry: about.registry });
  expect(() => takeLock(dir, about)).toThrow(
    expect.objectContaining({ code: exit.inUse, message: expect.stringContaining(`process ${process.pid} (`) as string }),
  );
  lock.release();
  expect(runningUp(dir)).toBeUndefined();
});

test('the lock of a process that is gone, or whose pid another one has now, is taken over', () => {
  for (const owner of [
    { pid: 2 ** 22 + 1, started: '1' },
    { pid: process.pid, started: 'another time' },
  ]) {
    writeFileSync(dir.lock, JSON.stringify({ ...owner, command: 'node cli/main.ts up', ...about }));
    expect(hasStaleLock(dir)).toBe(true);
    expect(runningUp(dir)).toBeUndefined();
    const lock = takeLock(dir, about);
    expect(runningUp(dir)?.pid).toBe(process.pid);
    lock.release();
  }
});

test('a lock that is no lock is taken over', () => {
  writeFileSync(dir.lock, '{');
  const lock = takeLock(dir, about);
  expect(runningUp(dir)?.pid).toBe(process.pid);
  lock.release();
});

test('a new run keeps one older log; a log past 10 MiB is emptied in place and its writer goes on', () => {
  const path = dir.log('fetch');
  writeFileSync(path, 'old\n');
  rotateLog(path);
  expect(readFileSync(`${path}.1`, 'utf8')).toBe('old\n');
  const writer = openLog(path);
  writeFileSync(writer, 'x'.repeat(10 * 1024 * 1024 + 1));
  boundLog(path);
  writeFileSync(writer, 'after\n');
  expect(readFileSync(path, 'utf8')).toBe('after\n');
  expect(statSync(`${path}.1`).size).toBe(10 * 1024 * 1024 + 1);
});

test('the last lines of a log are there for saying why a process ended', () => {
  writeFileSync(dir.log('x'), '1\n2\n3\n');
  expect(lastLines(dir.log('x'), 2)).toEqual(['2', '3']);
  expect(lastLines(dir.log('none'), 2)).toEqual([]);
});
