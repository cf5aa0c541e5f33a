"""What is alive, by marks that need no memory of pids."""

from __future__ import annotations

import os
from pathlib import Path


def marked(identity: str) -> dict[int, str]:
    """Living processes whose environment says that a daemon of this identity started them."""
    return _living("environ", b"HIVE_SUBAGENT_RUN=" + identity.encode() + b":")


def naming(text: str) -> dict[int, str]:
    """Living processes whose command line holds `text`, this one excepted."""
    return _living("cmdline", text.encode())


def _living(file: str, wanted: bytes) -> dict[int, str]:
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            if wanted in Path("/proc", entry, file).read_bytes():
                # a zombie, whose files are empty, is dead
                command = Path("/proc", entry, "cmdline").read_bytes()
                found[int(entry)] = command.replace(b"\0", b" ").decode(errors="replace")[:200]
        except OSError:
            continue
    return {pid: command for pid, command in found.items() if command}


def alive(pid: int) -> bool:
    """Whether there is a process of that pid that is no zombie."""
    try:
        stat = Path("/proc", str(pid), "stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"
