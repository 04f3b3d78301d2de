import { describe, expect, test } from 'vitest';
import { candidates, installHint, missingPrograms } from './detect.ts';
import type { Host } from './host.ts';

const hostWith = (...programs: string[]): Host => ({
  root: true,
  firstGuestUid: 1,
  node: '/usr/bin/node',
  find: (program) => (programs.includes(program) ? `/usr/bin/${program}` : undefined),
  system: { mounted: [], links: [] },
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

describe('what to install', () => {
  test.each([
    ['ID=debian\nVERSION_ID="12"\n', 'apt-get install bubblewrap'],
    ['NAME="Linux Mint"\nID=linuxmint\nID_LIKE="ubuntu debian"\n', 'apt-get install bubblewrap'],
    ['ID="rocky"\nID_LIKE="rhel centos fedora"\n', 'dnf install bubblewrap'],
    ['ID=arch\n', 'pacman -S bubblewrap'],
    ['ID=alpine\n', 'apk add bubblewrap'],
    ['ID=somethingelse\n', 'install the package bubblewrap'],
    ['', 'install the package bubblewrap'],
  ])('on %j: %s', (release, command) => {
    expect(installHint('auto', release, 'linux')).toContain(command);
  });

  test('is what was asked for, when only one isolation will do', () => {
    expect(installHint('gvisor', 'ID=debian', 'linux')).not.toContain('bubblewrap');
    expect(installHint('bubblewrap', 'ID=debian', 'linux')).not.toContain('runsc');
  });

  test('elsewhere than on Linux: a virtual machine', () => {
    expect(installHint('auto', '', 'darwin')).toContain('Linux virtual machine');
  });
});
