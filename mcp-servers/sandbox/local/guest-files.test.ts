import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { writeGuestFiles } from './guest-files.ts';

let top: string;
beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), 'toyd-files-'));
});
afterEach(() => rmSync(top, { recursive: true, force: true }));

test('the agent is plain JavaScript, users are the guest’s own, and what programs need of /etc has its place', () => {
  const needed = ['/etc/hostname', '/etc/ld.so.conf.d'].filter((path) => existsSync(path));
  const { etc, agent } = writeGuestFiles(join(top, 'guest'), { etc: needed });
  expect(readFileSync(agent, 'utf8')).not.toMatch(/\binterface\b|: string\b/);
  expect(readFileSync(join(etc, 'passwd'), 'utf8').split('\n')).toHaveLength(4);
  expect(readdirSync(etc)).toEqual(expect.arrayContaining(needed.map((path) => path.replace('/etc/', ''))));
});

test('guests can read them whatever the server’s umask is', () => {
  const umask = process.umask(0o077);
  try {
    const { directory, etc, agent } = writeGuestFiles(join(top, 'guest'), { etc: [] });
    const modes = [directory, etc, agent, join(etc, 'passwd')].map((path) => (statSync(path).mode & 0o777).toString(8));
    expect(modes).toEqual(['755', '755', '644', '644']);
  } finally {
    process.umask(umask);
  }
});
