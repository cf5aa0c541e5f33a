"""Run a program for which the kernel refuses system calls, as an old kernel or a container does.

    python refuse_syscall.py ERRNO NUMBER[,NUMBER] PROGRAM ...

Numbers from 424 on are the same on every architecture.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys

PIDFD_OPEN = 434
PIDFD_SEND_SIGNAL = 424

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000


def refuse(error: int, numbers: list[int]) -> None:
    """From now on, for this process and all that it becomes or starts."""
    lines = [(_LOAD, 0, 0, 0)]  # the number of the call
    for number in numbers:
        lines += [(_JUMP_IF_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERRNO | error)]
    lines.append((_RETURN, 0, 0, _ALLOW))
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
    program = struct.pack("HxxxxxxP", len(lines), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "no_new_privs")
    if libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, program, 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


if __name__ == "__main__":
    refuse(int(sys.argv[1]), [int(number) for number in sys.argv[2].split(",")])
    os.execvp(sys.argv[3], sys.argv[3:])
