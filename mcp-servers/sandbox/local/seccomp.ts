/**
 * A system call filter for bubblewrap, whose guests talk to the host's own kernel: what a program in a sandbox has no use for, and what
 * namespaces do not cover. Sockets other than local, internet and route ones are refused: a vsock reaches the hypervisor past any network
 * namespace. Keyrings are shared by all namespaces. The rest has a history of kernel faults (docker's default profile refuses the same).
 */

type KnownArchitecture = 'x64' | 'arm64';

/** Numbers of asm/unistd_64.h and asm-generic/unistd.h. */
type Call = Readonly<Record<KnownArchitecture, number>>;

const refusedCalls: Readonly<Record<string, Call>> = {
  acct: { x64: 163, arm64: 89 },
  add_key: { x64: 248, arm64: 217 },
  adjtimex: { x64: 159, arm64: 171 },
  bpf: { x64: 321, arm64: 280 },
  clock_adjtime: { x64: 305, arm64: 266 },
  clock_settime: { x64: 227, arm64: 112 },
  delete_module: { x64: 176, arm64: 106 },
  finit_module: { x64: 313, arm64: 273 },
  init_module: { x64: 175, arm64: 105 },
  io_uring_enter: { x64: 426, arm64: 426 },
  io_uring_register: { x64: 427, arm64: 427 },
  io_uring_setup: { x64: 425, arm64: 425 },
  kexec_file_load: { x64: 320, arm64: 294 },
  kexec_load: { x64: 246, arm64: 104 },
  keyctl: { x64: 250, arm64: 219 },
  open_by_handle_at: { x64: 304, arm64: 265 },
  perf_event_open: { x64: 298, arm64: 241 },
  quotactl: { x64: 179, arm64: 60 },
  reboot: { x64: 169, arm64: 142 },
  request_key: { x64: 249, arm64: 218 },
  settimeofday: { x64: 164, arm64: 170 },
  swapoff: { x64: 168, arm64: 225 },
  swapon: { x64: 167, arm64: 224 },
  syslog: { x64: 103, arm64: 116 },
  userfaultfd: { x64: 323, arm64: 282 },
};
const socketCall: Call = { x64: 41, arm64: 198 };
const ioctlCall: Call = { x64: 16, arm64: 29 };
/** linux/audit.h */
const auditIdentifier: Call = { x64: 0xc000003e, arm64: 0xc00000b7 };
/** x86-64 accepts the calls of its 32-bit-pointer variant too, from this number on; arm64 has nothing of the kind */
const FOREIGN_CALLS = 0x40000000;

/** AF_UNIX, AF_INET, AF_INET6, AF_NETLINK: of netlink a network namespace leaves nothing to reach */
const allowedFamilies = [1, 2, 10, 16];
/** would put characters into somebody else's terminal: TIOCSTI, TIOCLINUX */
const refusedRequests = [0x5412, 0x541c];

/** linux/bpf_common.h, linux/seccomp.h */
const LOAD_WORD = 0x20;
const JUMP_EQUAL = 0x15;
const JUMP_AT_LEAST = 0x35;
const RETURN = 0x06;
const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;
const REFUSE = 0x00050000;
const EPERM = 1;
const EAFNOSUPPORT = 97;
/** offsets in struct seccomp_data */
const NUMBER = 0;
const ARCHITECTURE = 4;
const FIRST_ARGUMENT = 16;
const SECOND_ARGUMENT = 24;

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number];

/** The filter as bwrap's `--seccomp` takes it (struct sock_filter[]); undefined where this processor's numbers are not known. */
export function seccompFilter(arch: NodeJS.Architecture): Buffer | undefined {
  if (arch !== 'x64' && arch !== 'arm64') return undefined;
  const program = instructions(arch);
  const bytes = Buffer.alloc(program.length * 8);
  for (const [index, [code, ifTrue, ifFalse, value]] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(ifTrue, index * 8 + 2);
    bytes.writeUInt8(ifFalse, index * 8 + 3);
    bytes.writeUInt32LE(value, index * 8 + 4);
  }
  return bytes;
}

function instructions(arch: KnownArchitecture): Instruction[] {
  const families = [...allowedFamilies.flatMap((family) => when(family, allow)), refuse(EAFNOSUPPORT)];
  const requests = [...refusedRequests.flatMap((request) => when(request, refuse(EPERM))), allow];
  return [
    [LOAD_WORD, 0, 0, ARCHITECTURE],
    [JUMP_EQUAL, 1, 0, auditIdentifier[arch]],
    [RETURN, 0, 0, KILL_PROCESS],
    [LOAD_WORD, 0, 0, NUMBER],
    [JUMP_AT_LEAST, 0, 1, FOREIGN_CALLS],
    refuse(EPERM),
    ...Object.values(refusedCalls).flatMap((call) => when(call[arch], refuse(EPERM))),
    ...whenCalled(socketCall[arch], FIRST_ARGUMENT, families),
    ...whenCalled(ioctlCall[arch], SECOND_ARGUMENT, requests),
    allow,
  ];
}

const allow: Instruction = [RETURN, 0, 0, ALLOW];

function refuse(error: number): Instruction {
  return [RETURN, 0, 0, REFUSE | error];
}

/** `then` must leave the program: it is skipped, and what follows is reached, when the loaded value is another. */
function when(value: number, then: Instruction): Instruction[] {
  return [[JUMP_EQUAL, 0, 1, value], then];
}

/** Judges one call by the low half of one of its arguments; `rules` must leave the program in every case. */
function whenCalled(call: number, argument: number, rules: readonly Instruction[]): Instruction[] {
  return [[JUMP_EQUAL, 0, rules.length + 1, call], [LOAD_WORD, 0, 0, argument], ...rules];
}
