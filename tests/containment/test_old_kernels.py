"""A kernel, or a container's filter, that lacks what the daemon cannot do without."""

from __future__ import annotations

import errno
import sys
from pathlib import Path

import pytest
from support import refuse_syscall
from support.daemon import Daemon

REFUSED = [
    (errno.ENOSYS, refuse_syscall.PIDFD_OPEN, "pidfd_open"),
    (errno.EPERM, refuse_syscall.PIDFD_OPEN, "pidfd_open"),
    (errno.ENOSYS, refuse_syscall.PIDFD_SEND_SIGNAL, "pidfd_send_signal"),
]


@pytest.mark.parametrize(("error", "number", "name"), REFUSED)
def test_without_pidfds_the_daemon_does_not_start(
    world: Daemon, error: int, number: int, name: str
) -> None:
    """Issue 9, 21: it served, and every start failed after 5 s and left claude behind."""
    program = Path(refuse_syscall.__file__)
    world.launcher = (sys.executable, str(program), str(error), str(number))
    process = world.process = world.spawn()
    assert process.wait(20) == 2
    last = world.log.splitlines()[-1]
    assert last.startswith(f"hive-subagent-daemon: {name} does not work here (")
    assert "Linux 5.4 or newer" in last
    assert "Traceback" not in world.log
    assert not (world.runtime_dir / "daemon.json").exists()
