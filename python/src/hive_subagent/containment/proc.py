"""Processes as `/proc` shows them: one cheap pass over all, and looks at a single one."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from hive_subagent.containment.interface import ProcessInfo
from hive_subagent.system.sanitize import on_one_line

COMMAND_CUT = 4096
"""Characters of a command line; behind what claude starts a tool with stands what it is."""

COMMAND_SHOWN = 200
"""Characters of it that a sentence holds."""

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")

_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)

_ONE_READ = 16384  # all of stat and limits, enough of a command line


class Process(NamedTuple):
    """One line of `/proc/<pid>/stat`.

    `started` is in clock ticks since boot and, with the pid, names a process for as long as the
    machine is up. `env_start` changes with every exec (0 where it may not be read). `cpu_ticks`
    counts the process and the children it has waited for.
    """

    pid: int
    comm: str
    state: str
    parent: int
    group: int
    session: int
    threads: int
    started: int
    cpu_ticks: int
    env_start: int

    @property
    def key(self) -> tuple[int, int]:
        return (self.pid, self.started)

    @property
    def alive(self) -> bool:
        # a leader whose other threads go on is a zombie by its state alone
        return self.state not in "ZX" or self.threads > 1


Snapshot = Mapping[int, Process]


def raise_if_exhausted(error: OSError) -> None:
    """Any other error means "not there, or not ours"; this one says nothing of the process."""
    if error.errno in _EXHAUSTED:
        raise error


def read_file(path: str, *, whole: bool = False) -> bytes | None:
    """What one read of a file of /proc gives, or all of it; None when it may not be read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise_if_exhausted(error)
        return None
    try:
        text = os.read(fd, _ONE_READ)
        # a short read is no end: lists come page by page
        while whole and (more := os.read(fd, _ONE_READ)):
            text += more
        return text
    except OSError as error:
        raise_if_exhausted(error)
        return None
    finally:
        os.close(fd)


def parse_stat(line: bytes) -> Process | None:
    """Read one stat line; None when it is not one. The name may hold blanks and brackets."""
    text = line.decode(errors="replace")
    opening, closing = text.find("("), text.rfind(")")
    fields = text[closing + 1 :].split()
    if opening < 0 or closing < opening or len(fields) < 20:
        return None
    try:
        return Process(
            pid=int(text[:opening]),
            comm=text[opening + 1 : closing],
            state=fields[0],
            parent=int(fields[1]),
            group=int(fields[2]),
            session=int(fields[3]),
            threads=int(fields[17]),
            started=int(fields[19]),
            cpu_ticks=int(fields[11]) + int(fields[12]) + int(fields[13]) + int(fields[14]),
            env_start=int(fields[47]) if len(fields) > 47 else 0,
        )
    except ValueError:
        return None


def look(pid: int) -> Process | None:
    """One process as it is now; None when there is none of that pid."""
    line = read_file(f"/proc/{pid}/stat")
    return parse_stat(line) if line else None


def alive(pids: Iterable[int]) -> list[Process]:
    """Those of some pids that are alive."""
    found = (look(pid) for pid in pids)
    return [process for process in found if process is not None and process.alive]


def snapshot() -> dict[int, Process]:
    """Every process that can be seen; about 10 µs for each (measured with 500)."""
    found = {}
    for name in os.listdir("/proc"):
        if name[0] in "123456789" and (process := look(int(name))) is not None:
            found[process.pid] = process
    return found


def children(pid: int) -> list[int] | None:
    """Pids of the direct children, zombies too; None where the kernel does not list them."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError as error:
        raise_if_exhausted(error)
        return []
    found: list[int] = []
    for thread in threads:
        listing = read_file(f"/proc/{pid}/task/{thread}/children", whole=True)
        if listing is not None:
            found.extend(map(int, listing.split()))
        elif os.path.exists(f"/proc/{pid}/task/{thread}/stat"):
            return None
    return found


def trees(tops: Iterable[int]) -> dict[int, Process] | None:
    """Some processes and all their descendants.

    Costs by the size of the trees, not of the machine. A process that is adopted by another
    one while they are walked can be missed. None where the kernel does not list children.
    """
    found: dict[int, Process] = {}
    rest = list(tops)
    while rest:
        pid = rest.pop()
        if pid in found or (process := look(pid)) is None:
            continue
        found[pid] = process
        if (listed := children(pid)) is None:
            return None
        rest.extend(listed)
    return found


def ancestors(pid: int, processes: Snapshot) -> Iterator[int]:
    """The pids above `pid`, nearest first."""
    seen = {pid}
    while (process := processes.get(pid)) is not None and process.parent not in seen:
        pid = process.parent
        seen.add(pid)
        yield pid


def owner(pid: int) -> int | None:
    """The effective user of a process; None when it is gone."""
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except OSError as error:
        raise_if_exhausted(error)
        return None


def environment_value(pid: int, name: bytes) -> str | None:
    """One variable of the environment a process was started with; None where there is none.

    The first wins, as with getenv; a process that may not be read has none.
    """
    entries = (read_file(f"/proc/{pid}/environ", whole=True) or b"").split(b"\0")
    prefix = name + b"="
    for entry in entries:
        if entry.startswith(prefix):
            return entry[len(prefix) :].decode(errors="replace")
    return None


def soft_limit(pid: int, title: bytes) -> int | None:
    """A soft resource limit by the name /proc gives it; None for unlimited or unreadable."""
    text = read_file(f"/proc/{pid}/limits")
    for line in (text or b"").splitlines():
        if line.startswith(title):
            value = line[len(title) :].split()[:1]
            return int(value[0]) if value and value[0].isdigit() else None
    return None


def describe(process: Process, *, by_name: bool = False) -> ProcessInfo:
    """A process with its command line, cut; the bare name in brackets when it shows none.

    A process writes both as it likes: what does not print is shown as its escape.
    """
    text = b""
    with contextlib.suppress(OSError):  # a name will do
        text = b"" if by_name else read_file(f"/proc/{process.pid}/cmdline") or b""
    command = text.rstrip(b"\0").replace(b"\0", b" ").decode(errors="replace")
    if not command:
        command = f"[{process.comm}]"
    return ProcessInfo(pid=process.pid, command=on_one_line(command)[:COMMAND_CUT])
