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
/** System V shared memory and message queues outlive the processes that filled them. */
const lastingMemoryCalls: Readonly<Record<string, Call>> = {
  msgget: { x64: 68, arm64: 186 },
  shmget: { x64: 29, arm64: 194 },
};
const socketCall: Call = { x64: 41, arm64: 198 };
const socketPairCall: Call = { x64: 53, arm64: 199 };
const ioctlCall: Call = { x64: 16, arm64: 29 };
/** linux/audit.h */
const auditIdentifier: Call = { x64: 0xc000003e, arm64: 0xc00000b7 };
/** x86-64 accepts the calls of its 32-bit-pointer variant too, from this number on; arm64 has nothing of the kind */
const FOREIGN_CALLS = 0x40000000;

/** AF_UNIX, AF_INET, AF_INET6 */
const allowedFamilies = [1, 2, 10];
/** linux/netlink.h; other protocols lead to parts of the kernel that no program in a sandbox has business with */
const AF_NETLINK = 16;
const NETLINK_ROUTE = 0;
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
const EPROTONOSUPPORT = 93;
const EAFNOSUPPORT = 97;
/** offsets in struct seccomp_data */
const NUMBER = 0;
const ARCHITECTURE = 4;
const FIRST_ARGUMENT = 16;
const SECOND_ARGUMENT = 24;
const THIRD_ARGUMENT = 32;

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number];

export interface FilterOptions {
  /** memory that no process holds any more is counted, and may be had */
  readonly lastingMemory: boolean;
}

/** The filter as bwrap's `--seccomp` takes it (struct sock_filter[]); undefined where this processor's numbers are not known. */
export function seccompFilter(arch: NodeJS.Architecture, { lastingMemory }: FilterOptions): Buffer | undefined {
  if (arch !== 'x64' && arch !== 'arm64') return undefined;
  const calls = Object.values(lastingMemory ? refusedCalls : { ...refusedCalls, ...lastingMemoryCalls });
  const program = instructions(
    arch,
    calls.map((call) => call[arch]),
  );
  const bytes = Buffer.alloc(program.length * 8);
  for (const [index, [code, ifTrue, ifFalse, value]] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(ifTrue, index * 8 + 2);
    bytes.writeUInt8(ifFalse, index * 8 + 3);
    bytes.writeUInt32LE(value, index * 8 + 4);
  }
  return bytes;
}

function instructions(arch: KnownArchitecture, refused: readonly number[]): Instruction[] {
  const families = allowedFamilies.flatMap((family) => when(family, allow));
  const route = when(AF_NETLINK, load(THIRD_ARGUMENT), ...when(NETLINK_ROUTE, allow), refuse(EPROTONOSUPPORT));
  const requests = refusedRequests.flatMap((request) => when(request, refuse(EPERM)));
  return [
    load(ARCHITECTURE),
    [JUMP_EQUAL, 1, 0, auditIdentifier[arch]],
    [RETURN, 0, 0, KILL_PROCESS],
    load(NUMBER),
    [JUMP_AT_LEAST, 0, 1, FOREIGN_CALLS],
    refuse(EPERM),
    ...refused.flatMap((call) => when(call, refuse(EPERM))),
    ...when(socketCall[arch], load(FIRST_ARGUMENT), ...families, ...route, refuse(EAFNOSUPPORT)),
    ...when(socketPairCall[arch], load(FIRST_ARGUMENT), ...families, refuse(EAFNOSUPPORT)),
    ...when(ioctlCall[arch], load(SECOND_ARGUMENT), ...requests, allow),
    allow,
  ];
}

const allow: Instruction = [RETURN, 0, 0, ALLOW];

function refuse(error: number): Instruction {
  return [RETURN, 0, 0, REFUSE | error];
}

/** Takes a field of the call, of an argument the low half, as the value to look at. */
function load(offset: number): Instruction {
  return [LOAD_WORD, 0, 0, offset];
}

/** `then` must leave the program in every case: it is skipped, and what follows is reached, when the loaded value is another. */
function when(value: number, ...then: readonly Instruction[]): Instruction[] {
  return [[JUMP_EQUAL, 0, then.length, value], ...then];
}
