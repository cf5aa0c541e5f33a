"""A run moves itself to other places of the unit, wiped of everything that tells whose it is.

In this tree of plain files the test moves it; in test_moving.py it does so itself.
"""

from __future__ import annotations

import errno
import os
import secrets
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from hive_subagent.containment import Containment, Enclosure, Hierarchy

from .conftest import BASE_ENVIRONMENT, gone, is_alive
from .plain import PlainDirectories, plain_containment, plain_unit


@pytest.fixture
async def contained(
    anyio_backend: str, tmp_path: Path, identity: str
) -> AsyncIterator[Containment]:
    async with plain_containment(tmp_path, identity, bound_s=2.0) as made:
        yield made


@pytest.fixture
def wiped() -> Iterator[subprocess.Popen[bytes]]:
    """A process in a session of its own that carries nothing."""
    with subprocess.Popen(["sleep", "1000"], start_new_session=True) as process:
        yield process
        process.kill()


def put(group: Path, *pids: int) -> None:
    if not group.exists():
        PlainDirectories().make(group)
    (group / "cgroup.procs").write_text("".join(f"{pid}\n" for pid in pids))


def spawn(enclosure: Enclosure, *argv: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        enclosure.launcher(argv),
        env={**BASE_ENVIRONMENT, **enclosure.environment},
        start_new_session=True,
    )


@pytest.mark.parametrize("place", [".", "supervisor", "supervisor/deep", "mine", "run-unknown"])
async def test_whoever_is_in_no_open_leaf_ends_with_the_next_run_that_ends(
    contained: Containment,
    unit: Path,
    wiped: subprocess.Popen[bytes],
    caplog: pytest.LogCaptureFixture,
    place: str,
) -> None:
    """R10: though another run is open, so that it cannot be told whose it was."""
    enclosure, _ = contained.open("one"), contained.open("other")
    daemon = [os.getpid()] if place in (".", "supervisor") else []
    put(unit / place, wiped.pid, *daemon)

    killed = await enclosure.end()

    assert [info.pid for info in killed] == [wiped.pid]
    assert wiped.wait() == -signal.SIGKILL
    assert f"outside the cgroups of all runs, so ended: {wiped.pid} (sleep 1000)" in caplog.text
    assert (unit / place).exists() == bool(daemon)
    assert (unit / "run-other").exists()


@pytest.mark.parametrize("place", ["supervisor", "mine"])
async def test_the_start_of_a_daemon_ends_who_has_moved(
    contained: Containment, unit: Path, wiped: subprocess.Popen[bytes], place: str
) -> None:
    """R11: its predecessor crashed, and nobody has cleaned up."""
    put(unit / place, wiped.pid)
    assert [info.pid for info in await contained.sweep_leftovers()] == [wiped.pid]


async def test_the_daemon_its_session_and_what_is_above_it_are_no_strangers(
    contained: Containment, unit: Path
) -> None:
    with subprocess.Popen(["sleep", "1000"]) as helper:
        put(unit / "supervisor", os.getpid(), os.getppid(), helper.pid)
        assert await contained.open("one").end() == []
        assert helper.poll() is None
        helper.kill()


async def test_what_the_service_manager_runs_beside_the_daemon_is_left_alone(
    contained: Containment, unit: Path, wiped: subprocess.Popen[bytes]
) -> None:
    """`.control` holds an ExecReload; but what has moved there descends from the daemon."""
    put(unit / ".control", 1)
    assert await contained.open("one").end() == []
    put(unit / ".control", 1, wiped.pid)
    assert [info.pid for info in await contained.open("two").end()] == [wiped.pid]


async def test_a_launcher_that_has_not_entered_its_leaf_yet_is_spared(
    contained: Containment, unit: Path
) -> None:
    ending, starting = contained.open("ending"), contained.open("starting")
    with spawn(starting, "sleep", "1000") as root:
        put(unit / "supervisor", root.pid)
        assert await ending.end() == []
        starting.adopt(root.pid)
        assert await contained.open("another").end() == []
        assert [info.pid for info in await starting.end()] == [root.pid]


async def test_nobody_is_judged_while_a_child_may_be_a_launcher(
    contained: Containment, unit: Path, wiped: subprocess.Popen[bytes]
) -> None:
    """Between fork and exec it carries nothing; the end waits until it is named."""
    ending, starting = contained.open("ending"), contained.open("starting")
    starting.launcher(["true"])
    put(unit / "supervisor", wiped.pid)

    assert await ending.end() == []
    assert is_alive(wiped.pid)

    starting.adopt(wiped.pid)
    assert await ending.end() == []
    assert is_alive(wiped.pid)
    assert [info.pid for info in await starting.end()] == [wiped.pid]


async def test_what_is_known_as_another_open_runs_is_left_to_its_end(
    contained: Containment, unit: Path
) -> None:
    one, other = contained.open("one"), contained.open("other")
    with spawn(other, "sleep", "1000") as root:
        other.adopt(root.pid)
        put(unit / "mine", root.pid)
        assert await one.end() == []
        assert [info.pid for info in await other.end()] == [root.pid]


async def test_who_does_not_die_holds_up_one_end_and_not_the_next(
    contained: Containment,
    unit: Path,
    wiped: subprocess.Popen[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another user's, or hanging in a device."""
    put(unit / "supervisor", wiped.pid)
    monkeypatch.setattr(signal, "pidfd_send_signal", refuse)
    one, two = contained.open("one"), contained.open("two")

    assert await one.end() == []
    assert [info.pid for info in one.survivors] == [wiped.pid]
    assert await two.end() == []
    assert list(two.survivors) == []


def refuse(*_: object) -> None:
    raise PermissionError


async def test_who_comes_into_a_leaf_that_is_being_closed_is_ended(
    contained: Containment, unit: Path, wiped: subprocess.Popen[bytes]
) -> None:
    class Held(PlainDirectories):
        def remove(self, path: Path) -> None:
            raise OSError(errno.EBUSY, "somebody came in")

    hierarchy, _ = plain_unit(unit, subgroup="supervisor")
    held = Hierarchy(root=hierarchy.root, own=hierarchy.own, directories=Held())
    containment = Containment.create(identity=secrets.token_hex(8), hierarchy=held)
    enclosure = containment.open("one")
    await enclosure.end()
    put(unit / "our.service/run-one", wiped.pid)

    enclosure.close()

    await gone(wiped.pid)
    assert wiped.wait() == -signal.SIGKILL
