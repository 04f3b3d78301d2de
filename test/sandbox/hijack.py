"""Run by a command in a sandbox on x86-64: takes over the init of the command's process namespace and frees it from dying with its parent."""

import ctypes
import os

INIT = 1
ATTACH, CONTINUE_STEP, GET_REGISTERS, SET_REGISTERS, DETACH = 16, 9, 12, 13, 17
WAIT_FOR_ALL = 0x40000000
# user_regs_struct
RAX, RSI, RDI, ORIG_RAX, RIP = 10, 13, 14, 15, 16
NO_RESTART = 2**64 - 1
PRCTL, PR_SET_PDEATHSIG = 157, 1
SYSCALL_BYTES = 2

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def trace(request, data=0):
    if libc.ptrace(request, INIT, 0, data) < 0:
        raise SystemExit(f"ptrace {request}: {os.strerror(ctypes.get_errno())}")


registers = (ctypes.c_ulonglong * 27)()
trace(ATTACH)
os.waitpid(INIT, WAIT_FOR_ALL)
trace(GET_REGISTERS, ctypes.addressof(registers))
before = list(registers)
# it waits in a system call: the same instruction once more, for another call
registers[RAX], registers[ORIG_RAX], registers[RIP] = PRCTL, NO_RESTART, before[RIP] - SYSCALL_BYTES
registers[RDI], registers[RSI] = PR_SET_PDEATHSIG, 0
trace(SET_REGISTERS, ctypes.addressof(registers))
trace(CONTINUE_STEP)
os.waitpid(INIT, WAIT_FOR_ALL)
trace(GET_REGISTERS, ctypes.addressof(registers))
freed = registers[RAX] == 0
registers[:] = before
registers[RAX], registers[ORIG_RAX], registers[RIP] = before[ORIG_RAX], NO_RESTART, before[RIP] - SYSCALL_BYTES
trace(SET_REGISTERS, ctypes.addressof(registers))
trace(DETACH)
print("freed" if freed else "not freed", flush=True)
