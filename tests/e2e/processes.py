"""Which processes belong to a sandbox: those that carry its configuration folder or its home."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import anyio


def alive(config_dir: Path) -> dict[int, str]:
    """Pid and command of every living process of a sandbox, by its environment."""
    # without a configuration folder of its own claude uses the home beside it
    marks = {f"CLAUDE_CONFIG_DIR={config_dir}".encode(), f"HOME={config_dir.parent}/home".encode()}
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
        if command and marks & set(environment.split(b"\0")):
            found[int(entry)] = command.replace(b"\0", b" ").decode("utf-8", "replace").strip()
    return found


async def until_running(config_dir: Path, what: str, *, within_s: float = 20.0) -> int:
    """The pid of the process whose command begins with this, once there is one."""
    with anyio.fail_after(within_s):
        while True:
            for pid, command in alive(config_dir).items():
                if command.startswith(what):
                    return pid
            await anyio.sleep(0.02)


def kill_all(config_dir: Path) -> dict[int, str]:
    """End what is left of a sandbox; what that was."""
    left = alive(config_dir)
    for pid in left:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    return left
