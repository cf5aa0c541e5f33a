"""Ends processes, by descriptor and never by a pid alone, also those that go on forking."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from hive_subagent.containment import proc
from hive_subagent.containment.interface import ProcessInfo
from hive_subagent.containment.proc import Process
from hive_subagent.errors import ConfigurationError

# descriptors held at once; what is beyond it comes with the next pass
_BATCH = 256
_BLIND_S = 0.05
BOUNDS = 12

# since Linux 6.9; EINVAL before
_TO_PROCESS_GROUP = 1 << 2

Find = Callable[[], Awaitable[Sequence[Process]]]
Strike = Callable[[Mapping[int, Process]], None]


def check_kernel() -> None:
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


@dataclass(frozen=True, slots=True)
class Extinguished:
    """What was killed, in the order in which it was found, and what would not die.

    `blind`: why nobody could look (descriptors ran out, say), so that nobody knows what lives;
    empty where that did not happen.
    """

    killed: list[ProcessInfo]
    survivors: list[ProcessInfo]
    blind: str = ""

    @property
    def complete(self) -> bool:
        return not self.survivors and not self.blind

    @property
    def named_survivors(self) -> str:
        """The survivors with their commands, by commas."""
        return ", ".join(
            f"{process.pid} ({process.command[: proc.COMMAND_SHOWN]})" for process in self.survivors
        )

    @property
    def remains(self) -> str:
        """What is not known to be dead, in a phrase; empty where all of it is."""
        blind = f"what else there is, since nobody can look ({self.blind})" if self.blind else ""
        return ", ".join(filter(None, [self.named_survivors, blind]))


def cannot_look(error: OSError) -> str:
    """Why, in a few words."""
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}"


async def extinguish(
    find: Find, find_anywhere: Find, *, bound_s: float, strike: Strike | None = None
) -> Extinguished:
    """SIGKILL all that `find` names, until it names nothing and `find_anywhere` neither.

    Two looks in a row, because a process can fork ahead of the place where /proc is being read
    and end behind it. `strike` is called with what is about to be killed, open by descriptor.
    Does not raise. Gives up when nothing has died for `bound_s` seconds (and after `BOUNDS`
    times that), but not before all that was found has been sent a signal.
    """
    clock = asyncio.get_running_loop().time
    began = progress = clock()
    killed: dict[tuple[int, int], ProcessInfo] = {}
    refused: set[tuple[int, int]] = set()
    found: Sequence[Process] = ()
    clean, blind = 0, ""
    while clean < 2:
        try:
            found = await (find if clean == 0 else find_anywhere)()
            blind = ""
        except OSError as error:  # "cannot look" is not "nothing"
            blind = cannot_look(error)
            await asyncio.sleep(_BLIND_S)
        else:
            targets = [process for process in found if process.key not in refused]
            clean = 0 if targets else clean + 1
            if not targets or await _kill(
                targets, killed, refused, timeout_s=bound_s, strike=strike
            ):
                progress = clock()
        if clock() - progress >= bound_s or clock() - began >= BOUNDS * bound_s:
            break
    if blind:  # the last look that succeeded may have come before their deaths
        found = [process for process in found if _lives(process)]
    survivors = [proc.describe(process) for process in found]
    gone = [info for key, info in killed.items() if key not in {p.key for p in found}]
    return Extinguished(gone, survivors, blind)


def _lives(process: Process) -> bool:
    """Whether it is not known to be dead."""
    try:
        now = proc.look(process.pid)
    except OSError:
        return True
    return now is not None and now.key == process.key and now.alive


async def _kill(
    targets: Sequence[Process],
    killed: dict[tuple[int, int], ProcessInfo],
    refused: set[tuple[int, int]],
    *,
    timeout_s: float,
    strike: Strike | None,
) -> bool:
    """Kill and wait; whether any of them has died, by this or before it."""
    held: dict[int, Process] = {}
    try:
        for process in targets[:_BATCH]:
            try:
                fd = open_checked(process)
            except OSError:  # no descriptors left: those that are held come first
                if not held:
                    await asyncio.sleep(_BLIND_S)
                    return False
                break
            if fd is not None:
                held[fd] = process
        commands = {fd: proc.describe(process) for fd, process in held.items()}
        mortal = []
        if strike is not None:
            # it may take along what does not fit into this pass; what is gone later, died of it
            for process in targets[_BATCH:]:
                killed.setdefault(process.key, proc.describe(process))
            strike(held)
        for fd, process in held.items():
            if kill(fd):
                killed.setdefault(process.key, commands[fd])
                mortal.append(fd)
            else:
                refused.add(process.key)
        left = await living(mortal, timeout_s=timeout_s)
        return len(left) < min(len(targets), _BATCH)
    finally:
        for fd in held:
            os.close(fd)
