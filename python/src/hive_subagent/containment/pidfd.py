"""Signalling and awaiting processes without ever trusting a pid alone."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Iterable

from hive_subagent.containment import proc
from hive_subagent.containment.proc import Process
from hive_subagent.errors import ConfigurationError

# since Linux 6.9; EINVAL before
_TO_PROCESS_GROUP = 1 << 2


def check() -> None:
    """Raise ConfigurationError where the kernel cannot do what is done with descriptors here."""
    step = "pidfd_open"
    try:
        fd = os.pidfd_open(os.getpid())
        try:
            step = "pidfd_send_signal"
            signal.pidfd_send_signal(fd, 0)
            step = "waitid(P_PIDFD)"
            with contextlib.suppress(ChildProcessError):  # this process is no child of its own
                os.waitid(os.P_PIDFD, fd, os.WEXITED | os.WNOHANG)
        finally:
            os.close(fd)
    except (OSError, AttributeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigurationError(
            f"{step} does not work here ({reason}), and no process can be watched without it: use"
            " Linux 5.4 or newer, and allow that call where a seccomp filter is set"
        ) from None


def open_checked(process: Process) -> int | None:
    """A descriptor of exactly this process; None when it is gone, its pid used again or not.

    Raises OSError when descriptors run out.
    """
    try:
        fd = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return None
    # what is open now cannot change any more: if the pid still is the process, so is the open one
    try:
        now = proc.look(process.pid)
    except OSError:
        os.close(fd)
        raise
    if now is None or now.key != process.key or not now.alive:
        os.close(fd)
        return None
    return fd


def kill(fd: int) -> bool:
    """SIGKILL to what is open; False when that is not permitted."""
    try:
        signal.pidfd_send_signal(fd, signal.SIGKILL)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return True


def kill_group(fd: int) -> None:
    """SIGKILL to the group that is led by what is open, where the kernel can; in one step."""
    with contextlib.suppress(OSError):
        signal.pidfd_send_signal(fd, signal.SIGKILL, None, _TO_PROCESS_GROUP)


def reap(pid: int) -> bool:
    """Take a dead child of this process off the table; False when there is none of that pid."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG) is not None
    except ChildProcessError:
        return False


async def living(fds: Iterable[int], *, timeout_s: float) -> set[int]:
    """Wait until everything that is open is dead, a zombie included; what is not by then."""
    loop = asyncio.get_running_loop()
    remaining = set(fds)
    if not remaining:
        return remaining
    finished = loop.create_future()

    def died(fd: int) -> None:
        loop.remove_reader(fd)
        remaining.discard(fd)
        if not remaining and not finished.done():
            finished.set_result(None)

    for fd in remaining:
        loop.add_reader(fd, died, fd)
    try:
        async with asyncio.timeout(timeout_s):
            await finished
    except TimeoutError:
        return set(remaining)
    finally:
        for fd in remaining:
            loop.remove_reader(fd)
    return set()
