"""Cgroups of the unit that are no open run's: of a crashed daemon, or made by a run elsewhere."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from hive_subagent.containment import Containment, Enclosure

from .conftest import BASE_ENVIRONMENT, is_alive
from .plain import PlainDirectories, plain_containment


@pytest.fixture
async def contained(
    anyio_backend: str, tmp_path: Path, identity: str
) -> AsyncIterator[Containment]:
    async with plain_containment(tmp_path, identity, bound_s=2.0) as made:
        yield made


@pytest.fixture
def unmarked() -> Iterator[subprocess.Popen[bytes]]:
    """A process in a session of its own that carries nothing."""
    with subprocess.Popen(["sleep", "1000"], start_new_session=True) as process:
        yield process
        process.kill()


def put(group: Path, *pids: int) -> None:
    if not group.exists():
        PlainDirectories().make(group)
    (group / "cgroup.procs").write_text("".join(f"{pid}\n" for pid in pids))


@pytest.fixture
def spawned() -> Iterator[Callable[[Enclosure], subprocess.Popen[bytes]]]:
    """Starts a process in an enclosure; it is killed in the end."""
    started: list[subprocess.Popen[bytes]] = []

    def spawn(enclosure: Enclosure) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            enclosure.launcher(["sleep", "1000"]),
            env={**BASE_ENVIRONMENT, **enclosure.environment},
            start_new_session=True,
        )
        started.append(process)
        enclosure.adopt(process.pid)
        return process

    yield spawn
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.parametrize("place", ["supervisor/deep", "mine", "run-unknown"])
async def test_what_sits_in_a_foreign_cgroup_ends_with_the_last_run(
    contained: Containment,
    unit: Path,
    unmarked: subprocess.Popen[bytes],
    spawned: Callable[[Enclosure], subprocess.Popen[bytes]],
    place: str,
) -> None:
    """R10: while another run is open it can be that one's."""
    one, other = contained.open("one"), contained.open("other")
    first, second = spawned(one), spawned(other)
    put(unit / place, unmarked.pid)
    assert [info.pid for info in await one.end()] == [first.pid]
    assert is_alive(unmarked.pid)
    assert {info.pid for info in await other.end()} == {second.pid, unmarked.pid}
    assert unmarked.wait() == -signal.SIGKILL
    assert not (unit / place).exists()
    assert (unit / "run-other").exists()


async def test_the_start_of_a_daemon_ends_what_sits_in_foreign_cgroups(
    contained: Containment, unit: Path, unmarked: subprocess.Popen[bytes]
) -> None:
    """R11: its predecessor crashed."""
    put(unit / "run-old", unmarked.pid)
    assert [info.pid for info in await contained.sweep_leftovers()] == [unmarked.pid]
    assert not (unit / "run-old").exists()


async def test_a_foreign_cgroup_that_cannot_be_read_is_killed_and_reported(
    contained: Containment, unit: Path, caplog: pytest.LogCaptureFixture
) -> None:
    put(unit / "mine")
    (unit / "mine/cgroup.kill").write_text("")
    (unit / "mine/cgroup.procs").unlink()
    (unit / "mine/cgroup.procs").mkdir()
    (unit / "mine/cgroup.events").write_text("populated 1\n")
    assert await contained.sweep_leftovers() == []
    assert (unit / "mine/cgroup.kill").read_text() == "1"
    assert "left over: cannot look whether all of it is dead" in caplog.text
    (unit / "mine/cgroup.events").write_text("populated 0\n")


async def test_the_daemon_and_processes_of_the_service_manager_are_left_alone(
    contained: Containment,
    unit: Path,
    unmarked: subprocess.Popen[bytes],
    spawned: Callable[[Enclosure], subprocess.Popen[bytes]],
) -> None:
    """`.control` holds an ExecReload."""
    put(unit / "supervisor", os.getpid())
    put(unit / ".control", unmarked.pid)
    enclosure = contained.open("one")
    root = spawned(enclosure)
    assert [info.pid for info in await enclosure.end()] == [root.pid]
    assert await contained.sweep_leftovers() == []
    assert is_alive(unmarked.pid)
