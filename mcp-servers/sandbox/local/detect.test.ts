import { describe, expect, test } from 'vitest';
import { candidates, kernelNeeded, missingPrograms, unusable } from './detect.ts';
import type { Host } from './host.ts';

const hostWith = (...programs: string[]): Host => ({
  root: true,
  firstGuestUid: 1,
  node: '/usr/bin/node',
  find: (program) => (programs.includes(program) ? `/usr/bin/${program}` : undefined),
  system: { mounted: [], links: [] },
  etc: [],
});

test('gVisor is tried before bubblewrap, and one that is asked for alone', () => {
  expect(candidates('auto')).toEqual(['gvisor', 'bubblewrap']);
  expect(candidates('bubblewrap')).toEqual(['bubblewrap']);
});

describe('what is missing', () => {
  test('is nothing when every program is there', () => {
    expect(missingPrograms('bubblewrap', hostWith('bwrap', 'unshare', 'mount', 'setpriv', 'prlimit'), undefined)).toBeUndefined();
    expect(missingPrograms('gvisor', hostWith('/opt/runsc', 'unshare', 'setpriv'), '/opt/runsc')).toBeUndefined();
  });

  test('is named', () => {
    expect(missingPrograms('bubblewrap', hostWith('unshare', 'mount', 'setpriv'), undefined)).toBe('bwrap and prlimit not found on PATH');
    expect(missingPrograms('gvisor', hostWith('unshare', 'setpriv'), '/opt/runsc')).toBe('RUNSC=/opt/runsc is no program');
  });
});

describe('a machine on which nothing works', () => {
  const absent = { name: 'bubblewrap', why: 'bwrap not found on PATH', absent: true } as const;

  test.each([
    ['ID=debian\nVERSION_ID="12"\n', 'apt-get install bubblewrap'],
    ['NAME="Linux Mint"\nID=linuxmint\nID_LIKE="ubuntu debian"\n', 'apt-get install bubblewrap'],
    ['ID="rocky"\nID_LIKE="rhel centos fedora"\n', 'dnf install bubblewrap'],
    ['ID=arch\n', 'pacman -S bubblewrap'],
    ['ID=alpine\n', 'apk add bubblewrap'],
    ['ID=somethingelse\n', 'install the package bubblewrap'],
    ['', 'install the package bubblewrap'],
  ])('on %j: is told to install, %s', (release, command) => {
    expect(unusable([absent], release)).toContain(command);
  });

  test('is told why, of each that was tried, and to install what is not installed only', () => {
    const broken = { name: 'gvisor', why: 'it ended by itself', absent: false } as const;
    const both = unusable([broken, absent], 'ID=debian');
    expect(both).toContain('gvisor: it ended by itself. bubblewrap: bwrap not found on PATH.');
    expect(both).toContain('What to do: run as root: apt-get install bubblewrap.');
    expect(unusable([broken], 'ID=debian')).not.toMatch(/apt-get|install gVisor/);
    expect(unusable([{ ...broken, absent: true }], 'ID=debian')).toContain("install gVisor's runsc");
  });

  test('elsewhere than on Linux is told to be a virtual machine', () => {
    expect(kernelNeeded('darwin')).toContain('Linux virtual machine');
  });
});
