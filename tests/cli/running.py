"""The command line as a user has it: a process with nothing but the socket in its environment."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

from support import programs
from support.daemon import Daemon

PROGRAM = programs.ours("hive-subagent")
ENDS_S = 60.0


def environment(daemon: Daemon, **more: str) -> dict[str, str]:
    """What a user's shell has."""
    found = {"PATH": os.environ["PATH"], "HOME": str(daemon.root), "LANG": "C.UTF-8"}
    return found | {"RUNTIME_DIRECTORY": str(daemon.runtime_dir)} | more


def hive(
    daemon: Daemon, *arguments: str, given: str = "", more: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """One command to its end."""
    return subprocess.run(
        [PROGRAM, *arguments],
        input=given,
        capture_output=True,
        text=True,
        env=environment(daemon, **(more or {})),
        cwd=daemon.work_dir,
        timeout=ENDS_S,
        check=False,
    )


def begun(daemon: Daemon, arguments: Sequence[str]) -> subprocess.Popen[str]:
    """One command that goes on."""
    return subprocess.Popen(
        [PROGRAM, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(daemon),
        cwd=daemon.work_dir,
    )
