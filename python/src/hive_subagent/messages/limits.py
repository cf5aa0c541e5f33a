"""What is said of limits that a run has met, and of memory that no run holds any more."""

from __future__ import annotations

from hive_subagent.models.session import SessionView

LEFT_WORTH_SAYING = 16 << 20
"""Bytes of memory without a living run from which on an ending tells of it."""


def size(count: int) -> str:
    """A number of bytes as people write it."""
    for unit, power in (("GiB", 3), ("MiB", 2), ("KiB", 1)):
        if count >= 1024**power:
            return f"{count / 1024**power:.4g} {unit}"
    return f"{count} bytes"


def pids_refused(view: SessionView) -> str:
    """What a run could not start for its limit of processes; empty where it could all."""
    if not view.pids_refused:
        return ""
    limit = f" of {view.pids_max} processes and threads" if view.pids_max else " of processes"
    times = "once" if view.pids_refused == 1 else f"{view.pids_refused} times"
    return (
        f" At its limit{limit} the kernel refused it a new one {times}: tools of it may have failed"
        " or wait for that."
    )


def frozen(view: SessionView) -> str:
    """What is said of a run whose cgroup is frozen; empty for any other."""
    if view.processes is None or not view.processes.frozen:
        return ""
    return (
        " Its cgroup is FROZEN, most likely by itself: nothing of it runs, and it will not go on by"
        " itself; `interrupt` ends it."
    )


def left_memory(left_bytes: int | None) -> str:
    """What is said of memory that belongs to no living run; empty where it is little."""
    if left_bytes is None or left_bytes < LEFT_WORTH_SAYING:
        return ""
    return (
        f" {size(left_bytes)} of the service's memory belong to no living run: ended runs left"
        " files in /dev/shm (or another tmpfs). Remove those that nobody needs, or each further run"
        " has that much less."
    )
