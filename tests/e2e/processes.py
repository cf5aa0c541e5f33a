"""Which processes belong to a sandbox: those that carry its home."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import anyio


def alive(home: Path) -> dict[int, str]:
    """Pid and command of every living process of a sandbox, by its environment."""
    mark = f"HOME={home}".encode()
    return _living(lambda variables: mark in variables)


def of_run(run_id: str) -> dict[int, str]:
    """Pid and command of every living process that carries the mark of a run."""
    end = f":{run_id}".encode()
    return _living(
        lambda variables: any(
            v.startswith(b"HIVE_SUBAGENT_RUN=") and v.endswith(end) for v in variables
        )
    )


def _living(belongs: Callable[[list[bytes]], bool]) -> dict[int, str]:
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            environment = Path("/proc", entry, "environ").read_bytes()
            command = Path("/proc", entry, "cmdline").read_bytes()
        except OSError:
            continue
        # a zombie has neither
        if command and belongs(environment.split(b"\0")):
            found[int(entry)] = command.replace(b"\0", b" ").decode("utf-8", "replace").strip()
    return found


async def until_running(home: Path, what: str, *, within_s: float = 20.0) -> int:
    """The pid of the process whose command begins with this, once there is one."""
    with anyio.fail_after(within_s):
        while True:
            for pid, command in alive(home).items():
                if command.startswith(what):
                    return pid
            await anyio.sleep(0.02)


def kill_all(home: Path) -> dict[int, str]:
    """End what is left of a sandbox; what that was."""
    left = alive(home)
    for pid in left:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    return left
