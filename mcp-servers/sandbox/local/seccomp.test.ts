import { describe, expect, test } from 'vitest';
import { seccompFilter } from './seccomp.ts';

const AUDIT = { x64: 0xc000003e, arm64: 0xc00000b7 };
const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const [RETURN, LOAD, EQUAL] = [0x06, 0x20, 0x15];
const errno = (value: number): number => 0x00050000 | value;

type Step = readonly [code: number, ifTrue: number, ifFalse: number, value: number];

interface Call {
  readonly audit?: number;
  readonly number: number;
  readonly args?: readonly number[];
}

/** Runs the filter as the kernel would (Documentation/networking/filter.rst), on one call. */
function verdict(arch: 'x64' | 'arm64', call: Call, lastingMemory = true): number {
  const data = callData(arch, call);
  const program = stepsOf(seccompFilter(arch, { lastingMemory }) ?? Buffer.alloc(0));
  let loaded = 0;
  for (let at = 0; at < program.length; at += 1) {
    const [code, ifTrue, ifFalse, value] = program[at] as Step;
    if (code === RETURN) return value;
    if (code === LOAD) loaded = data.readUInt32LE(value);
    else at += (code === EQUAL ? loaded === value : loaded >= value) ? ifTrue : ifFalse;
  }
  throw new Error('the program ran off its end');
}

/** struct seccomp_data */
function callData(arch: 'x64' | 'arm64', { audit = AUDIT[arch], number, args = [] }: Call): Buffer {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number, 0);
  data.writeUInt32LE(audit, 4);
  for (const [index, value] of args.entries()) data.writeUInt32LE(value, 16 + 8 * index);
  return data;
}

function stepsOf(program: Buffer): Step[] {
  const starts = Array.from({ length: program.length / 8 }, (_, index) => index * 8);
  return starts.map((at) => [program.readUInt16LE(at), program.readUInt8(at + 2), program.readUInt8(at + 3), program.readUInt32LE(at + 4)]);
}

describe.each(['x64', 'arm64'] as const)('the filter for %s', (arch) => {
  const [read, socket, socketpair, ioctl] = arch === 'x64' ? [0, 41, 53, 16] : [63, 198, 199, 29];
  const [bpf, keyctl, unshare] = arch === 'x64' ? [321, 250, 272] : [280, 219, 97];

  test('lets ordinary calls pass, those that make namespaces among them: bubblewrap itself needs them', () => {
    expect(verdict(arch, { number: read })).toBe(ALLOW);
    expect(verdict(arch, { number: unshare })).toBe(ALLOW);
  });

  test('refuses keyrings, programs for the kernel and io_uring', () => {
    for (const number of [bpf, keyctl, 425, 426, 427]) expect(verdict(arch, { number })).toBe(errno(1));
  });

  test('knows local, internet and route sockets only', () => {
    for (const family of [1, 2, 10, 16]) expect(verdict(arch, { number: socket, args: [family] })).toBe(ALLOW);
    for (const family of [0, 17, 31, 38, 40, 44, 0x10001]) expect(verdict(arch, { number: socket, args: [family] })).toBe(errno(97));
    // route, against usersock, audit, netfilter, device events, generic
    const netlink = (protocol: number) => verdict(arch, { number: socket, args: [16, 3, protocol] });
    expect([0, 2, 9, 12, 15, 16].map(netlink)).toEqual([ALLOW, ...Array<number>(5).fill(errno(93))]);
  });

  test('makes pairs of local and internet sockets only: to ask for another kind is enough to reach its code in the kernel', () => {
    for (const family of [1, 2, 10]) expect(verdict(arch, { number: socketpair, args: [family] })).toBe(ALLOW);
    for (const family of [0, 16, 17, 30, 38, 40, 44]) expect(verdict(arch, { number: socketpair, args: [family] })).toBe(errno(97));
  });

  test('lets memory outlive its processes only where it is counted all the same', () => {
    for (const number of arch === 'x64' ? [29, 68] : [194, 186]) {
      expect(verdict(arch, { number }, true)).toBe(ALLOW);
      expect(verdict(arch, { number }, false)).toBe(errno(1));
    }
  });

  test('lets no program type into a terminal', () => {
    expect(verdict(arch, { number: ioctl, args: [1, 0x5412] })).toBe(errno(1));
    expect(verdict(arch, { number: ioctl, args: [1, 0x541c] })).toBe(errno(1));
    expect(verdict(arch, { number: ioctl, args: [1, 0x5401] })).toBe(ALLOW);
  });

  test('kills what calls with the numbers of another architecture, and refuses those of a variant', () => {
    expect(verdict(arch, { number: read, audit: 0x40000003 })).toBe(KILL);
    expect(verdict(arch, { number: 0x40000000 + read })).toBe(errno(1));
  });
});

test('a processor whose numbers are not known has no filter', () => {
  expect(seccompFilter('riscv64', { lastingMemory: true })).toBeUndefined();
});
