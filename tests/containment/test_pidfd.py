"""Descriptors of processes: what they refuse to be fooled by."""

from __future__ import annotations

import contextlib
import os
import resource
import secrets
import signal
import subprocess
from pathlib import Path

import pytest

from hive_subagent.containment import Containment, Hierarchy, proc, termination
from hive_subagent.containment.proc import Process
from hive_subagent.containment.termination import extinguish

from .conftest import Run, is_alive


def seen(pid: int) -> Process:
    process = proc.look(pid)
    assert process is not None
    return process


async def test_a_pid_that_was_used_again_is_not_signalled(anyio_backend: str) -> None:
    """R16: what was remembered is not what has the pid now."""
    with subprocess.Popen(["sleep", "1000"]) as stranger:
        try:
            now = seen(stranger.pid)
            remembered = now._replace(started=now.started - 1)
            assert termination.open_checked(remembered) is None

            looks = [[remembered], [remembered], [], []]

            async def find() -> list[Process]:
                return looks.pop(0)

            ended = await extinguish(find, find, bound_s=20)

            assert ended.killed == []
            assert is_alive(stranger.pid)
        finally:
            stranger.kill()


def test_a_descriptor_outlives_the_pid_and_then_signals_no_process() -> None:
    """R16."""
    with subprocess.Popen(["sleep", "1000"]) as process:
        fd = termination.open_checked(seen(process.pid))
        assert fd is not None
        process.kill()
        process.wait()
        assert termination.kill(fd), "nobody is not a refusal"
        os.close(fd)


def test_a_dead_process_is_not_opened() -> None:
    with subprocess.Popen(["sleep", "1000"]) as process:
        now = seen(process.pid)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert termination.open_checked(now) is None
        process.wait()
        assert termination.open_checked(now) is None


async def test_waiting_ends_when_the_last_one_is_dead(anyio_backend: str) -> None:
    processes = [subprocess.Popen(["sleep", "1000"]) for _ in range(3)]
    fds = [fd for p in processes if (fd := termination.open_checked(seen(p.pid))) is not None]
    assert await termination.living(fds, timeout_s=0.05) == set(fds)
    for process in processes:
        process.kill()
    assert await termination.living(fds, timeout_s=20) == set()
    for process in processes:
        assert process.wait() == -signal.SIGKILL
    for fd in fds:
        os.close(fd)


def test_only_the_own_dead_are_reaped() -> None:
    assert termination.reap(1) is False
    with subprocess.Popen(["sleep", "1000"]) as process:
        assert termination.reap(process.pid) is False
        process.kill()


async def test_without_descriptors_an_end_does_not_take_blindness_for_death(
    run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    blind = Containment.create(
        identity=secrets.token_hex(8), bound_s=0.2, hierarchy=Hierarchy(root=tmp_path, own="/none")
    )
    started = run("exec sleep 1000", within=blind)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(map(int, os.listdir("/proc/self/fd")))
    spare: list[int] = []
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1, limits[1]))
        with contextlib.suppress(OSError):
            while True:
                spare.append(os.open("/dev/null", os.O_RDONLY))
        assert await started.enclosure.end() == []
        with pytest.raises(OSError, match="Too many open files"):
            started.enclosure.processes()
    finally:
        for fd in spare:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)

    assert "cannot look whether all of it is dead" in caplog.text
    assert "Too many open files" in caplog.text
    assert [info.pid for info in await started.enclosure.end()] == [started.pid]
