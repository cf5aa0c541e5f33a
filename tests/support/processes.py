"""Which processes live: by pid, and by the mark that every process of a run inherits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path

import anyio

PATIENCE_S = 20.0


def is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def of_runs(identity: str) -> dict[int, str]:
    """Pid and command of each living process that carries a mark of this state directory."""
    mark = f"\0HIVE_SUBAGENT_RUN={identity}:".encode()
    found = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            environment = b"\0" + (folder / "environ").read_bytes()
            command = (
                (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            )
        except OSError:
            continue
        if mark in environment and is_alive(int(folder.name)):
            found[int(folder.name)] = command
    return found


def wait_until(condition: Callable[[], bool], what: str = "it") -> None:
    """Wait for what gives no event; fails after 20 s."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.01)


async def until(condition: Callable[[], bool], what: str = "it") -> None:
    """Wait for what gives no event; fails after 20 s."""
    with anyio.move_on_after(PATIENCE_S):
        while not condition():  # noqa: ASYNC110
            await anyio.sleep(0.01)
        return
    raise AssertionError(f"waited in vain for {what}")


async def gone(pids: Iterable[int]) -> None:
    """Wait until none of them lives."""
    listed = list(pids)
    await until(lambda: not any(map(is_alive, listed)), f"the end of {listed}")
