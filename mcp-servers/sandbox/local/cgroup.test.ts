import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { cgroupPlace, Cgroups, removeGroup } from './cgroup.ts';

describe('where control groups are made', () => {
  const memory = '36 30 0:33 / /sys/fs/cgroup/memory rw,relatime shared:17 - cgroup cgroup rw,memory';
  const cpu = '37 30 0:34 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct';
  const unified = '30 24 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate';
  const own = '9:cpu,cpuacct:/user.slice\n4:memory:/user.slice/session-1.scope\n0::/user.slice';

  test('version 1: below this process’s own group, in each hierarchy', () => {
    expect(cgroupPlace([memory, cpu].join('\n'), own)).toEqual({
      version: 1,
      memory: '/sys/fs/cgroup/memory/user.slice/session-1.scope',
      cpu: '/sys/fs/cgroup/cpu,cpuacct/user.slice',
    });
  });

  test('version 1 in a container that sees only its own group as the top', () => {
    const inside = [memory, cpu].join('\n').replaceAll(' / /sys', ' /docker/abc /sys');
    expect(cgroupPlace(inside, '9:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc/sub')).toEqual({
      version: 1,
      memory: '/sys/fs/cgroup/memory/sub',
      cpu: '/sys/fs/cgroup/cpu,cpuacct',
    });
  });

  test('version 2: at the top, since a group with processes cannot hold limited ones', () => {
    expect(cgroupPlace(unified, '0::/user.slice/session-1.scope')).toEqual({ version: 2, directory: '/sys/fs/cgroup' });
  });

  test('both mounted: version 1, which has the controllers', () => {
    expect(cgroupPlace([unified.replace('/sys/fs/cgroup', '/sys/fs/cgroup/unified'), memory, cpu].join('\n'), own)?.version).toBe(1);
  });

  test('none', () => {
    expect(cgroupPlace('22 1 0:20 / /proc rw - proc proc rw\n', own)).toBeUndefined();
    expect(cgroupPlace('', '')).toBeUndefined();
  });
});

describe('in a directory', () => {
  let top: string;
  beforeEach(() => {
    top = mkdtempSync(join(tmpdir(), 'toyd-cgroup-'));
  });
  afterEach(() => rmSync(top, { recursive: true, force: true }));

  test('without the files of a limit no group is taken for limited, and none is left', async () => {
    const place = { version: 1, memory: join(top, 'memory'), cpu: join(top, 'cpu') } as const;
    for (const directory of [place.memory, place.cpu]) mkdirSync(directory);
    await expect(new Cgroups('toolyard-run', place).open()).rejects.toThrow('the kernel offers no memory.limit_in_bytes');
    expect([place.memory, place.cpu].flatMap((directory) => readdirSync(directory))).toEqual([]);
  });

  test('a group that cannot be made is an error, not a sandbox without limits', async () => {
    const cgroups = new Cgroups('toolyard-run', { version: 2, directory: join(top, 'not-there') });
    await expect(cgroups.open()).rejects.toThrow('ENOENT');
  });

  test('groups are removed with those below them', async () => {
    mkdirSync(join(top, 'run', 's0'), { recursive: true });
    // by two at once, as two servers may that start together
    await Promise.all([removeGroup(join(top, 'run')), removeGroup(join(top, 'run'))]);
    expect(existsSync(join(top, 'run'))).toBe(false);
    await removeGroup(join(top, 'run'));
  });

  test('a group that does not empty is reported, not waited for forever', async () => {
    mkdirSync(join(top, 'busy'));
    writeFileSync(join(top, 'busy', 'file'), '');
    await expect(removeGroup(join(top, 'busy'), 20)).rejects.toThrow('ENOTEMPTY');
  });
});
